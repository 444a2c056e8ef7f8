"""Statements of Min & Vidal 2025 that are about everything of some kind: they are searched for counterexamples, with the
degree p and the clusters of the run. Lemmas 5, 9, 10, 15 and 17, and equation (4)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from ...arrays import Floats
from ...evaluate.claim import Claim
from ...evaluate.evidence import Evidence, NotApplicable
from .setting import PAPER, ROUNDING, Mixture, Training, gaps

#: Misalignments delta of Lemma 17, and points of a circle at which networks are compared.
MISALIGNED, CIRCLE = np.geomspace(1e-8, 1.0, 33), 2000
#: Cosines of Lemma 5, and sizes in the lemmas about differential inequalities.
COSINES = np.linspace(-0.99, 0.99, 67)
STARTS, ENDS = (
    np.geomspace(1e-12, 0.25, 25),
    np.concatenate([np.linspace(0.26, 0.99, 20), 1 - np.geomspace(1e-12, 1e-2, 11)]),
)


def _degree(evidence: Evidence) -> float:
    Mixture.of(evidence)
    degree = evidence.problem.activation.degree
    if degree is None or degree <= 2:
        raise NotApplicable("it speaks of pReLU with p > 2")
    return degree


def turned_distance(delta: Floats, degree: float) -> Floats:
    """(n,): a lower bound, on a circle, of sup |f - F^(p)| of a network with a neuron of mass 1 at every centre but one,
    whose cosine with its own is 1 - delta (n,)"""
    angle = np.arccos(1 - delta)[:, None]
    at = np.linspace(-math.pi / 2, math.pi / 2, CIRCLE)
    turned = np.maximum(np.cos(at - angle), 0.0) ** degree
    return np.abs(turned - np.cos(at) ** degree).max(axis=1)


def _stated_slope(delta: Floats, degree: float) -> Floats:
    return (2**degree - 1) * 2 * delta


def _mended_slope(delta: Floats, degree: float) -> Floats:
    return degree * np.sqrt(2 * delta)


def _largest_excess(slope: Callable[[Floats, float], Floats], evidence: Evidence) -> float:
    """Of sup |f - F^(p)| over the bound K slope(delta, p), nu and zeta near 0"""
    degree, clusters = _degree(evidence), Mixture.of(evidence).clusters
    return float((turned_distance(MISALIGNED, degree) / (clusters * slope(MISALIGNED, degree))).max())


def directions(own: int) -> Floats:
    """(n, own + 1): unit vectors by their cosines with the centres of one sign, alike with all but the first, and what they
    have outside of these"""
    first, others = np.meshgrid(COSINES, COSINES)
    rows = np.zeros((first.size, own + 1))
    rows[:, 0] = first.ravel()
    rows[:, 1:own] = others.ravel()[:, None]
    left = 1 - (rows**2).sum(axis=1)
    rows, left = rows[left >= 0], left[left >= 0]
    rows[:, -1] = np.sqrt(left)
    return rows


def _regions(evidence: Evidence) -> tuple[Floats, Floats]:
    """(cosines (n, own) of directions in the region of the first centre of a sign, their gaps (n,)), over both signs"""
    mixture, cosines, found = Mixture.of(evidence), [], []
    for sign in (1, -1):
        own = int((mixture.label == sign).sum())
        cosine = directions(own)[:, :own]
        inside = (cosine[:, 0] > 0) & (cosine[:, 0] > cosine[:, 1:].max(axis=1, initial=-1.0))
        padded = np.full((inside.sum(), mixture.clusters), -1.0)
        padded[:, :own] = cosine[inside]
        cosines.append(padded)
        found.append(gaps(padded, np.arange(mixture.clusters)[None] < own))
    return np.concatenate(cosines), np.concatenate(found)


def _first_of_lemma_5(evidence: Evidence) -> float:
    """Largest Delta~_1 - c_kj(0)"""
    cosine, gap = _regions(evidence)
    with np.errstate(divide="ignore"):
        near = np.sqrt(0.5 * (1 / (1 - gap) ** 2 - 1))
    return float((near - cosine[:, 0]).max())


def _second_of_lemma_5(evidence: Evidence) -> float:
    """Largest c_lj(0)/c_kj(0) - (1 - sqrt(2 Delta)), l of the same sign with a positive cosine"""
    cosine, gap = _regions(evidence)
    other = cosine[:, 1]
    there = other > 0
    if not there.any():
        raise NotApplicable("it speaks of two clusters of a sign")
    return float((other / cosine[:, 0] - (1 - np.sqrt(2 * gap)))[there].max())


def _travel(
    exact: Callable[[Floats, Floats, float], Floats], bound: Callable[..., Floats]
) -> Callable[[Evidence], float]:
    """The largest ratio of the time that the slowest solution takes from z_0 to z_1 to the bound"""

    def largest(evidence: Evidence) -> float:
        degree = _degree(evidence)
        begin, end = (axis.ravel() for axis in np.meshgrid(STARTS, ENDS))
        return float((exact(begin, end, degree) / bound(begin, end, degree)).max())

    return largest


def _logistic(begin: Floats, end: Floats, degree: float) -> Floats:
    """Of z' = (a - z) z with a = 1 - Delta, the worst of some Delta < 1/4; end is a part of the way to a"""
    found = []
    for limit in (0.7501, 0.9, 1 - 1e-9):
        z = end * limit
        time = np.log(z * (limit - begin) / (begin * (limit - z))) / limit
        found.append(np.where(z > begin, time / (2 * (np.log(1 / (limit - z)) + np.log(1 / begin))), 0.0))
    return np.max(found, axis=0)


