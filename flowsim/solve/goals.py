"""The goals that an engine watches at every step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..problem import Reduced
from ..scenario.flow import Until
from .targets import target_cluster


class Goals(NamedTuple):
    """Thresholds that end a run; ±inf where not asked for. end: the latest time, never stepped over."""

    end: float
    log_loss: float
    alignment: float

    @classmethod
    def of(cls, until: Until) -> Goals:
        losses = [np.log(until.loss)] if until.loss is not None else []
        losses += [until.log10_loss * np.log(10)] if until.log10_loss is not None else []
        return cls(
            end=until.time or np.inf,
            log_loss=float(max(losses, default=-np.inf)),
            alignment=until.alignment if until.alignment is not None else np.inf,
        )


class Watch(NamedTuple):
    """What the alignment goal looks at, as arrays of NumPy or JAX.

    center (m, r): each neuron's target as a unit vector in reduced coordinates; targeted (m,): whether the neuron has one;
    feature (r,): 1 for every coordinate but the bias.
    """

    center: Any
    targeted: Any
    feature: Any

    @classmethod
    def of(cls, reduced: Reduced) -> Watch:
        target = target_cluster(reduced)
        center = np.zeros_like(reduced.direction)
        targeted = target >= 0
        center[targeted] = reduced.center[target[targeted]]
        center[targeted, -1] += reduced.outside_center[targeted, target[targeted]]
        center[targeted] /= np.linalg.norm(reduced.problem.centers[target[targeted]], axis=1, keepdims=True)
        return cls(center, targeted, reduced.feature_coordinates)


def reached_goal(until: Until, log_loss: float) -> str:
    """The goal that is met, in words, known that one is."""
    if until.loss is not None and log_loss <= np.log(until.loss):
        return f"loss {until.loss:g}"
    if until.log10_loss is not None and log_loss <= until.log10_loss * np.log(10):
        return f"log10_loss {until.log10_loss:g}"
    return f"alignment {until.alignment:g}"
