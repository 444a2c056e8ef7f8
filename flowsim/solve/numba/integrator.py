"""The Numba engine behind the protocol of all engines."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...problem import Reduced
from ...problem.planes import planes
from ...scenario import Scenario
from ..goals import Goals, lacking, reached_goal
from ..integrator import Inside, Passed, Report
from ..plan import GOING_OVER, Plan
from ..snapshot import Snapshot
from . import layout
from .layout import Aims, Data, Log, Network, State, Work
from .regime import Regime
from .rows import Rows
from .stepper import ADVANCE, INSIDE, LARGEST, THROUGH, WITHIN, kernel
from .tableau import SOLVERS

#: name of integrator.COUNTS -> its place in the state's counts
COUNTED = {
    "steps": layout.ACCEPTED,
    "rejections": layout.REJECTED,
    "evaluations": layout.EVALUATIONS,
    "updates": layout.UPDATES,
    "events": layout.EVENTS,
}
_NO_INSTANTS, _NOT_STOPPED = np.zeros(0), np.zeros(1, dtype=np.bool_)


@dataclass(frozen=True)
class Carry:
    """Changed in place by the compiled code: a carry that was handed to `advance` is used up."""

    state: State
    work: Work

    @property
    def kept(self) -> dict[str, Any]:
        """Everything that the next step depends on, by name: the state, pulls and forces onto sliding planes at its start,
        and neurons that have to turn first."""
        work, kept = self.work, {name: array for name, array in self.state._asdict().items() if array is not None}
        if self.state.gate is None:
            return kept
        forces = {"slide_z": work.slide_z[0], "slide_cap": work.slide_cap[0], "pull": work.pulls[:1]}
        return {**kept, **forces, "flagged": work.flagged, "size": work.size}


class NumbaIntegrator:
    """Implements :class:`flowsim.solve.integrator.Dense` and :class:`flowsim.solve.integrator.Flying`."""

    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        problem = reduced.problem
        self._until, self._outputs, self._reduced = scenario.flow.until, problem.outputs, reduced
        self._network = Network.of(problem, plan.coordinates, scenario)
        self._planes = planes(reduced.inputs)
        self._data = Data.of(reduced, self._planes)
        self._clock, self._by_clock = plan.clock, plan.reading != "time"
        self._loss_clock = plan.clock != "time"  # now or later
        self._setting = (
            self._network,
            self._data,
            SOLVERS[plan.solver],
            Aims.of(scenario, reduced, plan.reading),
        )
        self._kernel = kernel(Regime.of(self._network, SOLVERS[plan.solver], self._loss_clock))
        self._rows = Rows(problem, self._network)
        self._start = self._rows.first(reduced)
        self._rows.set_time(self._start, plan.origin)
        self._no_log = self._log(0)

    def begin(self) -> Carry:
        carry = self._empty()
        carry.state.y[:] = self._start
        carry.state.counts[layout.LOSS_CLOCK] = self._clock == "loss"
        carry.state.counts[layout.GOES_OVER] = self._clock == GOING_OVER
        self.advance(carry, 0.0, 0)
        if (goals := Goals.of(self._until)).watched:
            log_loss = float(carry.state.clock[layout.LOG_LOSS])
            carry.state.counts[layout.REACHED] = lacking(goals, self._reduced, self.now(carry), log_loss) <= 0
        return carry

    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        self._ask(ADVANCE, carry, reading=stop, attempts=attempts)
        return carry

    def through(self, carry: Carry, instants: Floats, attempts: int, stopped: Booleans) -> Passed | None:
        log = self._log(len(instants))
        count = int(self._ask(THROUGH, carry, attempts=attempts, instants=instants, stopped=stopped, log=log))
        if not count:
            return None
        numerics = {name: log.counts[:count, place] for name, place in COUNTED.items()}
        sliding = log.sliding[:count, :, self._planes.plane] if self._network.kinked else None
        time, log_time = instants[:count], log.log_time[:count]
        if self._by_clock:
            time = _exp(log_time)
        log10_time = log_time / np.log(10) if self._loss_clock else None
        snapshot = self._rows.snapshot(time, log.y[:count], sliding, log10_time)
        return Passed(snapshot, {**numerics, "step_size": log.step[:count]})

    def report(self, carry: Carry) -> Report:
        clock, counts = carry.state.clock, carry.state.counts
        reached = bool(counts[layout.REACHED])
        counted: dict[str, Any] = {name: int(counts[place]) for name, place in COUNTED.items()}
        return Report(
            time=min(float(clock[layout.FLOW_TIME]), self._setting[3].end),
            step_size=float(clock[layout.STEP]),
            **counted,
            reached=self.goal(float(clock[layout.LOG_LOSS])) if reached else "",
            stalled=bool(counts[layout.STALLED]),
            finite=bool(counts[layout.FINITE]),
            log10_time=self._log10_time(carry) if self._loss_clock else None,
            clock=float(clock[layout.READING]) if self._by_clock else None,
            unseparated=bool(counts[layout.UNSEPARATED]),
            loss_clock_from=float(clock[layout.LOSS_CLOCK_FROM]) if counts[layout.LOSS_CLOCK] else None,
        )

    def at(self, carry: Carry, reading: float) -> Snapshot:
        y = np.empty_like(carry.state.y)
        log_time = self._ask(INSIDE, carry, reading=reading, y=y)
        return self._seen(carry, y, float(_exp(log_time)) if self._by_clock else reading, log_time)

    def within(self, carry: Carry, part: float) -> Inside:
        clock, y = carry.state.clock, np.empty_like(carry.state.y)
        made = part * (clock[layout.TIME] - clock[layout.BEGIN])  # an event may have cut off the rest
        log_time = self._ask(WITHIN, carry, reading=made / clock[layout.LENGTH], y=y)
        reading = float(clock[layout.BEGIN] + made)
        time = float(_exp(log_time)) if carry.state.counts[layout.LOSS_CLOCK] else reading
        if self._setting[3].reading != layout.BY_CLOCK:
            reading = log_time / np.log(10) if self._by_clock else min(time, LARGEST)
        snapshot, log_loss = self._seen(carry, y, time, log_time), self._log_loss(y)
        return Inside(snapshot, reading, log_loss, lacking(Goals.of(self._until), self._reduced, snapshot, log_loss))

    def goal(self, log_loss: float) -> str:
        return reached_goal(self._until, log_loss)

    def cautious(self, carry: Carry, part: float) -> Carry:
        carry.state.clock[layout.STEP] *= part
        return carry

    def _log_loss(self, y: Floats) -> float:
        """Of what is trained on, at a state."""
        there = self._empty()
        there.state.y[:] = y
        return float(self.advance(there, 0.0, 0).state.clock[layout.LOG_LOSS])

    def _seen(self, carry: Carry, y: Floats, time: float, log_time: float) -> Snapshot:
        """The snapshot of what the kernel has looked at within a step."""
        log10_time = log_time / np.log(10) if self._loss_clock else None
        sliding = self._sliding(carry.state.seen_count, carry.state.seen_plane)
        return self._rows.snapshot(time, y, sliding, log10_time)

    def now(self, carry: Carry) -> Snapshot:
        state, end = carry.state, self._setting[3].end
        if state.clock[layout.FLOW_TIME] > end:
            return self.at(carry, end)
        if state.counts[layout.TURNS]:  # on a copy: instants within the step are still to be seen with its own gates
            return self.now(self.advance(deepcopy(carry), 0.0, 0))
        sliding = self._sliding(state.slide_count, state.slide_plane)
        log10_time = self._log10_time(carry) if self._loss_clock else None
        return self._rows.snapshot(float(state.clock[layout.FLOW_TIME]), state.y.copy(), sliding, log10_time)

    def _log10_time(self, carry: Carry) -> float:
        clock, end = carry.state.clock, self._setting[3].end
        if not carry.state.counts[layout.LOSS_CLOCK]:
            with np.errstate(divide="ignore"):
                return float(np.log10(clock[layout.TIME]))
        return min(float(clock[layout.LOG_TIME]), np.log(end)) / np.log(10)

    def save(self, carry: Carry) -> dict[str, Any]:
        return carry.kept

    def restore(self, saved: dict[str, Any]) -> Carry:
        carry = self._empty()
        for name, array in carry.kept.items():
            array[:] = saved[name]
        return carry

    @property
    def program(self) -> str:
        return self._kernel.name

    def to_compile(self) -> float:
        return self._kernel.missing(self._arguments(ADVANCE, self._empty()))

    def _ask(self, task: int, carry: Carry, **asked: Any) -> float:
        return float(self._kernel(*self._arguments(task, carry, **asked)))

    def _arguments(
        self,
        task: int,
        carry: Carry,
        *,
        reading: float = 0.0,
        attempts: int = 0,
        instants: Floats = _NO_INSTANTS,
        stopped: Booleans = _NOT_STOPPED,
        y: Floats | None = None,
        log: Log | None = None,
    ) -> tuple[Any, ...]:
        state = carry.state
        return (
            task,
            float(reading),
            int(attempts),
            instants,
            stopped,
            *self._setting,
            state,
            carry.work,
            state.y if y is None else y,
            self._no_log if log is None else log,
        )

    def _log(self, instants: int) -> Log:
        return Log.empty(instants, self._network, self._start.shape, len(self._planes.first))

    def _empty(self) -> Carry:
        samples, coordinates = self._data.inputs.shape
        shape = (self._outputs, samples)
        state = State.empty(self._network, self._setting[2].stages, len(self._start), coordinates, shape)
        return Carry(state, Work.empty(self._network, state, shape))

    def _sliding(self, count: Integers | None, plane: Integers | None) -> Booleans | None:
        """(m, n'): the pairs that slide, or None where no pair can."""
        if count is None or plane is None:
            return None
        along = np.zeros((len(count), len(self._planes.first)), dtype=bool)
        for j in np.flatnonzero(count):
            along[j, plane[j, : count[j]]] = True
        return along[:, self._planes.plane]


def _exp(log_time: Any) -> Any:
    """Flow time, inf where it is no float any more."""
    with np.errstate(over="ignore"):
        return np.exp(log_time)
