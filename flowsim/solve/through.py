"""From time 0 through fixed instants without coming back to the host in between, as the members of an ensemble go."""

from __future__ import annotations

import time as wall

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from .integrator import COUNTS, Flown, Flying, Integrator, Report
from .pace import Pace
from .snapshot import Snapshot


def fly(integrator: Integrator, instants: Floats, limit_steps: int | None, stopped: NDArray[np.bool_]) -> Flown:
    """Integrate from time 0 until the last of the instants, a goal, `limit_steps` accepted steps, or no step is possible.

    instants (T,): increasing, the first one 0, the last one the time at which the integrator ends. stopped (1,): set from
    another thread, it ends the flight soon; it may never have left time 0 then.
    An engine that has a loop of its own for this runs that one.
    """
    if isinstance(integrator, Flying):
        return integrator.fly(instants, limit_steps, stopped)
    carry = integrator.begin()
    report = integrator.report(carry)
    pace = Pace()
    snapshots: list[Snapshot] = []
    reports: list[Report] = []
    for instant in instants.tolist():
        while report.time < instant and not (_over(report, limit_steps) or stopped[0]):
            previous, started = report, wall.monotonic()
            left = pace.attempts if limit_steps is None else limit_steps - report.steps
            carry = integrator.advance(carry, instant, min(pace.attempts, left))
            report = integrator.report(carry)
            pace.note(report.tried - previous.tried, wall.monotonic() - started)
        if report.time < instant:
            break
        snapshots.append(integrator.now(carry) if report.time == instant else integrator.at(carry, instant))
        reports.append(report)
    numerics = {name: np.array([getattr(report, name) for report in reports]) for name in COUNTS}
    return Flown(Snapshot.stack(snapshots), numerics, report, integrator.now(carry))


def _over(report: Report, limit_steps: int | None) -> bool:
    return bool(report.reached) or report.stalled or (limit_steps is not None and report.steps >= limit_steps)
