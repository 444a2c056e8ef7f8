"""The words of verdicts, and the group `claims` of a result as one reads it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

HOLDS, FAILS, OUTSIDE = "holds", "fails", "outside"
NOT_COVERED, VACUOUS, NOT_APPLICABLE = "not_covered", "vacuous", "not_applicable"
#: verdict -> when it is given. The first that is true is the verdict, from the last one of these to the first.
VERDICTS = {
    HOLDS: "the number keeps the bound",
    FAILS: "the number is past the bound",
    NOT_COVERED: "the run does not reach or keep the span that the statement speaks of",
    VACUOUS: "the bound is weaker than what holds trivially",
    OUTSIDE: "a premise is not met",
    NOT_APPLICABLE: "the statement is about something that the run does not have",
}
#: variable -> (long name, type, what stands where a claim has none), along `claim` and the dimension before "_"
PREMISE = {
    "premise_value": ("what the premise bounds, in this run", float, math.nan),
    "premise_bound": ("bound of the premise", float, math.nan),
    "premise_margin": ("how far the value is on the right side of its bound", float, math.nan),
}
CONSTANT = {
    "constant_value": ("a constant of the statement", float, math.nan),
    "constant_origin": ("paper, fitted or chosen", str, ""),
}


def rows(group: xr.Dataset) -> list[dict[str, Any]]:
    """The group `claims`, claim by claim: its variables, `premises` as a list of (name, value, bound, margin), and
    `constants` of (name, value, origin). Of a result of an older layout there are none of either."""
    found = []
    for place, name in enumerate(group["claim"].values):
        row = {str(key): array.values[place] for key, array in group.data_vars.items() if array.dims == ("claim",)}
        found.append(
            {"claim": str(name), **row, "premises": _told(group, "premise", PREMISE, place)}
            | {"constants": _told(group, "constant", CONSTANT, place)}
        )
    return found


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """verdict -> how often it is there, in the order of VERDICTS; those that are not there are left out."""
    told = list(verdicts)
    return {word: told.count(word) for word in VERDICTS if word in told}


def counted(verdicts: Iterable[str]) -> str:
    """Such as "17 hold, 2 fail, 3 outside" """
    words = {"holds": "hold", "fails": "fail"}
    found = counts(verdicts).items()
    return ", ".join(f"{count} {words.get(word, word.replace('_', ' '))}" for word, count in found)


def _told(group: xr.Dataset, dim: str, columns: Mapping[str, Any], place: int) -> list[tuple[Any, ...]]:
    if dim not in group.dims:
        return []
    cells = zip(group[dim].values, *(group[key].values[place] for key in columns), strict=True)
    missing = tuple(nothing for _, _, nothing in columns.values())
    plain = (
        (str(name), *(value if isinstance(value, str) else float(value) for value in values)) for name, *values in cells
    )
    return [
        row
        for row in plain
        if not all(value == none or value != value for value, none in zip(row[1:], missing, strict=True))
    ]
