"""Whether features have the clusters that theory speaks of: cosines between samples and between clusters (Li et al. 2025,
Appendix E.2, Figure 10)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ..arrays import Booleans, Floats, Integers
from ..errors import UsageError
from ..kinds.streams import stream


def feature_cosines(x: ArrayLike, cluster: ArrayLike, *, per_cluster: int = 100, seed: int = 0) -> xr.Dataset:
    """Cosines between features x (n, d) of samples in clusters (n,), whole numbers from 0 to K - 1.

    per_cluster: at most so many samples of each cluster are compared, 100 in the paper. seed: which of them.

    `sample_cosine` along `sample`, in the order of `sample_cluster`, and `other_sample`; `pair_cosine` along `cluster` and
    `other_cluster`, its mean over pairs of different samples, NaN where a cluster has but one; `mean_cosine`, between the
    means of all samples of two clusters. A vector of norm 0 has the cosine 0 with all.
    Raises UsageError where the shapes do not fit, or a cluster has no samples.
    """
    features, own = np.asarray(x, dtype=float), np.asarray(cluster, dtype=float)
    count = int(own.max(initial=-1)) + 1
    if features.ndim != 2 or own.shape != features.shape[:1] or not np.array_equal(np.unique(own), np.arange(count)):
        expected = "expected (n, d) and (n,), whole numbers from 0 on, each of them that of some sample"
        raise UsageError(f"features of shape {features.shape}, clusters of shape {own.shape}: {expected}")
    chosen = _chosen(own, count, per_cluster, seed)
    between = _cosines(features[chosen])
    means = _cosines(np.array([features[own == one].mean(axis=0) for one in range(count)]))
    names, clusters = ("sample", "other_sample"), ("cluster", "other_cluster")
    told = {"units": "1"}
    return xr.Dataset(
        {
            "sample_cosine": (names, between, {"long_name": "cosine between two samples", **told}),
            "pair_cosine": (
                clusters,
                _over_pairs(between, own[chosen] == np.arange(count)[:, None]),
                {"long_name": "mean cosine between samples of two clusters", **told},
            ),
            "mean_cosine": (clusters, means, {"long_name": "cosine between the means of two clusters", **told}),
        },
        {
            "sample_cluster": (
                "sample",
                own[chosen].astype(np.int64),
                {"long_name": "index of the sample's cluster", **told},
            )
        },
    )


def _chosen(own: Floats, count: int, per_cluster: int, seed: int) -> Integers:
    """At most so many samples of each cluster, cluster by cluster."""
    random = stream(seed, "feature_cosines")
    each = [random.permutation(np.flatnonzero(own == one))[:per_cluster] for one in range(count)]
    return np.concatenate([np.sort(some) for some in each])


def _cosines(vectors: Floats) -> Floats:
    """(n, n) between the rows"""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norm > 0, norm, 1.0)
    return unit @ unit.T


def _over_pairs(between: Floats, member: Booleans) -> Floats:
    """(K, K): the mean of what is between samples over pairs of different ones. member (K, n)"""
    share = member.astype(float)
    size = share.sum(axis=1)
    sums, pairs = share @ between @ share.T, np.outer(size, size)
    # a sample is no pair with itself
    sums[np.diag_indices(len(size))] -= share @ np.diag(between)
    pairs[np.diag_indices(len(size))] -= size
    return np.where(pairs > 0, sums / np.maximum(pairs, 1), np.nan)
