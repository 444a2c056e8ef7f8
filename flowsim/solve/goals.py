"""The goals that an engine watches at every step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kinds.stop import STOPS, Watched
from ..problem import Reduced
from ..scenario.flow import Until
from .snapshot import Snapshot
from .targets import target_cluster


class Goals(NamedTuple):
    """Thresholds that end a run; ±inf where not asked for. end: the latest time, never stepped over."""

    end: float
    log_loss: float
    alignment: float

    @classmethod
    def of(cls, until: Until) -> Goals:
        return cls(
            end=min(_levels(until, Watched.TIME), default=np.inf),
            log_loss=max(_levels(until, Watched.LOSS), default=-np.inf),
            alignment=min(_levels(until, Watched.ALIGNMENT), default=np.inf),
        )

    @property
    def watched(self) -> bool:
        """Whether a loss or an alignment is wanted."""
        return self.log_loss > -np.inf or self.alignment < np.inf


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


def lacking(goals: Goals, reduced: Reduced, snapshot: Snapshot, log_loss: float) -> float:
    """How much the nearest of the loss and the alignment that are wanted lacks at an instant: 0 or less where it is met.

    Of the loss the part of its logarithm, where that is past 1, of the alignment the worst cosine; inf where neither is
    wanted. log_loss: of what is trained on.
    """
    loss = (log_loss - goals.log_loss) / max(1.0, abs(goals.log_loss)) if goals.log_loss > -np.inf else np.inf
    if np.isinf(goals.alignment):
        return float(loss)
    watch = Watch.of(reduced)
    direction = (snapshot.direction * watch.feature)[watch.targeted]
    size = np.linalg.norm(direction, axis=1)
    cosine = np.einsum("jr,jr->j", direction, watch.center[watch.targeted]) / np.where(size > 0, size, 1.0)
    return float(min(loss, goals.alignment - cosine.min(initial=np.inf))) if len(cosine) else float(loss)


def reached_goal(until: Until, log_loss: float) -> str:
    """The goal that is met, in words, known that one is."""
    losses = until.watched(Watched.LOSS)
    met = {name: value for name, value in losses.items() if log_loss <= STOPS[name].level(value)}
    return next(f"{name} {value:g}" for name, value in (met or until.watched(Watched.ALIGNMENT)).items())


def _levels(until: Until, by: Watched) -> list[float]:
    return [float(STOPS[name].level(value)) for name, value in until.watched(by).items()]
