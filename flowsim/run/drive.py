"""The host loop between compiled chunks: what is kept and when, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..scenario import Scenario
from ..solve import Integrator, Report, Snapshot
from ..solve.compiling import Clock
from ..solve.pace import Pace
from ..solve.rest import Rest
from ..solve.schedule import Schedule
from ..solve.status import Status, judge


class Recording(Protocol):
    """Where kept instants go."""

    def keep(self, snapshot: Snapshot, report: Report) -> str:
        """The stop condition that is watched at kept instants and that this one meets, in words; "" for none."""

    def thin(self) -> None:
        """Drop every other kept instant, the second first."""

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
    """A stage under way: all that changes while it is driven, and all that a checkpoint needs beside the recording.

    clock: of the whole run, all stages and members. loose: the last kept instant is where the run stopped, not one of the
    schedule's. rest: what tells whether it has come to rest, where that is to end it.
    """

    carry: Any
    schedule: Schedule
    clock: Clock
    loose: bool = False
    rest: Rest | None = None


def drive(
    integrator: Integrator,
    scenario: Scenario,
    run: Run,
    recording: Recording,
    progress: Callable[[Report], None],
    checkpoint: Callable[[], None],
    stopped: Callable[[], bool],
) -> Status:
    """Integrate until a goal is reached or the promise cannot be kept, and say which.

    Between chunks progress is called with the report, stopped says whether to stop there, and where the run goes on
    checkpoint is called. The instant at which the run stops is always kept.
    """
    pace, report = Pace(), integrator.report(run.carry)
    met = _keep_due(integrator, run, recording, report)
    while True:
        before = report.steps
        attempts = _attempts(run, scenario, report)
        run.carry, report = pace.advance(integrator, run.carry, report, run.schedule.next, attempts)
        if run.schedule.every_step and report.steps > before:
            met = _keep(run, recording, integrator.now(run.carry), report)
        met = _keep_due(integrator, run, recording, report) or met
        progress(report)
        status = judge(scenario, _as_kept(scenario, report, run, recording, met), run.clock.seconds, stopped())
        if status is not None:
            break
        checkpoint()
    run.loose = recording.last_time != _time_of(report)
    if run.loose:
        recording.keep(integrator.now(run.carry), report)
    return status


def _as_kept(scenario: Scenario, report: Report, run: Run, recording: Recording, met: str) -> Report:
    """The report, with what kept instants say: that a stop condition is met, or that the flow rests."""
    if met:
        return replace(report, reached=met)
    if run.rest is None or not run.rest.settled:
        return report
    unseparated = scenario.loss.formulas.endless and not recording.separated
    return replace(report, resting=run.rest.settled, unseparated=unseparated)


def _keep(run: Run, recording: Recording, snapshot: Snapshot, report: Report) -> str:
    """Keep an instant; the stop condition that it meets."""
    met = recording.keep(snapshot, report)
    if run.rest is not None:
        run.rest.note(snapshot, recording.log_loss, by_loss=report.loss_clock_from is not None)
    return met


def _time_of(report: Report) -> float:
    return report.time if report.log10_time is None else report.log10_time


def _keep_due(integrator: Integrator, run: Run, recording: Recording, report: Report) -> str:
    """Keep the scheduled instants up to the time reached, or to the first that meets a stop condition, which is returned,
    or is at rest."""
    reading, met = report.reading, ""
    while run.schedule.crowded(reading):
        recording.thin()
        run.schedule.coarsen()
    while not met and (due := run.schedule.next) <= reading:
        snapshot = integrator.now(run.carry) if due == reading else integrator.at(run.carry, due)
        met = _keep(run, recording, snapshot, report)
        run.schedule.advance()
        if run.rest is not None and run.rest.settled:
            break
    return met


def _attempts(run: Run, scenario: Scenario, report: Report) -> int | None:
    """The most steps to try next; None where any number will do."""
    if run.schedule.every_step:
        return 1
    limit = scenario.flow.until.steps
    return None if limit is None else limit - report.steps


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C, or a batch system's SIGTERM, into a flag, so that a chunk ends cleanly.

    A second one acts at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    told = False
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    def note(number: int, frame: object) -> None:
        nonlocal told
        told = True
        restore()

    for number in usual:
        signal.signal(number, note)
    try:
        yield lambda: told
    finally:
        restore()
