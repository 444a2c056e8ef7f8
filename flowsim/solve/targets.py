"""Each neuron's target cluster, fixed at time 0."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Integers
from ..problem import Reduced


def cosines(reduced: Reduced, direction: Floats) -> Floats:
    """(…, m, K): cosine between each neuron's weights, bias left out, and each centre; direction (…, m, r)."""
    products = reduced.center_products(direction)
    for size in (reduced.feature_norms(direction)[..., None], np.linalg.norm(reduced.problem.centers, axis=1)):
        products /= np.where(size > 0, size, 1.0)
    return products


def target_cluster(reduced: Reduced) -> Integers:
    """(m,): of the centres that pull a neuron towards them, the one with the largest positive cosine at time 0; -1 where
    none is positive.

    Those are the centres of the neuron's own sign. Where every class has an output they are the centre of the neuron's
    class, or all others if its output weight is negative. Neurons of an ordinary network have no sign, and no target.
    """
    problem = reduced.problem
    if not len(problem.centers) or not problem.two_layers:
        return np.full(len(reduced.direction), -1)
    if problem.loss.classes:
        own = (problem.neuron_output[:, None] == np.arange(len(problem.centers))) == (problem.weights.output_sign > 0)[
            :, None
        ]
    else:
        own = problem.weights.output_sign[:, None] == problem.cluster_label
    cosine = np.where(own, cosines(reduced, reduced.direction), -np.inf)
    return np.where(cosine.max(axis=1) > 0, cosine.argmax(axis=1), -1)
