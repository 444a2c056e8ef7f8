"""Theorem 2.1: what the flow itself shows of its way to a KKT point, and how far it is from the one that was found."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...arrays import Floats, Integers
from ...evaluate.claim import Claim, Constant, Premise
from ...evaluate.evidence import Evidence, NotCovered
from .limit import certified
from .setting import PAPER, problem_of

#: A direction, or a residual, that is to tend to 0 has come near it.
NEAR_LIMIT = 0.01
#: How far an exponent that is reached like 1/log t may still be from its value.
OF_EXPONENT = 0.1
#: Kept instants with which an exponent or a trend is told.
FEWEST = 3
_STATEMENT = "gradient flow converges in direction to a KKT point of min |theta|^2/2 s.t. y_i f(x_i) >= 1"


def _log_mean_loss(evidence: Evidence) -> tuple[Floats, Floats]:
    """(times (T,), log10 of the loss as the paper has it, the mean over the samples; the logistic one is log2(1 + e^-q))"""
    problem = problem_of(evidence)
    times, log_loss = evidence.over_time("log10_loss")
    base = math.log10(math.log(2)) if evidence.scenario.loss.kind == "logistic" else 0.0
    return times, log_loss - math.log10(problem.sample_weight.sum()) - base


def _threshold(evidence: Evidence) -> float:
    """log10 of 1/n"""
    return -math.log10(len(evidence.problem.targets))


def _first(evidence: Evidence) -> float:
    """t_0, the first kept time with a loss below 1/n"""
    times, log_loss = _log_mean_loss(evidence)
    below = log_loss < _threshold(evidence)
    if not below.any():
        raise NotCovered("the loss does not fall below 1/n")
    return float(times[below.argmax()])


def premises(evidence: Evidence) -> Iterator[Premise]:
    """Theorem 2.1's: a flow, and a loss below 1/n at some time"""
    problem_of(evidence)
    yield Premise.fact("gradient flow", evidence.scenario.flow.method == "gradient_flow")
    least, bound = float(_log_mean_loss(evidence)[1].min()), _threshold(evidence)
    yield Premise("log10 of the least mean loss <= log10(1/n); of the logistic loss log2(1 + e^-q)", least, bound)


def _with_limit(evidence: Evidence) -> Iterator[Premise]:
    yield from premises(evidence)
    yield from certified(evidence)
    yield Premise.fact("shown to be the flow's own limit: its certificate", evidence.limit.own)


