"""An integration on its way through the instants that are kept of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Booleans, Floats
from ..processes import agreed
from .ending import end_within
from .integrator import Dense, Flying, Inside, Integrator, Passed, Report
from .schedule import Schedule
from .snapshot import Snapshot

#: Wall seconds a chunk of steps should take: short enough for Ctrl-C, long enough to cost nothing.
CHUNK_SECONDS = 0.25
#: No chunk has more steps than this, however fast they are.
MOST_ATTEMPTS = 100_000


@dataclass
class Course:
    """report: where it stands; a flow that has met a goal of loss or alignment stands where it did, within the last step.
    attempts: the steps of the next chunk; one, until it is known how long a step takes."""

    integrator: Integrator
    carry: Any
    schedule: Schedule
    attempts: int = 1
    report: Report = field(init=False)
    _end: Inside | None = None
    _sought: bool = False  # the end, within the step that met a goal

    def __post_init__(self) -> None:
        self.report = self.integrator.report(self.carry)

    @cached_property
    def _flying(self) -> Flying | None:
        """The integrator, where it goes through instants by itself. Python takes long to answer what it looks like."""
        return self.integrator if isinstance(self.integrator, Flying) else None

    @cached_property
    def _dense(self) -> Dense | None:
        return self.integrator if isinstance(self.integrator, Dense) else None

    @property
    def now(self) -> Snapshot:
        """The state where it stands."""
        return self.integrator.now(self.carry) if self._end is None else self._end.snapshot

    @property
    def due(self) -> bool:
        """Whether an instant has been reached that `go_on` has still to give."""
        return self.schedule.next <= self.report.reading

    @property
    def crowded(self) -> bool:
        """Whether every other instant that it gave should be dropped, and the schedule coarsened, before it goes on."""
        return self.schedule.bound <= self.report.reading

    def go_on(self, most: int | None, instants: int, stopped: Booleans) -> Passed | None:
        """Try a chunk of steps through the instants that come next; which of them were passed, None where none was.

        It ends early where so many instants were passed (before its first step, where they were reached already), `most`
        steps were tried, a goal is met, no step is possible, or stopped[0] is set, from another thread, too.
        """
        schedule, before, begun = self.schedule, self.report, time.monotonic()
        if schedule.every_step:
            instants = most = 1
        ahead = schedule.ahead(instants)
        attempts = self.attempts if most is None else max(min(self.attempts, most), 1)
        readings = np.array(ahead or [schedule.bound])
        passed = self._through(readings, attempts, stopped)
        self.report = self._standing(self.integrator.report(self.carry))
        if passed is not None and self._end is not None:
            kept = int((readings[: len(passed)] <= self.report.reading).sum())
            passed = passed[:kept] if kept else None
        if tried := self.report.tried - before.tried:
            seconds = max(time.monotonic() - begun, 1e-6)
            (most_of_chunk,) = agreed(max(1, min(int(tried * CHUNK_SECONDS / seconds), MOST_ATTEMPTS)))
            self.attempts = int(most_of_chunk)
        if ahead:
            schedule.index += 0 if passed is None else len(passed)
            return passed
        stepped = schedule.every_step and self.report.steps > before.steps
        return Passed.of([(self.now, self.report)]) if stepped else None

    def _standing(self, report: Report) -> Report:
        """The report of the integrator, or the one of the instant at which its last step has met a goal."""
        if self._dense is None:
            return report
        if report.reached and report.tried and not self._sought:
            end, self._sought = end_within(self._dense, self.carry), True
            # a step of the loss clock may go past the latest time
            self._end = end if end is not None and end.snapshot.time <= report.time else None
        if self._end is None:
            return report
        return replace(
            report,
            time=float(self._end.snapshot.time),
            log10_time=self._end.snapshot.log10_time,
            clock=None if report.clock is None else self._end.reading,
            reached=self._dense.goal(self._end.log_loss),
        )

    def _through(self, instants: Floats, attempts: int, stopped: Booleans) -> Passed | None:
        if self._flying is not None:
            return self._flying.through(self.carry, instants, attempts, stopped)
        passed, last = [], self.report.tried + attempts
        for instant in instants.tolist():
            if self.report.reading < instant and not stopped[0] and self._end is None:
                self.carry = self.integrator.advance(self.carry, instant, last - self.report.tried)
                self.report = self.integrator.report(self.carry)
            if self.report.reading < instant:
                break
            at_its_end = self.report.reading == instant
            state = self.integrator.now(self.carry) if at_its_end else self.integrator.at(self.carry, instant)
            passed.append((state, self.report))
        return Passed.of(passed) if passed else None