def _small_for_too_short(evidence: Evidence) -> float:
    """t_1-bar over the t_2 that eps_0 of equation (F.12) gives, by Lemma 8"""
    training = Training.of_any_loss(evidence)
    p, near, apart, alpha = training.degree, training.near, training.apart, training.mixture.alpha
    clusters, width, (_, largest) = training.mixture.clusters, len(training.target), training.sizes
    common = math.log(near ** (p - 1) * apart) - 0.5 * math.log(width) - 2 * math.log(largest)
    terms = (
        common + math.log((1 - near) / 2 ** (p + 2)),
        common + math.log((1 - math.sqrt(2 * training.margin)) / (2 * clusters * 2 ** (p + 2))),
        common + math.log(p * alpha**2 / 8),
        -0.5 * math.log(width) - 4 * clusters * training.t1_bound,
    )
    until = -((p - 1) * math.log(2) + 0.5 * math.log(width) + min(terms)) / (2 ** (p + 2) * clusters)
    return training.t1_bound / until if until > 0 else math.inf


def _too_fast(evidence: Evidence) -> float:
    p, cosine = _degree(evidence), np.linspace(math.sqrt(4 / 5), 1, 50)
    return float(((2 ** (p - 1) - 2) / (cosine ** (p - 1) * (1 - 2 ** (2 - p)))).max())


def _bayes_is_nearest(evidence: Evidence) -> float:
    """Largest |alpha^2/D (log sum exp over one class less that over the other) - (max - max)| in units of alpha^2/D log K,
    at fresh samples and at points as far from every centre of a class"""
    mixture, problem = Mixture.of(evidence), evidence.problem
    if not mixture.alpha:
        raise NotApplicable("it speaks of noise, and there is none")
    sharp = mixture.dimension / mixture.alpha**2
    classes = [problem.cluster_label == sign for sign in (1, -1)]
    ties = np.array([np.where(chosen, 1.0, -1.0) for chosen in classes])
    found = []
    for score in (evidence.test.inputs @ problem.centers.T, ties):
        excess = [
            logsumexp(sharp * score[:, chosen], axis=1) - sharp * score[:, chosen].max(axis=1) for chosen in classes
        ]
        found.append(np.abs(excess[0] - excess[1]).max())
    return float(max(found)) / math.log(mixture.clusters)


def _searched(where: str, statement: str, measure: Callable[[Evidence], float], bound: float, measures: str) -> Claim:
    return Claim(f"{PAPER}, {where}", statement, measure, bound, measures=measures)


