"""Descent behind the drive's protocol: time is step x iteration, and every instant is at an iteration."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...problem import Reduced
from ...problem.planes import Planes
from ...scenario import Scenario
from ..goals import Goals, lacking, reached_goal
from ..integrator import Report
from ..numba.layout import ACCEPTED, EVALUATIONS, FINITE, LOG_LOSS, REACHED, STALLED, TIME, Aims, Data, Network, State
from ..numba.regime import Regime, purifies
from ..numba.rows import Rows
from ..numba.tableau import TABLEAUS
from ..plan import Plan
from ..snapshot import Snapshot
from .batches import Supply
from .layout import Method, Pieces, room_for
from .stepper import kernel

#: What a carry is saved as.
KEPT = ("y", "ahead", "clock", "counts")

_NONE = np.zeros(0, dtype=np.int64)
#: Without gates, no engine looks at planes.
_NO_PLANES = Planes(_NONE, np.zeros(0), _NONE, _NONE, _NONE)


class DescentIntegrator:
    """Implements :class:`flowsim.solve.integrator.Integrator`. A carry that was handed to `advance` is used up."""

    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        self._until, self._seed, self._reduced = scenario.flow.until, scenario.single_seed, reduced
        self._method = Method.of(scenario, len(reduced.targets), plan.iterations)
        # without gates a pair at 0 is on the active side: ReLU'(0) = 1, as in Li et al. 2025, Section 3
        self._network = Network.of(reduced.problem, plan.coordinates, scenario)._replace(
            kinked=False, square_decay=0.0, cubic_decay=0.0
        )
        mixed = scenario.flow.precision == "mixed"
        self._kernel = kernel(Regime(gates=False, purification=purifies(self._network)), mixed)
        number = np.float32 if mixed else np.float64
        data = Data.of(reduced, _NO_PLANES)
        self._data = data._replace(inputs=cast(Floats, data.inputs.astype(number, copy=False)))
        self._aims = Aims.of(scenario, reduced)
        self._rows = Rows(reduced.problem, self._network)
        self._start = self._rows.first(reduced)
        self._rows.set_time(self._start, plan.origin)
        self._before, self._origin = plan.iterations, plan.origin
        self._supply = Supply.of(scenario, reduced, self._data)
        if self._supply is not None:
            self._data, self._method = self._supply.data, self._method._replace(batch=0, epoch=1)
        batch, empty, outputs = max(self._method.batch, 1), self._empty(), reduced.problem.outputs
        self._room = (
            Pieces.of(self._network, empty, (outputs, len(self._data.targets)), number),
            room_for(batch, self._data),
            Pieces.of(self._network, empty, (outputs, batch), number),
        )
        self._order = 0, self._drawn(0)

    def begin(self) -> State:
        state = self._empty()
        state.y[:] = self._start
        self.advance(state, 0.0, 0)
        if (goals := Goals.of(self._until)).watched:
            log_loss = float(state.clock[LOG_LOSS])
            state.counts[REACHED] = lacking(goals, self._reduced, self.now(state), log_loss) <= 0
        return state

    def advance(self, carry: State, stop: float, attempts: int) -> State:
        counts, method = carry.counts, self._method
        last = int(counts[ACCEPTED]) + attempts
        if self._supply is not None:
            return self._supplied(carry, stop, last, self._supply)
        while True:
            made = int(counts[ACCEPTED])
            # an iteration ends with the gradient of the next one, so the last of an epoch takes the order of the next epoch
            epoch = (self._before + made + bool(attempts)) // method.epoch
            end = min(last, (epoch + 1) * method.epoch - 1 - self._before) if method.batch else last
            self._descend(carry, stop, end, epoch)
            if int(counts[ACCEPTED]) < end or end == last:
                return carry

    def _supplied(self, carry: State, stop: float, last: int, supply: Supply) -> State:
        """Advance by single iterations, each with what it alone sees."""
        while True:
            made = int(carry.counts[ACCEPTED])
            arriving = min(made + 1, last)
            supply.fill(self._before + arriving, self._origin + self._method.step * arriving)
            self._descend(carry, stop, arriving, 0)
            if int(carry.counts[ACCEPTED]) < arriving or arriving == last:
                return carry

    def _descend(self, carry: State, stop: float, last: int, epoch: int) -> None:
        if self._method.batch and self._order[0] != epoch:
            self._order = epoch, self._drawn(epoch)
        self._kernel(*self._arguments(carry, stop, last))

    def _arguments(self, carry: State, stop: float, last: int) -> tuple[Any, ...]:
        setting = (self._method, self._network, self._data, self._aims)
        return (stop, last, self._order[1], *setting, carry, *self._room)

    @property
    def program(self) -> str:
        return self._kernel.name

    def to_compile(self) -> float:
        return self._kernel.missing(self._arguments(self._empty(), 0.0, 0))

    def report(self, carry: State) -> Report:
        clock, counts = carry.clock, carry.counts
        return Report(
            time=float(clock[TIME]),
            step_size=self._method.step,
            steps=int(counts[ACCEPTED]),
            rejections=0,
            evaluations=int(counts[EVALUATIONS]),
            reached=reached_goal(self._until, float(clock[LOG_LOSS])) if counts[REACHED] else "",
            stalled=bool(counts[STALLED]),
            finite=bool(counts[FINITE]),
        )

    def at(self, carry: State, time: float) -> Snapshot:
        assert time == carry.clock[TIME], "between two iterations there is nothing"
        return self.now(carry)

    def now(self, carry: State) -> Snapshot:
        return self._rows.snapshot(float(carry.clock[TIME]), carry.y.copy())

    def save(self, carry: State) -> dict[str, Any]:
        return {name: getattr(carry, name) for name in KEPT}

    def restore(self, saved: dict[str, Any]) -> State:
        state = self._empty()
        for name in KEPT:
            getattr(state, name)[:] = saved[name]
        return state

    def _drawn(self, epoch: int) -> Integers:
        """The order in which an epoch's batches take the samples. Each epoch has a stream of its own, so that any can be
        drawn first."""
        if not self._method.batch:
            return _NONE
        return stream(self._seed, f"flow.batches.{epoch}").permutation(len(self._data.targets))

    def _empty(self) -> State:
        neurons, entries = self._start.shape
        return State.empty(self._network, len(TABLEAUS["dopri5"].a), neurons, entries - 2, (1, 1))
