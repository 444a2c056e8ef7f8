"""What a sweep would run, before it does: its points, about how much work they are, and how much they keep."""

from __future__ import annotations

from typing import Any

from ..gate import duration, size
from ..run.cost import EVALUATIONS
from ..scenario import Scenario
from ..threads import cores
from .batches import batches, estimate
from .cost import check_time, seconds
from .plan import plan, shown

#: The table shows so many values of a key, and so many points at each of its ends.
LISTED, ROWS = 8, 3


def outlook(scenario: Scenario) -> dict[str, Any]:
    """Facts about a sweep, for `flowsim check`. Raises as `plan` does, and ScenarioError where it takes too long with a
    worker for each core."""
    planned = plan(scenario)
    points = planned.points
    of_each = estimate(planned, points)
    check_time(planned, of_each, len(points), cores())
    together = batches(planned, points, of_each, workers=1)
    return {
        "points": len(points),
        "dimensions": {axis.name: len(axis) for axis in planned.axes},
        "values": {key: list(values) for axis in planned.axes for key, values in axis.values.items()},
        "rows": [dict(point.values) for point in points],
        "largest_flight": max(len(flight.points) for batch in together for flight in batch.flights),
        "estimated_from": of_each.sampled,
        "operations": of_each.operations * len(points),
        "core_seconds": seconds(of_each, len(points), workers=1),
        "workers": cores(),
        "seconds": seconds(of_each, len(points), cores()),
        "point_bytes": of_each.memory,
        "kept_bytes": of_each.bytes * len(points),
    }


def table(facts: dict[str, Any]) -> list[str]:
    """The same in lines of text."""
    sizes = " x ".join(f"{length} {name}" for name, length in facts["dimensions"].items())
    lines = [f"sweep        {facts['points']} points: {sizes}"]
    lines += [f"  {key:<24} {_listed(values)}" for key, values in facts["values"].items()]
    keys = [*facts["values"]]
    rows = [[shown(row[key]) for key in keys] for row in facts["rows"]]
    picked = rows if len(rows) <= 2 * ROWS + 1 else [*rows[:ROWS], ["…"] * len(keys), *rows[-ROWS:]]
    widths = [max(map(len, column)) for column in zip(keys, *picked, strict=True)]
    lines += [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [keys, *picked]
    ]
    work = facts["core_seconds"]
    lines.append(
        f"in all       about {facts['operations'] / 1e9:.3g} Gflop, of the order of {duration(work)} of one core "
        f"(flows reckoned with {EVALUATIONS} evaluations; from {facts['estimated_from']} points)"
    )
    if facts["largest_flight"] > 1:
        lines.append("families     points that differ in their seed alone run together, as ensembles")
    workers, at_once = facts["workers"], min(facts["workers"], facts["points"])
    memory = f"{size(at_once * facts['point_bytes'])} of {at_once} at once, beside that of their processes"
    return [
        *lines,
        f"time         of the order of {duration(facts['seconds'])} with --workers {workers}, as many as there are cores",
        f"memory       about {memory}",
        f"disk         at most about {size(facts['kept_bytes'])} in all",
    ]


def _listed(values: list[Any]) -> str:
    texts = [shown(value) for value in values]
    if len(texts) <= LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[: LISTED - 2])}, …, {texts[-1]} ({len(texts)} values)"
