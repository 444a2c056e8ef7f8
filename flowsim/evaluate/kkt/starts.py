"""KKT points from random networks: moved until they classify all samples, then along the asymptotic flow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import Floats
from ...problem import Reduced
from .asymptotic import Pull
from .follow import follow
from .point import Point, beside
from .sizes import Hyperbolic, Plain, Sizes
from .state import State, System, View

#: Steps of a random network until its smallest margin is this part of the largest, their size, and the log of how many
#: times a sample of the smallest margin weighs as much as one of the largest.
STEPS, EVEN, STEP, FOCUS = 2000, 0.1, 0.05, 20.0
#: Spread of the logarithms of the neurons' strengths.
SPREAD = 1.0


def from_start(reduced: Reduced, system: System, width: int, generator: np.random.Generator) -> Iterator[Point]:
    """The certified KKT points that the asymptotic flow sees on its way from a random network: those that do not attract
    it, and the first that does."""
    state = _separating(system, _random(system, width, generator))
    if state is None:
        return
    seen: list[Point] = []

    def look(state: State, pull: Pull) -> Point | None:
        found = beside(reduced, system, state, pull)
        if found is not None and found.certified:
            seen.append(found)
        return found

    # any KKT point will do, whether or not the flow would come closer to it
    follow(system, state, look, lambda point, state: 0.0, lambda grown, distance: False)
    yield from seen


def sizes_of(system: System, log_norm: Floats, sign: Floats) -> Sizes:
    """Of a balanced network, |v_j| = |w_j|."""
    if system.power != 1:
        return Plain(log_norm, log_norm, sign)
    return Hyperbolic.of(log_norm, log_norm, sign, log_norm, log_norm)


def _random(system: System, width: int, generator: np.random.Generator) -> State:
    # in the span of the samples, where KKT points are
    direction = generator.standard_normal((width, len(system.inputs))) @ system.inputs
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    sign = generator.choice([-1.0, 1.0], size=width)
    return State(direction, sizes_of(system, SPREAD * generator.standard_normal(width), sign))


def _separating(system: System, state: State) -> State | None:
    """The network after some steps of the flow on a smooth minimum of the margins; None where it does not classify."""
    for _ in range(STEPS):
        view = View.of(system, state)
        if view.margin.min() > EVEN * view.margin.max():
            break
        weight = np.exp(-FOCUS * (view.margin - view.margin.min()) / max(np.ptp(view.margin), np.finfo(float).tiny))
        pull = (weight / weight.sum()) * system.label
        sign = state.sizes.output_sign
        force = sign[:, None] * ((view.slope * pull) @ system.inputs)
        along = sign * (view.response @ pull)
        scale = STEP / max(float(np.linalg.norm(force, axis=1).max()), np.finfo(float).tiny)
        direction = state.direction + scale * (force - (force * state.direction).sum(axis=1)[:, None] * state.direction)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        state = State(direction, sizes_of(system, state.sizes.log_norm + scale * along, sign))
    return state if View.of(system, state).margin.min() > 0 else None
