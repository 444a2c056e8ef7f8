"""Theorem 4.1: a network that is right and that no short perturbation flips."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Floats, Integers
from ...evaluate.claim import Claim
from ...evaluate.evidence import Evidence
from ...evaluate.robustness import TwoLayer
from ..relu import relu_network
from .flips import BISECTIONS
from .setting import CONSTANTS, EPSILON, PAPER, assumption, problem_of


def robust_network(centers: Floats, label: Integers, dimension: int | None = None) -> TwoLayer:
    """sum_j y_j ReLU(<4 mu_j/d, x> - 2) for the means (k, d) and their labels (k,): Theorem 4.1. dimension: d, where means
    are given by coordinates in a span."""
    inputs = 4 * centers / (centers.shape[1] if dimension is None else dimension)
    return relu_network(inputs, np.full(len(centers), -2.0), label.astype(float))


def certified_radius(x: Floats, y: Floats, centers: Floats, label: Integers, dimension: int | None = None) -> Floats:
    """(n,): no perturbation of the samples (n, d) that is shorter changes the sign y (n,) that `robust_network` gives them;
    0 where it does not give it.

    A perturbation of length t sqrt(d)/4 moves no pre-activation by more than t, since all weights have norm 4/sqrt(d).
    """
    network = robust_network(centers, label, dimension)
    before = x @ network.hidden.T + network.bias
    own = y[:, None] == label
    low, high = np.zeros(len(x)), np.full(len(x), float(np.abs(before).max()))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        helping = np.maximum(np.where(own, before - middle[:, None], 0.0), 0.0).sum(axis=1)
        against = np.maximum(np.where(own, 0.0, before + middle[:, None]), 0.0).sum(axis=1)
        safe = helping > against
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return np.asarray(low / np.linalg.norm(network.hidden, axis=1).max())


def _at_least_one(evidence: Evidence) -> float:
    problem, test = problem_of(evidence), evidence.test
    network = robust_network(problem.centers, problem.cluster_label, problem.dimension)
    return float(np.mean(test.targets * network(test.inputs) >= 1))


def radius(evidence: Evidence) -> float:
    """The certified radius that all but a share of EPSILON of the fresh samples have, over sqrt(d)"""
    problem, test = problem_of(evidence), evidence.test
    radii = certified_radius(test.inputs, test.targets, problem.centers, problem.cluster_label, problem.dimension)
    return float(np.quantile(radii, EPSILON)) / math.sqrt(problem.dimension)


_STATEMENT = (
    "there exists a depth-2 ReLU network of width r >= k such that with probability at least 1 - d^(-omega(1)), "
    "y N(x) >= 1 and flipping the sign of the output requires a perturbation of size larger than sqrt(d)/8"
)
CLAIMS = {
    "theorem_4_1.margin": Claim(
        f"{PAPER}, Theorem 4.1",
        _STATEMENT,
        _at_least_one,
        1 - EPSILON,
        at_least=True,
        measures="share of fresh samples with y N(x) >= 1, N the network of the proof",
        premises=assumption,
        constants=CONSTANTS[:1],
    ),
    "theorem_4_1.radius": Claim(
        f"{PAPER}, Theorem 4.1",
        _STATEMENT,
        radius,
        1 / 8,
        at_least=True,
        measures=f"certified radius of this network over sqrt(d), which a share 1 - {EPSILON:g} of fresh samples have",
        premises=assumption,
        constants=CONSTANTS[:1],
    ),
}
