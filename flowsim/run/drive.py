"""The loop around compiled chunks of steps: what is kept, when it is saved, and when the run ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..arrays import Booleans
from ..processes import agreed, alone, in_any
from ..scenario import Scenario
from ..solve import Passed, Report
from ..solve.advance import Course
from ..solve.compiling import Clock
from ..solve.equilibrium import Rest
from ..solve.status import Status, judge


class Recording(Protocol):
    """What takes the kept instants."""

    @property
    def room(self) -> int:
        """How many instants it takes at once, at most."""

    def keep(self, passed: Passed) -> str:
        """Keep instants. Returns, in words, the stop condition that the last of them meets; "" for none."""

    def thin(self) -> None:
        """Drop every other kept instant, beginning with the second."""

    @property
    def last_time(self) -> float:
        """Time of the latest kept instant, or log10 of it where that is kept; nan before the first."""

    @property
    def log_loss(self) -> float:
        """log of the loss at the latest kept instant; asked for only where a run may come to rest."""

    @property
    def separated(self) -> bool:
        """Whether all samples were on their own side there; asked for only where the run has come to rest."""


@dataclass
class Run:
    """The state of a stage under way: with the recording, all that a checkpoint needs.

    clock: of the whole run, all stages and members. loose: whether the last kept instant is not one of the schedule's, but
    where the run stopped. rest: tells whether the flow has come to rest; None where that does not end it.
    """

    course: Course
    clock: Clock
    loose: bool = False
    rest: Rest | None = None


def drive(
    scenario: Scenario,
    run: Run,
    recording: Recording,
    progress: Callable[[Report], None],
    checkpoint: Callable[[], None],
    stopped: Booleans,
) -> Status:
    """Integrate until a goal is reached or the run cannot go on. Returns how it ended.

    Between chunks it calls progress with the report, then checkpoint if the run goes on. stopped (1,): ends the run when it
    is set. The instant at which the run stops is always kept.
    """
    course, rest = run.course, run.rest
    at_once, begun = recording.room if rest is None else 1, course.report.tried
    while True:
        ended = stopped if alone() else np.array([in_any(bool(stopped[0]))])
        met, passed = "", course.go_on(_attempts(course, scenario), at_once, ended)
        if passed is not None:
            met = recording.keep(passed)
            if rest is not None:
                by_loss = course.report.loss_clock_from is not None
                rest.note(passed.snapshot[-1], math.nan if by_loss else recording.log_loss, by_loss)
        while course.crowded:
            recording.thin()
            course.schedule.coarsen()
        if course.due and not met and not (rest is not None and rest.settled):
            continue
        progress(course.report)
        # the budget of wall time ends no run before its first step
        (seconds,) = agreed(run.clock.seconds if course.report.tried > begun or ended[0] else 0.0)
        status = judge(scenario, _as_kept(scenario, run, recording, met), seconds, bool(ended[0]))
        if status is not None:
            break
        checkpoint()
    run.loose = recording.last_time != _time_of(course.report)
    if run.loose:
        recording.keep(Passed.of([(course.now, course.report)]))
    return status


def _as_kept(scenario: Scenario, run: Run, recording: Recording, met: str) -> Report:
    """The report, completed by what is known at kept instants: a stop condition that is met, or a flow at rest."""
    report = run.course.report
    if met:
        return replace(report, reached=met)
    if run.rest is None or not run.rest.settled:
        return report
    unseparated = scenario.loss.formulas.endless and not recording.separated
    return replace(report, resting=run.rest.settled, unseparated=unseparated)


def _time_of(report: Report) -> float:
    return report.time if report.log10_time is None else report.log10_time


def _attempts(course: Course, scenario: Scenario) -> int | None:
    """The most steps to try next; None without a budget."""
    limit = scenario.flow.until.steps
    return None if limit is None else limit - course.report.steps
