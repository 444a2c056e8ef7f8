"""How the claims of Min & Vidal 2025 are made from functions of the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...evaluate.claim import Claim, Constant, Rate, Window
from ...evaluate.evidence import Evidence
from .setting import CONSTANT, DELTA, GAP, PAPER, Training, premises

SMALL = f"alpha^2 log(K/delta), delta = {DELTA:g}"
#: What Õ(alpha^2) stands for, and the constant in front of it that the paper leaves open.
CHOSEN = (
    Constant("delta", DELTA, "chosen"),
    Constant("C, C_a, C_w in front of alpha^2 log(K/delta)", CONSTANT, "chosen"),
)
LEAST = Constant("the least constant that would do", None, "fitted")
OF_GAP = Constant("Theta(1) of the gap", GAP, "chosen")
NOISE = "data.noise.total"
#: The constant of an upper bound grows with no power of 1/alpha; the bound may be loose.
CONSTANT_IN_ALPHA = (Rate(NOISE, 0.0, one_sided="at_least"),)

Measure = Callable[[Training], float]


def of_training(measure: Measure, any_loss: bool = False) -> Callable[[Evidence], float]:
    """The same of a run"""
    training = Training.of_any_loss if any_loss else Training.of
    return lambda evidence: measure(training(evidence))


def claim(
    where: str,
    statement: str,
    measure: Callable[[Any], float],
    bound: float | Measure,
    *,
    measures: str,
    at_least: bool = False,
    constants: tuple[Constant, ...] = CHOSEN,
    span: Callable[[Any], Window] | None = None,
    trivial: float | Measure | None = None,
    rates: tuple[Rate, ...] = (),
    any_loss: bool = False,
    of_evidence: bool = False,
) -> Claim:
    """A claim of the flow, under the assumptions of Theorem 1. of_evidence: whether `measure` and `span` take that, not
    the training. any_loss: whether it is about classification losses, too."""
    training = Training.of_any_loss if any_loss else Training.of

    def of(value: float | Measure | None) -> float | Callable[[Evidence], float] | None:
        return of_training(value, any_loss) if callable(value) else value

    def seen(function: Callable[[Any], Any]) -> Callable[[Evidence], Any]:
        return function if of_evidence else lambda evidence: function(training(evidence))

    least = of(bound)
    assert least is not None
    return Claim(
        f"{PAPER}, {where}",
        statement,
        seen(measure),
        least,
        at_least,
        observables=("cosine", "log10_loss"),
        measures=measures,
        premises=premises,
        constants=constants,
        span=None if span is None else seen(span),
        trivial=of(trivial),
        rates=rates,
    )
