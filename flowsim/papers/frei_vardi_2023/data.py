"""Assumption 2.2, Lemma 2.1 and Appendix A.1: the clusters and the samples, before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...evaluate.claim import Claim, Constant, Premise
from ...evaluate.evidence import Evidence
from .flips import universal_direction
from .setting import (
    CONSTANTS,
    EPSILON,
    NEAR,
    PAPER,
    assumption,
    fresh_noise,
    problem_of,
    properties,
    sizes,
    smallest_share,
    suppose,
    theorem,
)


def _linear_error(evidence: Evidence) -> float:
    problem = problem_of(evidence)
    outputs = evidence.test.inputs @ universal_direction(problem.centers, problem.cluster_label)
    return 1 - evidence.accuracy(outputs, evidence.test.targets)


def _linear_bound(evidence: Evidence) -> float:
    dimension = sizes(evidence).dimension
    return 2 * dimension ** (1 - math.log(dimension) / 2)


def _nice_fresh(evidence: Evidence) -> float:
    """Share of the fresh samples of which all four parts of Lemma A.13 are true for all i"""
    problem, at, noise = problem_of(evidence), sizes(evidence), fresh_noise(evidence)
    own_noise = problem.inputs - problem.centers[problem.sample_cluster]
    products = evidence.test.inputs @ problem.inputs.T
    same = evidence.test.sample_cluster[:, None] == problem.sample_cluster
    allowed = np.where(same, np.abs(products - at.dimension) <= at.delta, np.abs(products) <= at.product + at.delta)
    small = (np.abs(noise @ own_noise.T) <= at.delta) & (np.abs(noise @ problem.inputs.T) <= at.delta)
    return float((allowed & small).all(axis=1).mean())


def _nearest_gaps(evidence: Evidence) -> tuple[float, float]:
    """(error of the 1-nearest-neighbour rule on fresh samples, the radius within which nothing flips a share 1 - epsilon of
    them): half of how much nearer the nearest sample of the own label is than that of the other, at least"""
    problem, test = problem_of(evidence), evidence.test
    squares = (problem.inputs**2).sum(axis=1) - 2 * (test.inputs @ problem.inputs.T)
    own = test.targets[:, None] == problem.targets
    rest = (test.inputs**2).sum(axis=1)
    near, far = (np.sqrt(np.maximum(np.where(of, squares, np.inf).min(axis=1) + rest, 0.0)) for of in (own, ~own))
    return float(np.mean(far <= near)), float(np.quantile(np.maximum(far - near, 0.0) / 2, EPSILON))


def nearest_radius(evidence: Evidence) -> float:
    return _nearest_gaps(evidence)[1]


def _tight(evidence: Evidence) -> Iterator[Premise]:
    """Of the remarks on the nearest neighbour"""
    yield from theorem(evidence)
    at = sizes(evidence)
    yield Premise("sigma sqrt(d) <= 1", at.sigma * math.sqrt(at.dimension), 1.0 + NEAR)


_OF_P = {
    "p1": ("for every i, |xi_i| <= sigma sqrt(2d)", "largest |xi_i| over its bound"),
    "p2": ("for every i != i', |<xi_i, xi_i'>| <= sigma^2 sqrt(2d) ln(d)", "largest product over its bound"),
    "p3": ("for every i and q, |<mu_q, xi_i>| <= sigma sqrt(d) ln(d)", "largest product over its bound"),
    "p4": ("for samples of two clusters, |<x_i, x_i'>| <= p + Delta", "largest product over its bound"),
    "p5": (
        "for samples of one cluster, d - Delta <= <x_i, x_i'> <= 3d + Delta",
        "larger of (d - <x_i, x_i'>) and (<x_i, x_i'> - 3d), over Delta",
    ),
    "p6": ("every cluster has a sample", "clusters without one"),
}


def _of_property(name: str) -> Claim:
    statement, measures = _OF_P[name]
    return Claim(
        f"{PAPER}, Proposition A.1 ({name.upper()})",
        f"with probability at least 1 - (3 n^2 d^(-ln(d)/2) + n^2 e^(-d/16) + d^(1 - ln(d))): {statement}",
        lambda evidence: properties(evidence)[name],
        0.0 if name == "p6" else 1.0,
        measures=measures,
        premises=theorem,
        constants=CONSTANTS,
    )


CLAIMS = {
    "assumption_2_2": Claim(
        f"{PAPER}, Assumption 2.2",
        "k (max |<mu_i, mu_j>| + 4 sigma sqrt(d) ln d + 1) <= (d - 4 sigma sqrt(d) ln d + 1)/10",
        lambda evidence: 10 * sizes(evidence).part,
        1.0,
        measures="left side over right side",
    ),
    "lemma_2_1": Claim(
        f"{PAPER}, Lemma 2.1",
        "with probability at least 1 - 2 d^(1 - ln(d)/2) over (x, y), y = sign(<sum_q y_q mu_q, x>)",
        _linear_error,
        _linear_bound,
        measures="error of this classifier on fresh samples",
        premises=assumption,
        trivial=1.0,
    ),
    **{f"proposition_a_1.{name}": _of_property(name) for name in _OF_P},
    "lemma_a_9": Claim(
        f"{PAPER}, Lemma A.9",
        "Delta <= d/21",
        lambda evidence: 21 * sizes(evidence).delta / sizes(evidence).dimension,
        1.0,
        measures="21 Delta/d",
        premises=assumption,
    ),
    "lemma_a_13": Claim(
        f"{PAPER}, Lemma A.13",
        "with probability at least 1 - 4 n d^(-ln(d)/2) over x = mu_r + xi, for all i: |<xi_i, xi>| <= Delta, "
        "|<x_i, xi>| <= Delta, |<x_i, x>| <= p + Delta for i of another cluster and "
        "|<x_i, x> - d| <= Delta for i of this one",
        _nice_fresh,
        smallest_share,
        at_least=True,
        measures="share of fresh samples of which this is so",
        premises=suppose,
        trivial=0.0,
    ),
    "nearest_neighbour.test_error": Claim(
        f"{PAPER}, after Theorem 4.2",
        "where sigma = 1/sqrt(d), the 1-nearest-neighbour classifier will classify a fresh example correctly w.h.p.",
        lambda evidence: _nearest_gaps(evidence)[0],
        EPSILON,
        measures="error of the nearest training sample on fresh samples",
        premises=_tight,
        constants=CONSTANTS,
    ),
    "nearest_neighbour.radius": Claim(
        f"{PAPER}, after Theorem 4.2",
        "in the 1-nearest-neighbour classifier flipping the output's sign will require a perturbation of size "
        "Omega(sqrt(d))",
        lambda evidence: nearest_radius(evidence) / math.sqrt(sizes(evidence).dimension),
        1 / 8,
        at_least=True,
        measures=f"certified radius over sqrt(d), which a share 1 - {EPSILON:g} of fresh samples have",
        premises=_tight,
        constants=(Constant("Omega(1)", 1 / 8, "chosen"), *CONSTANTS),
    ),
}
