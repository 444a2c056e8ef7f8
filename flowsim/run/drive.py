"""The host loop between compiled chunks: what is kept and when, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time as wall
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

    def keep(self, snapshot: Snapshot, report: Report) -> None: ...

    def thin(self) -> None:
        """Drop every other kept instant, the second first."""

    @property
    def last_time(self) -> float:
        """Time of the latest kept instant, or log10 of it where that is kept; nan before the first."""

    @property
    def met(self) -> str:
        """The stop condition that is watched at kept instants and that the latest has met, in words; "" for none."""

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
    _keep_due(integrator, run, recording, report)
    while True:
        previous, started = report, wall.monotonic()
        run.carry = integrator.advance(run.carry, run.schedule.next, _attempts(pace.attempts, run, scenario, report))
        report = integrator.report(run.carry)
        pace.note(report.tried - previous.tried, wall.monotonic() - started)
        if run.schedule.every_step and report.steps > previous.steps:
            _keep(run, recording, integrator.now(run.carry), report)
        _keep_due(integrator, run, recording, report)
        progress(report)
        status = judge(scenario, _as_kept(scenario, report, run, recording), run.clock.seconds, stopped())
        if status is not None:
            break
        checkpoint()
    run.loose = recording.last_time != _time_of(report)
    if run.loose:
        recording.keep(integrator.now(run.carry), report)
    return status


def _as_kept(scenario: Scenario, report: Report, run: Run, recording: Recording) -> Report:
    """The report, with what kept instants say: that a stop condition is met, or that the flow rests."""
    if recording.met:
        return replace(report, reached=recording.met)
    if run.rest is None or not run.rest.settled:
        return report
    unseparated = scenario.loss.formulas.endless and not recording.separated
    return replace(report, resting=run.rest.settled, unseparated=unseparated)


def _keep(run: Run, recording: Recording, snapshot: Snapshot, report: Report) -> None:
    recording.keep(snapshot, report)
    if run.rest is not None:
        run.rest.note(snapshot, recording.log_loss, by_loss=report.loss_clock_from is not None)


def _time_of(report: Report) -> float:
    return report.time if report.log10_time is None else report.log10_time


def _keep_due(integrator: Integrator, run: Run, recording: Recording, report: Report) -> None:
    """Keep the scheduled instants up to the time reached, or to the first that meets a stop condition or is at rest."""
    schedule, reading = run.schedule, report.reading
    while schedule.crowded(reading):
        recording.thin()
        schedule.coarsen()
    while (due := schedule.next) <= reading:
        snapshot = integrator.now(run.carry) if due == reading else integrator.at(run.carry, due)
        _keep(run, recording, snapshot, report)
        schedule.advance()
        if recording.met or (run.rest is not None and run.rest.settled):
            break


def _attempts(wanted: int, run: Run, scenario: Scenario, report: Report) -> int:
    limit = scenario.flow.until.steps
    left = limit - report.steps if limit is not None else wanted
    return 1 if run.schedule.every_step else max(min(wanted, left), 1)


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
