"""What a sweep would run, before it does: its points, about how much work they are, and how much they keep."""

from __future__ import annotations

from typing import Any

from ..run.outlook import EVALUATIONS
from ..scenario import Scenario
from .batches import batches, estimate
from .plan import plan, shown

#: Operations that a core is reckoned to do in a second, and the seconds that a point takes beside them.
SPEED, OVERHEAD = 3e9, 0.02
#: The table shows so many values of a key, and so many points at each of its ends.
LISTED, ROWS = 8, 3


def outlook(scenario: Scenario) -> dict[str, Any]:
    """Facts about a sweep, for `flowsim check`. Raises as `plan` does."""
    planned = plan(scenario)
    points = planned.points
    of_each = estimate(planned, points)
    together = batches(planned, points, of_each, workers=1)
    return {
        "points": len(points),
        "dimensions": {axis.name: len(axis) for axis in planned.axes},
        "values": {key: list(values) for axis in planned.axes for key, values in axis.values.items()},
        "rows": [dict(point.values) for point in points],
        "largest_flight": max(len(flight.points) for batch in together for flight in batch.flights),
        "estimated_from": of_each.sampled,
        "operations": of_each.operations * len(points),
        "core_seconds": (of_each.operations / SPEED + OVERHEAD) * len(points),
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
        f"in all       about {facts['operations'] / 1e9:.3g} Gflop, of the order of {_duration(work)} of one core "
        f"(flows reckoned with {EVALUATIONS} evaluations; from {facts['estimated_from']} points)"
    )
    if facts["largest_flight"] > 1:
        lines.append("families     points that differ in their seed alone run together, as ensembles")
    lines.append(f"disk         at most about {_size(facts['kept_bytes'])} in all")
    return lines


def _listed(values: list[Any]) -> str:
    texts = [shown(value) for value in values]
    if len(texts) <= LISTED:
        return ", ".join(texts)
    return f"{', '.join(texts[: LISTED - 2])}, …, {texts[-1]} ({len(texts)} values)"


def _duration(seconds: float) -> str:
    for length, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}"
    return f"{max(seconds, 1):.0f} seconds"


def _size(count: float) -> str:
    return f"{count / 2**20:.1f} MiB" if count < 2**30 else f"{count / 2**30:.2f} GiB"
