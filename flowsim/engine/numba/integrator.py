"""The Numba engine behind the drive's protocol."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ...problem import Reduced
from ...problem.data.samples import Booleans, Floats, Integers
from ...problem.planes import planes
from ...scenario import Scenario
from ..goals import reached_goal
from ..integrator import Report
from ..plan import Plan
from ..snapshot import Snapshot
from . import layout
from .layout import Aims, Data, Network, State, Work
from .stepper import advance, inside
from .tableau import TABLEAUS

#: Operations per evaluation from which on matrix products may use several threads; below, handing work over costs more.
THREADED = 50_000_000


@cache
def blas() -> ThreadpoolController:
    """The BLAS libraries that are loaded by now."""
    return ThreadpoolController()


@dataclass(frozen=True)
class Carry:
    """Changed in place by the compiled code: a carry that was handed to `advance` is used up."""

    state: State
    work: Work


class NumbaIntegrator:
    """Implements :class:`flowsim.engine.integrator.Integrator`."""

    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        problem = reduced.problem
        self._problem = problem
        self._until = scenario.flow.until
        self._network = Network.of(problem, plan.coordinates)
        self._planes = planes(reduced.inputs)
        self._data = Data.of(reduced, self._planes)
        self._tableau = TABLEAUS[plan.solver]
        self._aims = Aims.of(scenario, reduced)
        self._setting = (self._network, self._data, self._tableau, self._aims)
        self._start = self._first_state(reduced)
        self._small = 4 * reduced.inputs.size * len(reduced.direction) < THREADED

    def begin(self) -> Carry:
        carry = self._empty()
        carry.state.y[:] = self._start
        return self.advance(carry, 0.0, 0)

    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        with self._blas_threads():
            advance(stop, attempts, *self._setting, carry.state, carry.work)
        return carry

    def report(self, carry: Carry) -> Report:
        clock, counts = carry.state.clock, carry.state.counts
        reached = bool(counts[layout.REACHED])
        return Report(
            time=float(clock[layout.TIME]),
            step_size=float(clock[layout.STEP]),
            steps=int(counts[layout.ACCEPTED]),
            rejections=int(counts[layout.REJECTED]),
            evaluations=int(counts[layout.EVALUATIONS]),
            events=int(counts[layout.EVENTS]),
            reached=reached_goal(self._until, float(clock[layout.LOG_LOSS])) if reached else "",
            stalled=bool(counts[layout.STALLED]),
            finite=bool(counts[layout.FINITE]),
        )

    def at(self, carry: Carry, time: float) -> Snapshot:
        y = np.empty_like(carry.state.y)
        with self._blas_threads():
            inside(time, self._network, self._data, self._tableau, carry.state, carry.work, y)
        return self._snapshot(time, y, self._sliding(carry.state.begin_count, carry.state.begin_plane))

    def now(self, carry: Carry) -> Snapshot:
        state = carry.state
        sliding = self._sliding(state.slide_count, state.slide_plane)
        return self._snapshot(float(state.clock[layout.TIME]), state.y.copy(), sliding)

    def save(self, carry: Carry) -> dict[str, Any]:
        return {name: array for name, array in carry.state._asdict().items() if array.size}

    def restore(self, saved: dict[str, Any]) -> Carry:
        carry = self._empty()
        for name, array in carry.state._asdict().items():
            if array.size:
                array[:] = saved[name]
        return carry

    def _blas_threads(self) -> AbstractContextManager[Any]:
        return blas().limit(limits=1, user_api="blas") if self._small else nullcontext()

    def _empty(self) -> Carry:
        samples, coordinates = self._data.inputs.shape
        state = State.empty(self._network, self._tableau, len(self._start), coordinates, samples)
        return Carry(state, Work.empty(state, samples))

    def _first_state(self, reduced: Reduced) -> Floats:
        """Rows of y at time 0."""
        weights = self._problem.weights
        y = np.zeros((len(reduced.direction), reduced.direction.shape[1] + 2))
        if self._network.polar:
            y[:, :-2], y[:, -2] = reduced.direction, weights.log_norm
            if self._network.trained and not self._network.balanced:
                y[:, -1] = weights.output_sign * np.exp(weights.output_log - weights.log_norm)
        else:
            y[:, :-2] = np.exp(weights.log_norm)[:, None] * reduced.direction
            if self._network.trained:
                y[:, -1] = self._problem.output
        return y

    def _snapshot(self, time: float, y: Floats, sliding: Booleans | None) -> Snapshot:
        weights = self._problem.weights
        hidden, log_norm, output = y[:, :-2], y[:, -2], y[:, -1]
        size = np.abs(hidden).max(axis=1)
        size = size * np.linalg.norm(hidden / np.where(size > 0, size, 1.0)[:, None], axis=1)
        direction = hidden / np.where(size > 0, size, 1.0)[:, None]
        with np.errstate(divide="ignore"):
            if not self._network.polar:
                log_norm = np.log(np.where(size > 0, size, 1.0))
            if not self._network.trained:
                return Snapshot(time, direction, log_norm, weights.output_sign, weights.output_log, sliding)
            if not self._network.polar:
                return Snapshot(time, direction, log_norm, np.sign(output), np.log(np.abs(output)), sliding)
            ratio = weights.output_sign if self._network.balanced else output
            return Snapshot(time, direction, log_norm, np.sign(ratio), np.log(np.abs(ratio)) + log_norm, sliding)

    def _sliding(self, count: Integers, plane: Integers) -> Booleans | None:
        """(m, n'): the pairs that slide, or None where no pair can."""
        if not self._network.kinked:
            return None
        along = np.zeros((len(count), len(self._planes.first)), dtype=bool)
        for j in np.flatnonzero(count):
            along[j, plane[j, : count[j]]] = True
        return along[:, self._planes.plane]
