"""Each neuron's target cluster, fixed at time 0."""

from __future__ import annotations

import numpy as np

from ..problem import Reduced
from ..problem.data.samples import Floats, Integers


def cosines(reduced: Reduced, direction: Floats) -> Floats:
    """(…, m, K): cosine between each neuron's weights, bias left out, and each centre; direction (…, m, r)."""
    size = reduced.feature_norms(direction)[..., None] * np.linalg.norm(reduced.problem.centers, axis=1)
    return reduced.center_products(direction) / np.where(size > 0, size, 1.0)


def target_cluster(reduced: Reduced) -> Integers:
    """(m,): the centre of the neuron's own sign with the largest positive cosine at time 0; -1 where none is positive."""
    problem = reduced.problem
    if not len(problem.centers):
        return np.full(len(reduced.direction), -1)
    own = problem.weights.output_sign[:, None] == problem.cluster_label
    cosine = np.where(own, cosines(reduced, reduced.direction), -np.inf)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)