def _late(evidence: Evidence) -> tuple[Integers, Floats]:
    """(the kept instants (T,), log t and log(1/L) (2, T)) at the later half of the kept instants from t_0 on"""
    _first(evidence)
    _, log_loss = _log_mean_loss(evidence)
    clock = evidence.trajectory.get("log10_time")
    with np.errstate(divide="ignore"):
        log_time = np.log10(evidence.trajectory["time"].values) if clock is None else clock.values
    after = np.flatnonzero((log_loss < _threshold(evidence)) & np.isfinite(log_time))
    after = after[len(after) // 2 :]
    if len(after) < FEWEST:
        raise NotCovered("too few instants were kept after the loss fell below 1/n (see observe.times)")
    return after, math.log(10) * np.stack([log_time[after], -log_loss[after]])


def _exponent_of_loss(evidence: Evidence) -> float:
    """d log L / d log t"""
    _, (log_time, log_loss) = _late(evidence)
    return float(np.polyfit(log_time, -log_loss, 1)[0])


def _exponent_of_norm(evidence: Evidence) -> float:
    """d log |theta|^2 / d log log(1/L)"""
    rows, (_, log_loss) = _late(evidence)
    hidden, output = (evidence.over_time(name)[1][rows] for name in ("log_norm", "output_weight"))
    with np.errstate(divide="ignore"):
        squares = 2 * np.concatenate([hidden, np.log(np.abs(output))], axis=1)
    return float(np.polyfit(np.log(log_loss), np.logaddexp.reduce(squares, axis=1), 1)[0])


def _snapshots(evidence: Evidence) -> Integers:
    """Indices of the kept weights from t_0 on"""
    found = np.flatnonzero(evidence.weights.time >= _first(evidence))
    if len(found) < FEWEST:
        raise NotCovered("too few weights were kept after the loss fell below 1/n (see observe.snapshots)")
    return found


def _tends_to_zero(values: Floats, what: str) -> float:
    """The last of the values, which is to be small; no finite time refutes that they tend to 0."""
    last = float(values[-1])
    if last > NEAR_LIMIT:
        raise NotCovered(f"{what} is {last:.3g} at the end of the run, not yet {NEAR_LIMIT:g}", last)
    return last


def _residual(evidence: Evidence) -> float:
    """Of the flow's own weights and its own multipliers: kkt_residual"""
    times, values = evidence.over_time("kkt_residual")
    values = values[times >= _first(evidence)]
    if len(values) < FEWEST:
        raise NotCovered("too few weights were kept after the loss fell below 1/n (see observe.snapshots)")
    return _tends_to_zero(values, "the residual")


def _angle(evidence: Evidence) -> float:
    angles = np.array([evidence.angle_to_limit(int(index)) for index in _snapshots(evidence)])
    return _tends_to_zero(angles, "the angle")


def _supports_apart(evidence: Evidence) -> float:
    """Samples that support the margin of one, the flow at its end or the limit, but not of the other. That the point is the
    flow's own limit is a premise, so where there are some the run has not got there yet."""
    flow = np.asarray(evidence.end.certificate.support, dtype=bool)
    apart = float((flow != evidence.limit.support) @ evidence.setting.multiplicity)
    if apart:
        raise NotCovered(f"{apart:g} samples support the margin of only one of them at the end of the run", apart)
    return apart


def _near(what: str) -> tuple[Constant, ...]:
    return (Constant(what, NEAR_LIMIT, "chosen"),)


CLAIMS = {
    "theorem_2_1.loss": Claim(
        f"{PAPER}, Theorem 2.1",
        "L(theta(t)) -> 0 as t -> infinity",
        _exponent_of_loss,
        -1 + OF_EXPONENT,
        observables=("log10_loss",),
        measures="exponent of the loss in t late in the run: -1 but for logarithms where f is of degree 2 (Lyu & Li 2020)",
        premises=premises,
        constants=(Constant("slack of the exponent", OF_EXPONENT, "chosen"),),
    ),
    "theorem_2_1.norm": Claim(
        f"{PAPER}, Theorem 2.1",
        "|theta(t)| -> infinity as t -> infinity",
        _exponent_of_norm,
        1 - OF_EXPONENT,
        at_least=True,
        observables=("log10_loss",),
        measures="exponent of |theta|^2 in log(1/L) late in the run: 1 where f is of degree 2 (Lyu & Li 2020)",
        premises=premises,
        constants=(Constant("slack of the exponent", OF_EXPONENT, "chosen"),),
    ),
    "theorem_2_1.kkt": Claim(
        f"{PAPER}, Theorem 2.1",
        _STATEMENT,
        _residual,
        NEAR_LIMIT,
        observables=("log10_loss",),
        measures="residual of the KKT conditions at the flow's own weights, divided to smallest margin 1, at the end",
        premises=premises,
        constants=_near("small residual"),
    ),
    "theorem_2_1.angle": Claim(
        f"{PAPER}, Theorem 2.1",
        _STATEMENT,
        _angle,
        NEAR_LIMIT,
        observables=("log10_loss",),
        measures="angle between the flow's weights at the end and the KKT point that was found, in rad",
        premises=_with_limit,
        constants=_near("small angle"),
    ),
    "theorem_2_1.direction": Claim(
        f"{PAPER}, Theorem 2.1",
        _STATEMENT,
        _supports_apart,
        0.0,
        observables=("log10_loss",),
        measures="samples that support the margin of only one, the flow at its end or the KKT point that was found",
        premises=_with_limit,
    ),
}
