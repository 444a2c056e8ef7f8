"""Lemmas 4.1 to 4.4: the random start and the samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...observe.kinds.xor import C0, unit_centers
from ...problem import Problem
from .setting import (
    C1,
    CAPTURES,
    CHOSEN,
    CONSTANTS,
    DELTA,
    PAPER,
    Capture,
    deviation,
    flipped,
    norms,
    premises,
    spread,
    xor,
)

#: C_1 is universal and at least 2: the numbers of Lemma 4.3 are measured in its unit, so that they say what it has to be.
OF_LEMMA_4_3 = (Constant("C_1", C1, "chosen"), Constant("least C_1 in this run", None, "fitted"), *CONSTANTS)


def _correlated(evidence: Evidence) -> float:
    problem = xor(evidence)
    products = np.abs(problem.hidden @ unit_centers(problem)[::2].T)
    return float((products >= deviation(evidence) / (2 * C0)).mean(axis=0).min())


def _correlated_bound(evidence: Evidence) -> float:
    return 1 - 1 / (2 * C0) - math.sqrt(2 * math.log(4 / DELTA) / len(evidence.problem.output))


def _around(evidence: Evidence) -> tuple[Problem, Floats, Floats]:
    """(the problem, <x_i, mu> of each sample's own centre (n,), x_i - mu (n, d))"""
    problem = xor(evidence)
    if (problem.sample_cluster < 0).any():
        raise NotApplicable("it speaks of clusters, which are unknown here")
    own = unit_centers(problem)[problem.sample_cluster]
    return problem, np.einsum("nd,nd->n", problem.inputs, own), problem.inputs - own


def _unit(evidence: Evidence) -> float:
    """sigma sqrt(d)"""
    found = spread(evidence)
    if not found:
        raise NotApplicable("it speaks of noise")
    return found


def _along(evidence: Evidence) -> float:
    """Largest (1 - <x_i, mu>) / (sigma sqrt(d))"""
    return float((1 - _around(evidence)[1]).max()) / _unit(evidence)


def _across(evidence: Evidence) -> float:
    """Largest |<x_i, e>| / (sigma sqrt(d)) over unit vectors e that are orthogonal to the sample's centre: the length
    of the part of x_i that is"""
    _, along, noise = _around(evidence)
    squares = np.einsum("nd,nd->n", noise, noise) - (along - 1) ** 2
    return math.sqrt(max(float(squares.max()), 0.0)) / _unit(evidence)


def _squares(evidence: Evidence) -> float:
    _, _, noise = _around(evidence)
    return float(np.einsum("nd,nd->n", noise, noise).max()) / _unit(evidence) ** 2


def _deviation_of_shares(evidence: Evidence) -> float:
    """sqrt(log(1/delta)/n), in which (c) and (d) are measured"""
    return math.sqrt(math.log(1 / DELTA) / len(xor(evidence).targets))


def _noisy(evidence: Evidence) -> float:
    rate = float(getattr(evidence.scenario.data, "label_noise", math.nan))
    if math.isnan(rate):
        raise NotApplicable("it speaks of a known rate of label noise")
    return (float(flipped(evidence).mean()) - rate) / _deviation_of_shares(evidence)


def _cluster_sizes(evidence: Evidence) -> float:
    cluster = xor(evidence).sample_cluster
    shares = np.array([np.mean(cluster == index) for index in range(4)])
    return float(np.abs(shares - 1 / 4).max()) / _deviation_of_shares(evidence)


def _of_large_c(measure: Callable[[Evidence], float], least: float, evidence: Evidence) -> float:
    """What is measured; where it is below its bound, not covered: what is so of every C that is large enough, a run whose C
    may be too small does not refute"""
    found = measure(evidence)
    if found < least:
        raise NotCovered("it is said of C that is sufficiently large, and C may be too small here", found)
    return found


def _of_lemma_4_2(capture: Capture) -> dict[str, Claim]:
    statement = (
        "for any absolute constant C_0 > 1, if C is sufficiently large: for each mu at least m/4 (1 - 1/C_0)^2 neurons of "
        "its sign have <w_j(0)/|w_j(0)|, mu> >= 1/(3 C_0 sqrt(d))"
    )
    shared: dict[str, Any] = {"at_least": True, "premises": premises, "constants": capture.constants}
    all_of_them = (1 - 1 / capture.c0) ** 2
    return {
        f"lemma_4_2.each_cluster{capture.suffix}": Claim(
            f"{PAPER}, Lemma 4.2",
            statement,
            partial(_of_large_c, lambda evidence: float(capture.shares(evidence).min()), all_of_them / 4),
            all_of_them / 4,
            measures="smallest |J_mu| / m",
            **shared,
        ),
        f"lemma_4_2.all_clusters{capture.suffix}": Claim(
            f"{PAPER}, Lemma 4.2",
            f"{statement}; in particular |J| >= m (1 - 1/C_0)^2",
            partial(_of_large_c, lambda evidence: float(capture.shares(evidence).sum()), all_of_them),
            all_of_them,
            measures="|J| / m",
            **shared,
        ),
        f"lemma_4_4.edge{capture.suffix}": Claim(
            f"{PAPER}, Lemma 4.4",
            "for C large enough, any j with <w_j(0)/|w_j(0)|, mu> >= 1/(3 C_0 sqrt(d)): the clean samples around mu that "
            "activate it are at least n/C_2 more than those around -mu",
            partial(_of_large_c, capture.edge, 1 / capture.second),
            1 / capture.second,
            measures="smallest difference over n",
            **shared
            | {
                "constants": (
                    Constant("C_2", capture.second, "paper"),
                    Constant("least C_2 in this run", partial(_least_c2, capture), "fitted"),
                    *capture.constants,
                )
            },
        ),
    }


def _least_c2(capture: Capture, evidence: Evidence) -> float:
    edge = capture.edge(evidence)
    return 1 / edge if edge > 0 else math.inf


CLAIMS = {
    "lemma_4_1.smallest_norm": Claim(
        f"{PAPER}, Lemma 4.1",
        "for all j, omega sqrt(d)/2 <= |w_j(0)|",
        lambda evidence: float(norms(evidence).min()),
        0.5,
        at_least=True,
        measures="smallest |w_j(0)| / (omega sqrt(d))",
        premises=premises,
        constants=CONSTANTS,
    ),
    "lemma_4_1.largest_norm": Claim(
        f"{PAPER}, Lemma 4.1",
        "for all j, |w_j(0)| <= 3 omega sqrt(d)/2",
        lambda evidence: float(norms(evidence).max()),
        1.5,
        measures="largest |w_j(0)| / (omega sqrt(d))",
        premises=premises,
        constants=CONSTANTS,
    ),
    "lemma_4_1.correlated": Claim(
        f"{PAPER}, Lemma 4.1",
        "for any C_0 > 1, |<w_j(0), mu>| >= omega/(2 C_0) for at least m (1 - 1/(2 C_0) - sqrt(2 log(4/delta)/m)) neurons",
        _correlated,
        _correlated_bound,
        at_least=True,
        measures="share of neurons, the smaller of those of mu_1 and mu_2",
        premises=premises,
        constants=CHOSEN.constants,
        trivial=0.0,
    ),
    "lemma_4_3.along": Claim(
        f"{PAPER}, Lemma 4.3 (a)",
        "for all i around mu, <x_i, mu> >= 1 - C_1 sigma sqrt(d)",
        _along,
        C1,
        measures="largest (1 - <x_i, mu>) / (sigma sqrt(d))",
        premises=premises,
        constants=OF_LEMMA_4_3,
    ),
    "lemma_4_3.across": Claim(
        f"{PAPER}, Lemma 4.3 (a)",
        "for all i around mu, |<x_i, mu'>| <= C_1 sigma sqrt(d) for (unit) mu' orthogonal to mu",
        _across,
        C1,
        measures="largest |<x_i, mu'>| / (sigma sqrt(d)) over all such mu'",
        premises=premises,
        constants=OF_LEMMA_4_3,
    ),
    "lemma_4_3.distance": Claim(
        f"{PAPER}, Lemma 4.3 (b)",
        "for any i around mu, |x_i - mu|^2 <= C_1 sigma^2 d",
        _squares,
        C1,
        measures="largest |x_i - mu|^2 / (sigma^2 d)",
        premises=premises,
        constants=OF_LEMMA_4_3,
    ),
    "lemma_4_3.noise": Claim(
        f"{PAPER}, Lemma 4.3 (c)",
        "the fraction of noisy points is at most eta + C_1 sqrt(log(1/delta)/n)",
        _noisy,
        C1,
        measures="(|N|/n - eta) / sqrt(log(1/delta)/n)",
        premises=premises,
        constants=OF_LEMMA_4_3,
    ),
    "lemma_4_3.clusters": Claim(
        f"{PAPER}, Lemma 4.3 (d)",
        "for any mu, | |I_mu|/n - 1/4 | <= C_1 sqrt(log(1/delta)/n)",
        _cluster_sizes,
        C1,
        measures="largest | |I_mu|/n - 1/4 | / sqrt(log(1/delta)/n)",
        premises=premises,
        constants=OF_LEMMA_4_3,
        trivial=lambda evidence: 0.75 / _deviation_of_shares(evidence),
    ),
    **{name: claim for capture in CAPTURES for name, claim in _of_lemma_4_2(capture).items()},
}
