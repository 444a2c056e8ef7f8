"""The host loop between compiled chunks: what is kept and when, progress, stop conditions, and how a run ended."""

from __future__ import annotations

import math
import signal
import threading
import time as wall
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from .engine import Integrator, Report, Snapshot
from .scenario import Scenario
from .schedule import Schedule

#: Wall seconds a compiled chunk should take: short enough for Ctrl-C, long enough to cost nothing.
CHUNK_SECONDS = 0.25


@dataclass(frozen=True)
class Status:
    """How a run ended. name: one word; cause and remedy: a sentence each; exit_code: what the shell sees."""

    name: str
    cause: str
    remedy: str = ""
    exit_code: int = 0


class Recording(Protocol):
    """Where kept instants go."""

    def keep(self, snapshot: Snapshot, report: Report) -> None: ...

    def thin(self) -> None:
        """Drop every other kept instant, the second first."""

    @property
    def last_time(self) -> float:
        """Time of the latest kept instant; nan before the first."""


@dataclass
class Run:
    """A run under way: all that changes while it is driven, and all that a checkpoint needs beside the recording.

    loose: the last kept instant is where the run stopped, not one of the schedule's.
    """

    carry: Any
    schedule: Schedule
    seconds: float = 0.0
    loose: bool = False


def drive(
    integrator: Integrator,
    scenario: Scenario,
    run: Run,
    recording: Recording,
    progress: Callable[[Report], None],
) -> Status:
    """Integrate until a goal is reached or the promise cannot be kept, and say which.

    progress is called between chunks with the report. The instant at which the run stops is
    always kept.
    """
    before, begun, attempts = run.seconds, wall.monotonic(), 1
    report = integrator.report(run.carry)
    _keep_due(integrator, run, recording, report)
    with _interrupts() as interrupted:
        while True:
            previous, started = report, wall.monotonic()
            run.carry = integrator.advance(run.carry, run.schedule.next, _attempts(attempts, run, scenario, report))
            report = integrator.report(run.carry)
            attempts = _rescale(_tried(report) - _tried(previous), wall.monotonic() - started)
            if run.schedule.every_step and report.steps > previous.steps:
                recording.keep(integrator.now(run.carry), report)
            _keep_due(integrator, run, recording, report)
            run.seconds = before + wall.monotonic() - begun
            progress(report)
            status = _status(scenario, report, run.seconds, interrupted())
            if status is not None:
                break
    run.loose = recording.last_time != report.time
    if run.loose:
        recording.keep(integrator.now(run.carry), report)
    return status


def _keep_due(integrator: Integrator, run: Run, recording: Recording, report: Report) -> None:
    """Keep the scheduled instants up to the time reached."""
    while run.schedule.crowded(report.time):
        recording.thin()
        run.schedule.coarsen()
    while run.schedule.next <= report.time:
        time = run.schedule.next
        snapshot = integrator.now(run.carry) if time == report.time else integrator.at(run.carry, time)
        recording.keep(snapshot, report)
        run.schedule.advance()


def _tried(report: Report) -> int:
    return report.steps + report.rejections


def _attempts(wanted: int, run: Run, scenario: Scenario, report: Report) -> int:
    limit = scenario.flow.until.steps
    left = limit - report.steps if limit is not None else wanted
    return 1 if run.schedule.every_step else max(min(wanted, left), 1)


def _rescale(tried: int, seconds: float) -> int:
    """How many attempts fill a chunk, judged by the last one."""
    return max(1, min(int(tried * CHUNK_SECONDS / max(seconds, 1e-6)), 100_000))


def _status(scenario: Scenario, report: Report, seconds: float, interrupted: bool) -> Status | None:
    """How the run has ended, or None while it goes on."""
    flow, until = scenario.flow, scenario.flow.until
    where = f"at time {report.time:.6g} after {report.steps} steps"
    if until.time is not None and report.time >= until.time:
        return Status("done", f"reached time {until.time:g}")
    if report.reached:
        return Status("done", f"reached {report.reached} {where}")
    if report.stalled and not report.finite:
        return Status(
            "non_finite",
            f"the state stopped being finite {where}",
            "look for a divergence in the last saved instants; a smaller flow.rtol or other flow.coordinates may pass it",
            3,
        )
    if report.stalled and math.isfinite(report.step_size) and report.step_size < 1:
        return Status(
            "step_underflow",
            f"the step size fell to {report.step_size:.3g} {where}",
            "the solver cannot resolve the flow here; try a larger flow.rtol, or tsit5 if the field has jumps",
            3,
        )
    if report.stalled:
        return Status(
            "at_rest",
            f"the flow came to rest {where}",
            "no stop condition can be reached from here; ask for a time instead",
            3,
        )
    if until.steps is not None and report.steps >= until.steps:
        if set(until.goals) == {"steps"}:
            return Status("done", f"made {until.steps} steps")
        others = ", ".join(name for name in until.goals if name != "steps")
        return Status(
            "step_limit",
            f"used its {until.steps} steps {where}, before reaching its {others}",
            "raise flow.until.steps",
            3,
        )
    if flow.wall_time is not None and seconds >= flow.wall_time:
        return Status(
            "wall_time_limit",
            f"used its {flow.wall_time:g} s of wall time {where}",
            "raise flow.wall_time, or continue with --resume",
            3,
        )
    if interrupted:
        return Status("interrupted", f"interrupted {where}", "continue with --resume", 130)
    return None


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that a chunk ends cleanly; a second one interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False
    usual = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, usual)
