"""The feature census: whether each cluster has a neuron of its own, shares one with other clusters, or has none.

A neuron that serves m clusters points to their sum. Between it and a neuron of the other class that serves n, a
perturbation of norm 1/sqrt(m + n) is enough: with one cluster each that is sqrt(2)/2, the largest radius that any
classifier withstands, and with K/2 each, as neurons of ReLU have, 1/sqrt(K).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Integers
from ...solve import cosines
from ..conditions import SIGNED, is_signed
from ..instant import Instant, Setting
from ..observable import observable

#: A neuron serves the clusters of its sign whose cosine is at least this part of its largest one: two at 45 degrees and
#: four at 60 are served by one neuron alike, and a neuron at a centre serves no other.
SERVED = 0.5
#: A cluster has none where what its class gives at its centre is less than this part of what it gives at the best centre.
LEARNED = 0.5
NEEDS = f"{SIGNED}, a single output, and an activation that is a power"


def _has_census(setting: Setting) -> bool:
    problem = setting.problem
    return is_signed(setting) and problem.outputs == 1 and problem.activation.degree is not None


@observable(
    "clusters_served",
    ("cluster",),
    "how many clusters the cluster's main neuron serves: 1 its own, more a merged one, 0 where the cluster has none",
    _has_census,
    on_request=True,
    needs=NEEDS,
)
def clusters_served(instant: Instant) -> Floats:
    """(…, K)"""
    problem, snapshot = instant.problem, instant.snapshot
    cosine = np.maximum(cosines(instant.setting.reduced, snapshot.direction), 0.0)
    own = snapshot.output_sign[..., :, None] == problem.cluster_label
    cosine = np.where(own, cosine, 0.0)
    weight = snapshot.output_log + problem.activation.homogeneity * snapshot.log_norm
    with np.errstate(divide="ignore"):
        given = weight[..., None] + problem.activation.degree * np.log(cosine)
    top = given.max(axis=(-2, -1), keepdims=True)
    total = np.exp(given - np.where(np.isfinite(top), top, 0.0)).sum(axis=-2)
    main = given.argmax(axis=-2)
    serves = (cosine > 0) & (cosine >= SERVED * cosine.max(axis=-1, keepdims=True))
    of_main = np.take_along_axis(serves, main[..., :, None], axis=-2)  # (…, K, K): clusters that each one's main serves
    served = of_main.sum(axis=-1).astype(float)
    mine = np.diagonal(of_main, axis1=-2, axis2=-1)
    learned = (total > 0) & (total >= LEARNED * total.max(axis=-1, keepdims=True))
    return np.where(mine & learned, served, 0.0)


@observable(
    "clusters_owned",
    (),
    "share of the clusters that have a neuron of their own",
    _has_census,
    on_request=True,
    needs=NEEDS,
)
def clusters_owned(instant: Instant) -> Floats:
    return np.asarray((clusters_served(instant) == 1).mean(axis=-1))


def predicted_radius(served: Floats, label: Integers) -> Floats:
    """(…, K): the norm of the smallest perturbation that takes a centre to the other class, which is served as `served`
    (…, K) says: 1/sqrt(m + n), n the most that a neuron of the other class serves; 0 where the cluster has none."""
    other = np.stack([np.where(label != sign, served, 0.0).max(axis=-1) for sign in label], axis=-1)
    return np.where(served > 0, 1 / np.sqrt(np.maximum(served + other, 1.0)), 0.0)
