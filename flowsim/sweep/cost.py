"""What a whole sweep takes in time and in memory; what cannot fit is refused before its first point."""

from __future__ import annotations

import math

from ..errors import UsageError
from ..gate import duration, limit, raised, size
from .batches import Estimate
from .plan import Plan

#: Seconds that a point takes beside its own, of a process that is shared by many.
OVERHEAD = 0.02


def seconds(of_each: Estimate, points: int, workers: int) -> float:
    """Of so many points, shared out evenly."""
    return (of_each.seconds + OVERHEAD) * points / max(min(workers, points), 1)


def check_time(planned: Plan, of_each: Estimate, points: int, workers: int) -> None:
    """Raise ScenarioError, at the key that makes most points, where these take longer than the limit."""
    taken, most = seconds(of_each, points, workers), limit("seconds")
    if taken <= most:
        return
    key, count = _longest(planned)
    fits = math.floor(count * most / taken)
    advice = f"; at most about {fits} of its {count} values fit" if fits else ""
    told = (
        f"{points} points of about {duration(of_each.seconds)} would take of the order of {duration(taken)} with {workers} "
        f"worker{'s' if workers > 1 else ''}, and {duration(most)} is the limit{advice}, or more --workers, or "
        f"{raised('seconds', taken)}"
    )
    raise planned.scenario.error((key, told))


def check_memory(of_each: Estimate, points: int, workers: int) -> None:
    """Raise UsageError where so many points at once, on this machine, take more memory than there is."""
    at_once, most = min(workers, points), limit("memory")
    if at_once * of_each.memory > most:
        fits = max(math.floor(most / of_each.memory), 1)
        raise UsageError(
            f"{at_once} points at once would take {size(at_once * of_each.memory)}, and {size(most)} of memory is "
            f"available; --workers {fits} fits"
        )


def _longest(planned: Plan) -> tuple[str, int]:
    """(the key of [sweep] with most values, how many)"""
    axis = max(planned.axes, key=len)
    if planned.scenario.sweep.points and axis.name not in planned.scenario.sweep.grid:
        return "sweep.points", len(axis)
    table = "grid" if axis.name in planned.scenario.sweep.grid else "zip"
    key = next(iter(axis.values))
    return f'sweep.{table}."{key}"', len(axis)
