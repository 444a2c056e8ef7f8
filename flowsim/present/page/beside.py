"""Several runs in one view: what differs between them, their phases and claims as tables, their curves on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Floats
from ...evaluate.phases import moment
from ...evaluate.spans import STAGES
from ...markup import escape, table
from ..run import Run, number
from ..side_by_side import CLOCKS
from .sections import SIGNS

#: A logarithmic axis is for what is positive, and whose largest value is so many times the smallest.
WIDE = 100.0
#: What a cell without a value shows.
NOTHING = "—"


def parts(beside: xr.Dataset, runs: Sequence[Run]) -> str:
    """The sections before the columns of single runs."""
    names = tuple(run.name for run in runs)
    drawn = quantities(beside)
    sections = (
        ("differences", "What differs", _settings(beside, names) + _matched(beside, names)),
        ("overlaid", "Curves on one axis", _chooser() + _figures(drawn)),
        ("phases-of-all", "Phases of all runs", _phases(beside, names)),
        ("final-of-all", "Final values of all runs", _final(beside, names)),
        ("claims-of-all", "Claims on all runs", _claims(beside, names)),
    )
    return "".join(
        f'<section id="{key}"><h2>{heading}</h2>{content}</section>' for key, heading, content in sections if content
    )


def numbers(beside: xr.Dataset) -> dict[str, Any]:
    """What the script draws: of every quantity a curve for each run, over each clock."""
    clocks = [{"key": key, "label": words, "at": beside[key].values} for key, words in CLOCKS.items()]
    return {
        "runs": [str(name) for name in beside["run"].values],
        "clocks": clocks,
        "parts": [name.replace("_", "-") for name in STAGES],
        "quantities": [
            {"key": name, "y": meaning, "curves": values, "log": _is_wide(values)}
            for name, meaning, values in quantities(beside)
        ],
    }


def quantities(beside: xr.Dataset) -> list[tuple[str, str, Floats]]:
    """(name, what it is, (run, instant)) of those that any run has."""
    values = beside["curve"].transpose("quantity", "run", "instant").values
    named = zip(beside["quantity"].values, beside["meaning"].values, values, strict=True)
    return [(str(name), str(meaning), one) for name, meaning, one in named if np.isfinite(one).any()]


def _is_wide(values: Floats) -> bool:
    there = values[np.isfinite(values)]
    return bool((there > 0).all() and there.max() > WIDE * there.min())


def _settings(beside: xr.Dataset, names: tuple[str, ...]) -> str:
    if not beside.sizes["key"]:
        return "<p>No key of the scenarios differs.</p>"
    rows = zip(beside["key"].values, beside["setting"].transpose("key", "run").values, strict=True)
    return table(("key", *names), ((key, *(value or NOTHING for value in row)) for key, row in rows), 'class="stack"')


def _matched(beside: xr.Dataset, names: tuple[str, ...]) -> str:
    """Whether neurons of the first run can be followed into the others, and how far they get from each other."""
    lines = []
    for place, name in enumerate(names[1:], start=1):
        pair, why = f"{escape(names[0])} and {escape(name)}", str(beside["why_not_matched"].values[place])
        if why:
            lines.append(f"<p>The neurons of {pair} are not matched: {escape(why)}.</p>")
            continue
        apart = beside["distance"].isel(run=place)
        told = [
            f"{str(measure).replace('_', ' ')} {number(float(value))}"
            for measure, value in zip(apart["measure"].values, apart.values, strict=True)
            if not np.isnan(value)
        ]
        lines.append(
            f"<p>The neurons of {pair} are the same ones on the same data. Largest: {escape(', '.join(told))}.</p>"
        )
    return "".join(lines)


def _chooser() -> str:
    options = "".join(f'<option value="{key}">{escape(words)}</option>' for key, words in CLOCKS.items())
    return (
        f'<p><label>clock <select id="clock">{options}</select></label></p>'
        "<p>A run that has no number on a clock, such as one without phases, is not drawn on it.</p>"
    )


def _figures(drawn: Sequence[tuple[str, str, Floats]]) -> str:
    figures = "".join(
        f'<figure><h3>{escape(name.replace("_", " "))}</h3><div class="plot" id="overlaid-{escape(name)}" role="img" '
        f'aria-label="{escape(meaning)} of every run"></div></figure>'
        for name, meaning, _ in drawn
    )
    return f'<div class="grid">{figures}</div>'


def _phases(beside: xr.Dataset, names: tuple[str, ...]) -> str:
    """In the order in which the first run that reaches them does."""
    instants = beside["phase_instant"].transpose("phase", "run").values
    logs = beside["phase_log10_instant"].transpose("phase", "run").values
    order = np.argsort(np.where(np.isnan(logs), np.inf, logs).min(axis=1), kind="stable")

    def cell(instant: float, log: float) -> str:
        if np.isnan(instant):
            return "not reached"
        return moment(instant) if np.isfinite(instant) else moment(log, logarithm=True)

    rows = [(beside["phase"].values[place], *map(cell, instants[place], logs[place])) for place in order]
    return table(("phase", *names), rows, 'class="stack"') if rows else ""


def _final(beside: xr.Dataset, names: tuple[str, ...]) -> str:
    rows = zip(beside["number"].values, beside["final"].transpose("number", "run").values, strict=True)
    cells = [(name, *(number(float(value)) for value in row)) for name, row in rows]
    ended = (
        "ended",
        *(
            f"{status}: {cause}"
            for status, cause in zip(beside["status"].values, beside["status_cause"].values, strict=True)
        ),
    )
    return table(("at the end", *names), [ended, *cells], 'class="stack"')


def _claims(beside: xr.Dataset, names: tuple[str, ...]) -> str:
    verdicts = beside["verdict"].transpose("claim", "run").values
    measured = beside["measured"].transpose("claim", "run").values

    def cell(verdict: str, value: float) -> str:
        if not verdict:
            return NOTHING
        words = f"{SIGNS.get(verdict, '')} {verdict.replace('_', ' ')}".strip()
        return words if np.isnan(value) else f"{words} ({number(float(value))})"

    rows = [
        (claim, *map(cell, *columns))
        for claim, *columns in zip(beside["claim"].values, verdicts, measured, strict=True)
    ]
    return table(("claim", *names), rows, 'class="stack"') if rows else ""
