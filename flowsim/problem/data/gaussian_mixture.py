"""Gaussian clusters around centres."""

from __future__ import annotations

import numpy as np

from ...scenario import Scenario, referenced_files
from ...scenario.data import GaussianMixture
from ..streams import stream
from .arrays import read_array
from .samples import Floats, Samples


def draw(scenario: Scenario, sibling: Samples | None) -> Samples:
    """The training set of a ``gaussian_mixture`` scenario."""
    data = scenario.data
    assert isinstance(data, GaussianMixture)
    seed, clusters = scenario.single_seed, data.clusters
    centers = _centers(data, scenario, sibling)
    if data.balanced:
        sample_cluster = np.repeat(np.arange(clusters), data.samples // clusters)
    else:
        sample_cluster = stream(seed, "data.cluster").integers(clusters, size=data.samples)
    inputs = centers[sample_cluster]
    deviation = data.noise.standard_deviation(data.dimension)
    if deviation > 0:
        inputs += deviation * stream(seed, "data.noise").standard_normal(inputs.shape)
    cluster_label = np.where(np.arange(clusters) < data.positive, 1, -1)
    targets = cluster_label[sample_cluster].astype(float)
    flipped = stream(seed, "labels").permutation(data.samples)[: round(data.label_noise * data.samples)]
    targets[flipped] *= -1
    return Samples(inputs, targets, sample_cluster.astype(np.int64), centers, cluster_label.astype(np.int64))


def _centers(data: GaussianMixture, scenario: Scenario, sibling: Samples | None) -> Floats:
    if "data.centers" in referenced_files(scenario):
        return sibling.centers if sibling is not None else _read_centers(data, scenario)
    generator = stream(scenario.single_seed, "centers")
    radius = data.dimension**0.5 if data.radius == "sqrt_dimension" else data.radius
    if data.centers == "random_sphere":
        points = generator.standard_normal((data.clusters, data.dimension))
        return radius * points / np.linalg.norm(points, axis=1, keepdims=True)
    frame = _frame(data, generator)
    if data.centers == "equicorrelated":
        assert data.cosine is not None
        gram = np.full((data.clusters, data.clusters), data.cosine)
        np.fill_diagonal(gram, 1.0)
        frame = np.linalg.cholesky(gram) @ frame
    return radius * frame


def _frame(data: GaussianMixture, generator: np.random.Generator) -> Floats:
    """Orthonormal rows (clusters, dimension): coordinate axes, or uniform among all such frames."""
    if data.basis == "axes":
        return np.eye(data.clusters, data.dimension)
    basis, triangle = np.linalg.qr(generator.standard_normal((data.dimension, data.clusters)))
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T)


def _read_centers(data: GaussianMixture, scenario: Scenario) -> Floats:
    try:
        centers = read_array(referenced_files(scenario)["data.centers"], "centers")
    except ValueError as error:
        raise scenario.error(("data.centers", str(error))) from None
    expected = (data.clusters, data.dimension)
    if centers.shape != expected:
        raise scenario.error(
            (
                "data.centers",
                f"array of shape {centers.shape}, but positive + negative and dimension ask for {expected}",
            )
        )
    if not np.isfinite(centers).all() or (np.linalg.norm(centers, axis=1) == 0).any():
        raise scenario.error(("data.centers", "every centre must be finite and not zero"))
    return centers
