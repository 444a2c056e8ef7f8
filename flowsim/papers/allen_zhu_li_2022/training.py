"""Allen-Zhu & Li 2022, Theorems 5.1 to 5.3: what clean and adversarial training do to a network on sparse coding data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant, Premise, Window
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import network_of
from ...evaluate.robustness.attacks import Options, Target, attacked
from ...evaluate.robustness.classifier import Classifier
from ...kinds.streams import stream
from ...observe.kinds.features import lottery_constants
from ...solve import Snapshot
from . import lottery, setting
from .setting import (
    OF_ERROR,
    OF_SHARE,
    PAPER,
    SMALL,
    SMALL_SHARE,
    THETA,
    along_labels,
    attack_of,
    clean_end,
    late_weights,
    network_data,
    regime_of,
    robust_end,
    weights_at,
)

#: Test samples that are attacked, and gradient steps of the attack.
ATTACKED, STEPS = 500, 50
#: What stands for any perturbation at all.
ANY = ("pgd", "universal")


def error(evidence: Evidence, snapshot: Snapshot, move: Callable[[Floats, Floats], Floats] | None = None) -> float:
    """Share of fresh samples that are classified wrong after a move, a function of samples (n, d) and labels (n,)."""
    x, label = evidence.test.inputs, evidence.test.label
    moved = x if move is None else x + move(x, label)
    return 1 - evidence.accuracy(network_of(evidence.setting, snapshot).value(moved), label)


def attacked_error(evidence: Evidence, network: Classifier, *kinds: str) -> float:
    """Against the best of these attacks on each sample, within the radius of adversarial training"""
    attack = attack_of(evidence)
    x, label = evidence.test.inputs, evidence.test.label
    part, nowhere = slice(0, ATTACKED), (np.zeros((0, x.shape[1])), np.zeros(0))
    target = Target.of(network, x[part], label[part], *nowhere, along_labels(evidence), attack.norm)
    options = Options(STEPS, 1, stream(evidence.scenario.single_seed, "claims.attacks"))
    found = attacked(target, np.array([attack.radius]), kinds, options)
    return 1 - float(np.all([found[kind].withstands for kind in kinds], axis=0).mean())


def error_of(evidence: Evidence, snapshot: Snapshot, *kinds: str) -> float:
    """That of the network at a kept instant"""
    return attacked_error(evidence, network_of(evidence.setting, snapshot), *kinds)


def _left_of_start(evidence: Evidence) -> float:
    """sum <w_i(t), w_i(0)>^2 over sum |w_i(t)|^2 |w_i(0)|^2"""
    first = weights_at(evidence, evidence.weights[0])

    def left(later: Floats) -> float:
        products = (first * later).sum(axis=1)
        return float((products**2).sum() / ((first**2).sum(axis=1) * (later**2).sum(axis=1)).sum())

    return max(left(weights_at(evidence, found)) for found in late_weights(evidence))


def _common(evidence: Evidence) -> float:
    """sum_ij <w_i, w_j>^2 over (sum |w_i|^2)^2"""
    rows = [weights_at(evidence, found) for found in late_weights(evidence)]
    return max(float(((found.T @ found) ** 2).sum() / (found**2).sum() ** 2) for found in rows)


def _clean_error(evidence: Evidence) -> float:
    return max(error(evidence, found) for found in late_weights(evidence))


def _error_along_labels(evidence: Evidence) -> float:
    """Against -tau y Mw*/|Mw*| with tau = 1/sqrt(k)"""
    direction, radius = along_labels(evidence), network_data(evidence).sparsity ** -0.5

    def move(x: Floats, label: Floats) -> Floats:
        return np.asarray(-radius * label[:, None] * direction)

    return min(error(evidence, found, move) for found in late_weights(evidence))


def _in_labels(evidence: Evidence) -> Floats:
    """(m,): <w_i, Mw*> after clean training"""
    samples = evidence.problem.samples
    assert samples.label_weight is not None
    return np.asarray(weights_at(evidence, clean_end(evidence)) @ (samples.label_weight @ samples.centers))


def _sure_in_labels(evidence: Evidence) -> float:
    """sum_(i in S) <w_i, Mw*> over kd/Xi_2^7, S all neurons with a ticket"""
    found, sure = regime_of(evidence), lottery.at_start(evidence).sure
    _, gap = lottery_constants(*sure.shape)
    unit = found.sparsity * found.dimension / found.dimension ** (14 * gap)
    return float(_in_labels(evidence)[sure.any(axis=1)].sum() / unit)


def _against_labels(evidence: Evidence) -> float:
    """-min_i <w_i, Mw*> over k^3 Xi_2^4 sigma_x^2/(lambda d^2)"""
    found = regime_of(evidence)
    if found.decay == 0 or found.noise == 0:
        raise NotApplicable("its bound is of a regularizer and noise")
    _, gap = lottery_constants(*lottery.at_start(evidence).sure.shape)
    unit = found.sparsity**3 * found.dimension ** (8 * gap - 2) * found.noise**2 / found.decay
    return float(-_in_labels(evidence).min() / unit)


def _adversarial(evidence: Evidence) -> Window:
    """[T_f, T_f + T_g]"""
    begin, end = clean_end(evidence), robust_end(evidence)
    return Window(float(begin.time), float(end.time), evidence.weights.time, parts=4)


def _moved(evidence: Evidence) -> float:
    """Largest sum |w_i(T_f) - w_i(t)|^2 over sum |w_i(T_f)|^2"""
    window = _adversarial(evidence)
    clean = weights_at(evidence, clean_end(evidence))
    times = evidence.weights.time
    inside = np.flatnonzero((times > window.begin) & (times <= window.end))
    moved = [weights_at(evidence, evidence.weights[place]) - clean for place in inside]
    return max(float((each**2).sum() / (clean**2).sum()) for each in moved)


def _not_robust(evidence: Evidence) -> Iterator[Premise]:
    yield from setting.not_robust_premises(evidence)
    yield _tickets(evidence)


def _robust(evidence: Evidence) -> Iterator[Premise]:
    yield from setting.robust_premises(evidence)
    yield _tickets(evidence)


def _tickets(evidence: Evidence) -> Premise:
    return next(premise for premise in lottery.premises(evidence) if "Lemma B.2" in premise.name)


def claim_of(
    where: str,
    statement: str,
    measure: Callable[[Evidence], float],
    bound: Any,
    measures: str,
    premises: Callable[[Evidence], Iterable[Premise]],
    *constants: Constant,
    at_least: bool = False,
    span: Callable[[Evidence], Window] | None = None,
    trivial: Any = None,
) -> Claim:
    place = f"{PAPER}, {where}"
    return Claim(place, statement, measure, bound, at_least, (), measures, premises, constants, span, trivial)


CLAIMS = {
    "theorem_5_1.start_forgotten": claim_of(
        "Theorem 5.1(a)",
        "for every t in [T_c, T_f]: sum_i <w_i(t), w_i(0)>^2 = o(1) sum_i |w_i(t)|^2 |w_i(0)|^2",
        _left_of_start,
        SMALL_SHARE,
        "the ratio",
        lottery.clean_premises,
        OF_SHARE,
        span=setting.late,
    ),
    "theorem_5_1.no_common_direction": claim_of(
        "Theorem 5.1(a)",
        "for every t in [T_c, T_f]: sum_ij <w_i(t), w_j(t)>^2 = o(1) (sum_i |w_i(t)|^2)^2",
        _common,
        SMALL_SHARE,
        "the ratio",
        lottery.clean_premises,
        OF_SHARE,
        span=setting.late,
    ),
    "theorem_5_1.clean_error": claim_of(
        "Theorem 5.1(b)",
        "for every t in [T_c, T_f]: the clean error is at most o(1)",
        _clean_error,
        SMALL,
        "error on fresh samples",
        lottery.clean_premises,
        OF_ERROR,
        span=setting.late,
    ),
    "theorem_5_1.robust_error": claim_of(
        "Theorem 5.1(c)",
        "for every t in [T_c, T_f], every tau >= 1/k^(0.5 + 10c): against -tau y Mw*/|Mw*| the error is 1 - o(1)",
        _error_along_labels,
        1 - SMALL,
        "that error at tau = 1/sqrt(k)",
        _not_robust,
        OF_ERROR,
        Constant("c", 0.0, "chosen"),
        at_least=True,
        span=setting.late,
    ),
    "lemma_e_2.sure": claim_of(
        "Lemma E.2",
        "sum_(i in S) <w_i, Mw*> = Omega(kd/Xi_2^7), S the union of all S_j,sure(0)",
        _sure_in_labels,
        1 / THETA,
        "the sum over kd/Xi_2^7",
        _not_robust,
        lottery.OF_GAMMA,
        Constant("of Omega", None, "fitted"),
        Constant("bound of it", 1 / THETA, "chosen"),
        at_least=True,
    ),
    "lemma_e_2.all": claim_of(
        "Lemma E.2",
        "for all i: <w_i, Mw*> >= -O(k^3 Xi_2^4 sigma_x^2/(lambda d^2))",
        _against_labels,
        THETA,
        "-min_i <w_i, Mw*> over k^3 Xi_2^4 sigma_x^2/(lambda d^2)",
        _not_robust,
        lottery.OF_GAMMA,
        Constant("of O", None, "fitted"),
        Constant("bound of it", THETA, "chosen"),
    ),
    "theorem_5_3.fgm_error": claim_of(
        "Theorem 5.3(a)",
        "at t = T_f + T_g the error against the attacker of training is at most o(1)",
        lambda evidence: error_of(evidence, robust_end(evidence), "fgm"),
        SMALL,
        "error against FGM within the radius of training",
        _robust,
        OF_ERROR,
    ),
    "theorem_5_3.robust_error": claim_of(
        "Theorem 5.3(b)",
        "where the attacker is FGM, at t = T_f + T_g the robust error within its radius is at most o(1)",
        lambda evidence: error_of(evidence, robust_end(evidence), *ANY),
        SMALL,
        "error against PGD and along the labels, a lower bound of the robust error",
        _robust,
        OF_ERROR,
    ),
    "theorem_5_3.local_change": claim_of(
        "Theorem 5.3(c)",
        "for every t in [T_f, T_f + T_g - 1]: sum_i |w_i(T_f) - w_i(t)|^2 = o(1) sum_i |w_i(T_f)|^2",
        _moved,
        SMALL_SHARE,
        "largest ratio at the kept instants",
        _robust,
        OF_SHARE,
        span=_adversarial,
    ),
}
