"""Claims of Li et al. 2025 about the way: how neurons decompose, how coefficients are updated and grow, how even margins
are, and which neurons are active (Lemmas 5.1 to 5.5, B.4 to B.6, B.23, C.5 to C.9, C.23)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...observe import Instant
from ...observe.decomposition import PIVOT_RATIO
from ...observe.kinds.coefficients import cluster_coefficients, noise_coefficients
from ...problem import Problem
from .setting import (
    LOGS,
    PAPER,
    SIZES,
    Regime,
    after_first,
    binary,
    coefficients,
    dual,
    late,
    multi_class,
    noise,
    own_clusters,
    training,
)

Checked = Callable[[Evidence], Problem]
#: Errors of rounding: of a decomposition, of an update and of a sign, each relative to the largest number in it.
REASSEMBLED, UPDATED, SIGN = 1e-8, 1e-6, 1e-9
#: Logarithms of what is no float any more begin here.
LARGEST_LOG = 700.0
#: What stands for epsilon(k) of a gap of margins, and for how far a slope may be from 1.
GAP, SLOPE = 1.0, 0.1


def decomposed(evidence: Evidence) -> list[Instant]:
    """The kept weights, where they decompose."""
    if evidence.setting.decomposition is None:
        raise NotApplicable("the weights do not determine the coefficients: it needs linearly independent samples")
    weights = evidence.weights
    return [Instant(evidence.setting, weights[index]) for index in range(len(weights.time))]


def _reassembled(checked: Checked, evidence: Evidence) -> float:
    """Largest |w_j - its decomposition| / |w_j| over the kept weights"""
    problem, setting = checked(evidence), evidence.setting
    part = noise(problem)
    square = (part**2).sum(axis=1, keepdims=True)
    part = np.divide(part, square, out=np.zeros_like(part), where=square > 0)
    worst = 0.0
    for instant in decomposed(evidence):
        sigma = noise_coefficients(instant)[:, setting.reduced.representative]
        found = problem.hidden + cluster_coefficients(instant) @ dual(problem) + sigma @ part
        size = np.exp(instant.snapshot.log_norm)
        hidden = size[:, None] * setting.reduced.lift(instant.snapshot.direction)[0]
        worst = max(worst, float((np.linalg.norm(found - hidden, axis=1) / size).max()))
    return worst


def _unbalanced(checked: Checked, evidence: Evidence) -> float:
    """Largest |lambda_j/|mu_j|^2 - sum over I_j of sigma_i/|xi_i|^2| over the kept weights after time 0, relative to the
    largest of the first. The coefficients are those of the centres and the noise as independent vectors, so that nothing
    is taken for granted of how neurons move."""
    problem, setting, weights = checked(evidence), evidence.setting, evidence.weights
    part, clusters = noise(problem), len(problem.centers)
    square = (part**2).sum(axis=1)
    if not square.all():
        raise NotApplicable("it speaks of noise, and a sample has none")
    if clusters + len(part) > problem.inputs.shape[1]:
        raise NotApplicable("more centres and samples than dimensions: the weights do not determine the coefficients")
    later = [weights[index] for index in np.flatnonzero(weights.time > 0)]
    if not later:
        raise NotCovered("no weights were kept after time 0 (see observe.snapshots)")
    hidden = [np.exp(one.log_norm)[:, None] * setting.reduced.lift(one.direction)[0] for one in later]
    basis, triangle = np.linalg.qr(np.vstack([dual(problem), part / square[:, None]]).T)
    pivots = np.abs(np.diag(triangle))
    if pivots.min() <= PIVOT_RATIO * pivots.max():
        raise NotApplicable("centres and noise are dependent: the weights do not determine the coefficients")
    found = solve_triangular(triangle, basis.T @ (np.concatenate(hidden) - np.tile(problem.hidden, (len(later), 1))).T)
    left = found[:clusters] / (problem.centers**2).sum(axis=1)[:, None]
    member = problem.sample_cluster == np.arange(clusters)[:, None]
    apart = np.abs(left - member @ (found[clusters:] / square[:, None]))
    return float(apart.max() / np.abs(left).max())


def _signs(checked: Checked, evidence: Evidence) -> float:
    """Smallest share, over the kept weights after time 0, of the coefficients of centres and of noise that are, to
    rounding, not below 0 where the neuron is there for the cluster, and not above 0 elsewhere"""
    own, later = own_clusters(checked(evidence)), moved(evidence)
    cluster = np.argmax(evidence.setting.cluster_counts > 0, axis=0)
    shares = []
    for instant in later:
        pairs = ((cluster_coefficients(instant), own), (noise_coefficients(instant), own[:, cluster]))
        right = [np.where(positive, 1, -1) * one >= -SIGN * np.abs(one).max() for one, positive in pairs]
        shares.append(float(np.concatenate([part.ravel() for part in right]).mean()))
    return min(shares)


def moved(evidence: Evidence) -> list[Instant]:
    """The kept weights after time 0, where all coefficients are 0; there must be some"""
    later = [instant for instant in decomposed(evidence) if instant.time > 0]
    if not later:
        raise NotCovered("no weights were kept after time 0 (see observe.snapshots)")
    return later


def _updates(checked: Checked, evidence: Evidence) -> float:
    """Largest error of the updates over pairs of kept weights an iteration apart, relative to the largest update of either
    kind of coefficients"""
    problem, instants = checked(evidence), decomposed(evidence)
    step, times, reduced = evidence.step, evidence.weights.time, evidence.setting.reduced
    decomposition = evidence.setting.decomposition
    if step is None:
        raise NotApplicable("it speaks of iterations, which a flow does not have")
    pairs = np.flatnonzero(np.abs(np.diff(times) - step) < 1e-6 * step)
    if not len(pairs) or decomposition is None:
        raise NotCovered('no weights were kept one iteration apart (see observe.times and snapshots = "all")')
    worst = 0.0
    for index in pairs:
        before, after = instants[index], instants[index + 1]
        active = before.snapshot.direction @ reduced.inputs.T >= 0
        slope = before.derivative[problem.neuron_output] if problem.loss.classes else before.derivative
        pull = -step * problem.output[:, None] * active * reduced.sample_weight * slope
        for now, then, expected in (
            (noise_coefficients(after), noise_coefficients(before), pull * decomposition.noise),
            (cluster_coefficients(after), cluster_coefficients(before), pull @ decomposition.cluster.T),
        ):
            worst = max(worst, float(np.abs(now - then - expected).max() / np.abs(expected).max()))
    return worst


def _largest(name: str, evidence: Evidence) -> float:
    binary(evidence)
    return float(evidence.between(name, 0.0).max())


def _ratio_of_label(evidence: Evidence) -> float:
    """Largest (1 + e^q_i)/(1 + e^q_j) of samples with the same label"""
    targets, margins = binary(evidence).targets, evidence.between("margin", 0.0)
    if margins.ndim != 2:
        raise NotApplicable("it needs the margin of every sample")
    spread = max(float(np.ptp(np.logaddexp(0, margins[:, targets == label]), axis=1).max()) for label in (-1, 1))
    return math.exp(spread) if spread < LARGEST_LOG else math.inf


def _activation(checked: Checked, evidence: Evidence) -> float:
    checked(evidence)
    return float(evidence.between("activation_region", 0.0).min())


def halved(margin: Floats) -> Floats:
    """ln(1 + e^q) - q/2 - ln 2 = ln cosh(q/2), exact for small margins too"""
    half = np.abs(margin) / 2
    small = np.minimum(half, 1.0)
    return np.where(half < 1, np.log1p(2 * np.sinh(small / 2) ** 2), half - math.log(2) + np.log1p(np.exp(-2 * half)))


def _half_gap(evidence: Evidence) -> float:
    """Smallest ln(l'_j/l'_i) - (q_i - q_j)/2 over pairs with q_i >= q_j, at all kept instants"""
    binary(evidence)
    _, margins = evidence.over_time("margin")
    if margins.ndim != 2:
        raise NotApplicable("it needs the margin of every sample")
    ordered = np.sort(margins, axis=1)
    values = halved(ordered)
    # the smallest value of a later one less the largest before it
    return float((values - np.maximum.accumulate(values, axis=1)).min())


def _own(checked: Checked, evidence: Evidence, least: float) -> tuple[Floats, Floats]:
    """(eta t (T,), lambda (T, p) of all neurons with the clusters that they are there for) at the kept weights from eta t =
    least on"""
    own = own_clusters(checked(evidence))
    times, found = coefficients(evidence)
    there = times > least
    if not there.any():
        raise NotCovered(f"no weights were kept after time {least:g} (see observe.snapshots)")
    return times[there], found[there][:, own]


def _least_grown(checked: Checked, evidence: Evidence) -> float:
    """Smallest lambda / (ln(eta t)/4) at eta t > 1, where that bound is above 0"""
    times, found = _own(checked, evidence, 1.0)
    return float((found.min(axis=1) / (np.log(times) / 4)).min())


def _most_grown(checked: Checked, evidence: Evidence) -> float:
    """Largest lambda / (4 ln(t + 1))"""
    times, found = _own(checked, evidence, 0.0)
    return float((found.max(axis=1) / (4 * np.log1p(times / Regime.of(evidence).step))).max())


def _line(checked: Checked, evidence: Evidence) -> tuple[float, float]:
    """(slope, intercept) of the mean lambda against ln(eta t), by least squares over the kept weights at eta t > 1"""
    times, found = _own(checked, evidence, 1.0)
    if len(times) < 3:
        raise NotCovered("a slope needs weights at three instants after time 1 at least (see observe.snapshots)")
    slope, intercept = np.polyfit(np.log(times), found.mean(axis=1), 1)
    return float(slope), float(intercept)


def _growth(checked: Checked, lemma: str, symbol: str) -> dict[str, Claim]:
    """lambda between ln(eta T)/4 and 4 ln(T + 1), and its slope"""
    where, options = f"{PAPER}, Lemma {lemma}", {"premises": training, "span": late}
    statement = f"ln(eta T)/4 <= {symbol} <= 4 ln(T + 1)"
    constants = (SIZES, LOGS)
    return {
        "lower": Claim(
            where,
            statement,
            lambda evidence: _least_grown(checked, evidence),
            1.0,
            at_least=True,
            measures=f"smallest {symbol} over ln(eta t)/4, at the kept weights with eta t > 1",
            constants=(*constants, Constant("1/4", 0.25, "paper")),
            **options,  # type: ignore[arg-type]
        ),
        "upper": Claim(
            where,
            statement,
            lambda evidence: _most_grown(checked, evidence),
            1.0,
            measures=f"largest {symbol} over 4 ln(t + 1), at the kept weights",
            constants=(*constants, Constant("4", 4.0, "paper")),
            **options,  # type: ignore[arg-type]
        ),
        "slope": Claim(
            f"{where}, Section 5.3 Step 2",
            f"{symbol} is about ln(eta t): its slope against ln t is 1",
            lambda evidence: abs(_line(checked, evidence)[0] - 1),
            SLOPE,
            measures="|slope - 1| of the mean over neurons and clusters, over the kept weights with eta t > 1",
            constants=(
                *constants,
                Constant("about", SLOPE, "chosen"),
                Constant("lambda at eta t = 1", lambda evidence: _line(checked, evidence)[1], "fitted"),
            ),
            **options,  # type: ignore[arg-type]
        ),
    }


def _decomposition(checked: Checked, lemma: str) -> Claim:
    return Claim(
        f"{PAPER}, Lemma {lemma}",
        "w(t) = w(0) + sum over j of lambda_j mu_j/|mu_j|^2 + sum over i of sigma_i xi_i/|xi_i|^2",
        lambda evidence: _reassembled(checked, evidence),
        REASSEMBLED,
        measures="largest distance of a neuron from its decomposition, relative to its norm, at all kept weights",
        constants=(Constant("rounding", REASSEMBLED, "chosen"),),
    )


def _balance(checked: Checked, lemma: str) -> Claim:
    return Claim(
        f"{PAPER}, Corollary {lemma}",
        "lambda_j/|mu_j|^2 = sum over I_j of sigma_i/|xi_i|^2, for every neuron and cluster",
        lambda evidence: _unbalanced(checked, evidence),
        REASSEMBLED,
        measures="largest difference of the two sides over the kept weights after time 0, relative to the largest value; "
        "lambda and sigma are coefficients of the weights in centres and noise, which are independent",
        constants=(Constant("rounding", REASSEMBLED, "chosen"),),
    )


def _sign(checked: Checked, lemma: str) -> Claim:
    return Claim(
        f"{PAPER}, Corollary {lemma}",
        "coefficients are >= 0 of the clusters and samples that a neuron is there for, and < 0 of the others; of a neuron "
        "that was never active on them they are 0, so <= 0 is looked at",
        lambda evidence: _signs(checked, evidence),
        1.0,
        at_least=True,
        measures="smallest share of the coefficients for which it is so, to rounding, over the kept weights after time 0",
        constants=(Constant("rounding, relative to the largest", SIGN, "chosen"),),
    )


def _update(checked: Checked, where: str) -> Claim:
    return Claim(
        f"{PAPER}, {where}",
        "lambda(t + 1) = lambda(t) - eta a sum over I_j of l'_i |mu_j|^2 1(active), and sigma(t + 1) = sigma(t) - eta a "
        "l'_i |xi_i|^2 1(active), with the output weight a over n",
        lambda evidence: _updates(checked, evidence),
        UPDATED,
        measures="largest error of an update, relative to the largest update, over kept weights one iteration apart",
        constants=(Constant("rounding", UPDATED, "chosen"),),
    )


def _active(checked: Checked, lemma: str, whose: str) -> Claim:
    return Claim(
        f"{PAPER}, Lemma {lemma}",
        f"from the first iteration on every sample activates every neuron of {whose}",
        lambda evidence: _activation(checked, evidence),
        1.0,
        at_least=True,
        observables=("activation_region",),
        measures="smallest share, over the kept instants after 0, of samples for which it is so",
        premises=training,
        constants=(SIZES, LOGS),
        span=after_first,
    )


CLAIMS = {
    "lemma_5_1": _decomposition(binary, "5.1"),
    "corollary_b_4": _balance(binary, "B.4"),
    "lemma_5_2.signs": _sign(binary, "B.5"),
    "lemma_5_2.updates": _update(binary, "Lemma 5.2, equations (2) and (3)"),
    "lemma_5_3.margin_gap": Claim(
        f"{PAPER}, Lemma 5.3",
        "q_i(t) - q_j(t) <= epsilon(k) for all i, j and 1 <= t <= T_0",
        lambda evidence: _largest("margin_gap", evidence),
        GAP,
        observables=("margin_gap",),
        measures="largest difference between two margins at the kept instants after 0",
        premises=training,
        constants=(SIZES, LOGS, Constant("epsilon(k)", GAP, "chosen")),
        span=after_first,
    ),
    "lemma_5_3.loss_derivative_ratio": Claim(
        f"{PAPER}, equation (6)",
        "y_i l'_i / (y_j l'_j) = 1 ± o(1) for samples with the same label",
        _ratio_of_label,
        math.exp(GAP),
        observables=("margin",),
        measures="largest ratio of the loss derivatives of two samples with the same label, at the kept instants after 0",
        premises=training,
        constants=(SIZES, LOGS, Constant("1 + o(1), as epsilon(k) allows", math.exp(GAP), "chosen")),
        span=after_first,
    ),
    "lemma_5_5": _active(binary, "5.5", "its class"),
    "lemma_b_6": Claim(
        f"{PAPER}, Lemma B.6",
        "for any t and any two samples with q_i >= q_j: e^(gap/2) <= y_j l'_j/(y_i l'_i) <= e^gap with gap = q_i - q_j",
        _half_gap,
        0.0,
        at_least=True,
        observables=("margin",),
        measures="smallest ln of the ratio less gap/2, over all pairs at all kept instants; the upper bound is always so",
    ),
    **{f"lemma_b_23.{name}": claim for name, claim in _growth(binary, "B.23", "lambda_srj").items()},
    "lemma_c_5": _active(multi_class, "C.5, Lemma C.10 (7)", "its cluster's output"),
    "lemma_c_6": _decomposition(multi_class, "C.6"),
    "corollary_c_7": _balance(multi_class, "C.7"),
    "corollary_c_8": _update(multi_class, "Corollary C.8"),
    "corollary_c_9": _sign(multi_class, "C.9"),
    **{f"lemma_c_23.{name}": claim for name, claim in _growth(multi_class, "C.23", "lambda_jrj").items()},
}
