"""An integration on its way through the instants that are kept of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Booleans, Floats
from .integrator import Flying, Integrator, Passed, Report
from .schedule import Schedule
from .snapshot import Snapshot

#: Wall seconds a chunk of steps should take: short enough for Ctrl-C, long enough to cost nothing.
CHUNK_SECONDS = 0.25
#: No chunk has more steps than this, however fast they are.
MOST_ATTEMPTS = 100_000


@dataclass
class Course:
    """report: where it stands. attempts: the steps of the next chunk; one, until it is known how long a step takes."""

    integrator: Integrator
    carry: Any
    schedule: Schedule
    attempts: int = 1
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        self.report = self.integrator.report(self.carry)

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
        passed = self._through(np.array(ahead or [schedule.bound]), attempts, stopped)
        self.report = self.integrator.report(self.carry)
        if tried := self.report.tried - before.tried:
            seconds = max(time.monotonic() - begun, 1e-6)
            self.attempts = max(1, min(int(tried * CHUNK_SECONDS / seconds), MOST_ATTEMPTS))
        if ahead:
            schedule.index += 0 if passed is None else len(passed)
            return passed
        return Passed.of([self._now()]) if schedule.every_step and self.report.steps > before.steps else None

    def _now(self) -> tuple[Snapshot, Report]:
        return self.integrator.now(self.carry), self.report

    def _through(self, instants: Floats, attempts: int, stopped: Booleans) -> Passed | None:
        if isinstance(self.integrator, Flying):
            return self.integrator.through(self.carry, instants, attempts, stopped)
        passed, last = [], self.report.tried + attempts
        for instant in instants.tolist():
            if self.report.reading < instant and not stopped[0]:
                self.carry = self.integrator.advance(self.carry, instant, last - self.report.tried)
                self.report = self.integrator.report(self.carry)
            if self.report.reading < instant:
                break
            at_its_end = self.report.reading == instant
            passed.append(self._now() if at_its_end else (self.integrator.at(self.carry, instant), self.report))
        return Passed.of(passed) if passed else None
