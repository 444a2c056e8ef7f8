"""Noisy samples around given centres."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...scenario.data import Drawn
from .samples import Samples

#: name -> numbers of this law, independent, of mean 0 and variance 1
LAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "gaussian": lambda generator, shape: generator.standard_normal(shape),
    "laplace": lambda generator, shape: generator.laplace(scale=0.5**0.5, size=shape),
    "uniform": lambda generator, shape: generator.uniform(-(3**0.5), 3**0.5, size=shape),
}


def samples_around(centers: Floats, cluster_label: Integers, data: Drawn, seed: int, law: str = "gaussian") -> Samples:
    """The training set around these centres (K, d) with these labels (K,)."""
    clusters = len(centers)
    if data.balanced:
        sample_cluster = np.repeat(np.arange(clusters), data.samples // clusters)
    else:
        sample_cluster = stream(seed, "data.cluster").integers(clusters, size=data.samples)
    inputs = centers[sample_cluster]
    deviation = data.noise.standard_deviation(data.dimension)
    if deviation > 0:
        noise = LAWS[law](stream(seed, "data.noise"), inputs.shape)
        noise *= deviation
        inputs += noise
    clean_label = cluster_label[sample_cluster].astype(float)
    label = clean_label.copy()
    flipped = stream(seed, "labels").permutation(data.samples)[: round(data.label_noise * data.samples)]
    label[flipped] *= -1
    return Samples.supervised(
        data.supervision,
        inputs=inputs,
        label=label,
        clean_label=clean_label,
        sample_cluster=sample_cluster.astype(np.int64),
        centers=centers,
        cluster_label=cluster_label,
    )


def frame(count: int, dimension: int, basis: str | None, generator: np.random.Generator) -> Floats:
    """Orthonormal rows (count, dimension): coordinate "axes", or uniform among all such frames."""
    if basis == "axes":
        return np.eye(count, dimension)
    columns, triangle = np.linalg.qr(generator.standard_normal((dimension, count)))
    return np.ascontiguousarray((columns * np.sign(np.diag(triangle))).T)
