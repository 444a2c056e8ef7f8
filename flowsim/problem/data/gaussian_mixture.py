"""Gaussian clusters around centres."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...kinds.streams import stream
from ...scenario import Scenario, referenced_files
from ...scenario.data import GaussianMixture, norm_of
from .arrays import read_array
from .clusters import frame, samples_around
from .samples import Samples


def draw(scenario: Scenario, sibling: Samples | None) -> Samples:
    """The training set of a ``gaussian_mixture`` scenario."""
    data = scenario.data
    assert isinstance(data, GaussianMixture)
    centers = _centers(data, scenario, sibling)
    cluster_label = np.where(np.arange(data.clusters) < data.positive, 1, -1).astype(np.int64)
    return samples_around(centers, cluster_label, data, scenario.single_seed)


def _centers(data: GaussianMixture, scenario: Scenario, sibling: Samples | None) -> Floats:
    if "data.centers" in referenced_files(scenario):
        return sibling.centers if sibling is not None else _given_centers(data, scenario)
    generator = stream(scenario.distribution_seed, "centers")
    radius = norm_of(data.radius, data.dimension)
    if data.centers == "random_sphere":
        points = generator.standard_normal((data.clusters, data.dimension))
        return radius * points / np.linalg.norm(points, axis=1, keepdims=True)
    rows = frame(data.clusters, data.dimension, data.basis, generator)
    if data.centers == "equicorrelated":
        assert data.cosine is not None
        gram = np.full((data.clusters, data.clusters), data.cosine)
        np.fill_diagonal(gram, 1.0)
        rows = np.linalg.cholesky(gram) @ rows
    return radius * rows


def _given_centers(data: GaussianMixture, scenario: Scenario) -> Floats:
    """From the arrays that the scenario has with it, or else from the file that it names."""
    arrays = scenario.arrays("data")
    try:
        centers = (
            read_array(referenced_files(scenario)["data.centers"], "centers") if arrays is None else arrays["centers"]
        )
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
    return np.ascontiguousarray(centers)