LEMMA_17 = (
    "sup |f - F^(p)| on the sphere <= {bound} + K nu + zeta, if c_kj >= 1 - delta, |1 - mass| <= nu, void mass <= zeta"
)
EXCESS = "largest ratio of sup |f - F^(p)| to the bound, over networks with one neuron turned away from its centre"
SLOWEST = "largest ratio of the time of the slowest such z to the bound, over z_0 and z_1"

CLAIMS = {
    "lemma_5.first": _searched(
        "Lemma 5 (F.1)",
        "c_kj(0) >= sqrt((1/(1 - Delta)^2 - 1)/2) =: Delta~_1 for all j in N_k",
        _first_of_lemma_5,
        ROUNDING,
        "largest Delta~_1 - c_kj(0) over directions, each with its own gap for Delta",
    ),
    "lemma_5.second": _searched(
        "Lemma 5 (F.2)",
        "(c_lj(0)/c_kj(0))^(p-2) <= (1 - sqrt(2 Delta))^(p-2) =: 1 - Delta~_2 for all l other than k with y_l = y_k and "
        "c_lj(0) > 0",
        _second_of_lemma_5,
        ROUNDING,
        "largest c_lj(0)/c_kj(0) - (1 - sqrt(2 Delta)) over directions, each with its own gap for Delta",
    ),
    "lemma_9": _searched(
        "Lemma 9",
        "if dz/dt >= C z^(p-1) from z(0) = z_0 to z(T) = z_1 < 1, then T <= 1/((p-2) C z_0^(p-2))",
        _travel(lambda z0, z1, p: (z0 ** (2 - p) - z1 ** (2 - p)) / (p - 2), lambda z0, z1, p: z0 ** (2 - p) / (p - 2)),
        1.0,
        SLOWEST,
    ),
    "lemma_10": _searched(
        "Lemma 10",
        "if dz/dt >= C (1 - z) from z(0) = z_0 to z(T) = z_1 < 1, then T <= log(1/(1 - z_1))/C",
        _travel(lambda z0, z1, p: np.log((1 - z0) / (1 - z1)), lambda z0, z1, p: -np.log(1 - z1)),
        1.0,
        SLOWEST,
    ),
    "lemma_15": _searched(
        "Lemma 15",
        "if dz/dt >= (1 - z - Delta) z, Delta < 1/4, from z_0 <= 1/4 to z_1 < 1 - Delta, then "
        "T <= 2 (log 1/(1 - z_1 - Delta) + log 1/z_0)",
        _travel(_logistic, lambda z0, z1, p: np.ones_like(z0)),
        1.0,
        SLOWEST,
    ),
    "lemma_17.as_stated": _searched(
        "Lemma 17",
        LEMMA_17.format(bound="K (1 + nu) (2^p - 1) 2 delta"),
        lambda evidence: _largest_excess(_stated_slope, evidence),
        1.0,
        EXCESS,
    ),
    "lemma_17.mended": _searched(
        "Lemma 17 with |u - mu| = sqrt(2 delta)",
        LEMMA_17.format(bound="K (1 + nu) p sqrt(2 delta)"),
        lambda evidence: _largest_excess(_mended_slope, evidence),
        1.0,
        EXCESS,
    ),
    "equation_f12": _searched(
        "(F.12), first use in (F.13)",
        "with eps <= eps_0, outputs are small until t_1-bar: t_1-bar <= t_2 of Lemma 8",
        _small_for_too_short,
        1.0,
        "t_1-bar over t_2 at eps_0, with the gap, p and alpha of the run; inf where t_2 is negative",
    ),
    "equation_f19": _searched(
        "(F.19), second step",
        "p c^(p-1) (1 - 1/2^(p-2)) (1 - c) >= p (2^(p-1) - 2) (1 - c) where c >= sqrt(4/5)",
        _too_fast,
        1.0,
        "largest ratio of the right side to the left over c in [sqrt(4/5), 1)",
    ),
    "equation_4": _searched(
        "equation (4)",
        "sign f*(x) = sign(max_{k <= K_1} <x, mu_k> - max_{k > K_1} <x, mu_k> + O(alpha^2/D log K))",
        _bayes_is_nearest,
        1.0,
        "largest size of what stands for the O, in units of alpha^2/D log K, at fresh samples and where all centres of a "
        "class are as near",
    ),
}
