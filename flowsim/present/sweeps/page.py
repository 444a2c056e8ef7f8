"""A page about a sweep that stands alone: selectors for its keys, its numbers over them with slopes, its trajectories, all
points in a table, where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ...durable import claimed, write_text
from ...kinds.plugins_used import lines as plugin_lines
from ...markup import escape, facts, folded, table
from ..page.document import document, jsonable
from ..side_by_side import CLOCKS
from .points import CONFIDENCE, points

#: So many numbers are drawn until others are chosen.
DRAWN = 4
LAWS = {"none": "none", "power": "power law", "log": "logarithmic law"}


def write_report(dataset: xr.Dataset, output: str | PathLike[str], *, name: str = "", overwrite: bool = False) -> None:
    """Write the page about a sweep. Raises UsageError where it cannot be written, exists and `overwrite` is not set, or
    where Plotly is missing."""
    with claimed(output, overwrite):
        write_text(Path(output), page(dataset, name))


def page(dataset: xr.Dataset, name: str = "") -> str:
    """The whole file."""
    found = points(dataset)
    title = str(dataset.attrs.get("title", "")) or name or "A sweep"
    parts = (
        ("points", "Points", _chooser(found)),
        ("numbers-over", "Numbers over a key", _numbers(found)),
        ("against", "One number against another", _against(found["numbers"])),
        ("through", "Over time", _trajectories(found["trajectories"])),
        ("each", "Points one by one", _each()),
        ("rates", "Rates", _rates(dataset)),
        (
            "scenario",
            "Scenario",
            folded("the scenario of all points, with its [sweep]", str(dataset.attrs["scenario"])),
        ),
        ("provenance", "Provenance", _provenance(dataset)),
    )
    main = "".join(
        f'<section id="{key}"><h2>{heading}</h2>{content}</section>' for key, heading, content in parts if content
    )
    heads = f'<p class="file">{escape(name)}</p>{_verdict(dataset)}'
    # slopes are of keys as they are, and of numbers as small as they come
    exact = {"keys": jsonable(found["keys"], digits=17, tiny=0.0), "numbers": jsonable(found["numbers"], tiny=0.0)}
    sweep = {**jsonable(found), **exact}
    return document(title, heads, main, "sweep.js", {"sweep": sweep})


def _verdict(dataset: xr.Dataset) -> str:
    code = dataset["exit_code"].values
    done = int((code == 0).sum())
    sign, mood = ("✓", "good") if done == code.size else ("✗", "bad")
    others = Counter(str(status) for status in dataset["status"].values[code != 0])
    told = "; ".join(
        [f"{done} of {code.size} points are done", *(f"{count} {status}" for status, count in others.items())]
    )
    return f'<p class="verdict {mood}"><strong>{sign} {escape(told)}</strong></p>'


def _chooser(found: Mapping[str, Any]) -> str:
    """For each swept key, and for how points ended, the values that are drawn."""
    sets = [*((key["key"], key["names"]) for key in found["keys"]), ("status", found["endings"]["names"])]
    return (
        "<p>Everything below is of the points that have one of the ticked values of each key.</p>"
        f'<div class="choosers">{"".join(_values(str(k), *one) for k, one in enumerate(sets))}</div>'
        '<p id="chosen" role="status"></p>'
    )


def _values(index: str, key: str, names: Iterable[str]) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" value="{place}" checked> {escape(name)}</label>'
        for place, name in enumerate(names)
    )
    return _choice(f'data-key="{index}"', key, boxes)


def _choice(attributes: str, heading: str, boxes: str) -> str:
    return (
        f'<details class="choice" {attributes}><summary>{escape(heading)}: <span class="some"></span></summary>'
        f'<div class="panel" role="group" aria-label="{escape(heading)}"><p>'
        '<button type="button" data-all>all</button> <button type="button" data-none>none</button></p>'
        f'<div class="boxes">{boxes}</div></div></details>'
    )


def _numbers(found: Mapping[str, Any]) -> str:
    """One figure for each number, of which those that are ticked are drawn."""
    if not found["numbers"]:
        return '<p class="absent">No point has a number.</p>'
    keys = [key["key"] for key in found["keys"]]
    boxes = "".join(
        f'<label><input type="checkbox" value="{k}"{" checked" if k < DRAWN else ""}> {escape(one["key"])}</label>'
        for k, one in enumerate(found["numbers"])
    )
    figures = "".join(
        f'<figure data-number="{k}"><h3>{escape(one["key"])}</h3>{_plot(f"number-{k}", one["meaning"])}'
        f"<figcaption>{escape(one['meaning'])}</figcaption></figure>"
        for k, one in enumerate(found["numbers"])
    )
    drawn = _choice('id="drawn"', "numbers", boxes)
    return (
        f'<div class="controls">{_select("over", "over", keys, found["over"])}'
        f"{_select('by', 'colour', ['none', *keys], found['by'] + 1)}"
        f"{_select('law', 'fit', LAWS.values(), values=[*LAWS])}{drawn}</div>"
        '<p id="how"></p>'
        f'<div class="grid">{figures}</div>'
        f'<div class="wide" id="slopes" tabindex="0" role="region" aria-label="slopes" '
        f'data-confidence="{100 * CONFIDENCE:g}"></div>'
    )


def _against(numbers: Sequence[Mapping[str, Any]]) -> str:
    """A point for each point of the sweep: one phase against another, or any other two numbers."""
    if len(numbers) < 2:
        return ""
    names = [one["key"] for one in numbers]
    return (
        f'<div class="controls">{_select("across", "across", names)}{_select("up", "up", names)}</div>'
        f"<figure>{_plot('pair', 'two numbers of each point')}<figcaption>The line is where both are the same."
        "</figcaption></figure>"
    )


def _trajectories(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return (
            '<p class="absent">The sweep kept no trajectories: name some in <code>sweep.trajectories</code>, such as '
            "<code>loss</code>, and <code>--resume</code> gathers them without running the points again.</p>"
        )
    keys = {curve["key"] for curve in found["curves"]}
    known = {"log_loss": bool(keys & {"loss", "log10_loss"}), "progress": any(found["progress"])}
    clocks = [clock for clock in CLOCKS if known.get(clock, True)]
    figures = "".join(
        f"<figure><h3>{escape(curve['key'].replace('_', ' '))}</h3>{_plot(f'curve-{k}', curve['meaning'])}</figure>"
        for k, curve in enumerate(found["curves"])
    )
    words = [CLOCKS[clock] for clock in clocks]
    return (
        f'<div class="controls">{_select("clock", "clock", words, values=clocks)}</div>'
        f'<p id="whose"></p><div class="grid">{figures}</div>'
    )


def _each() -> str:
    return (
        "<p>A heading sorts. Points that are ticked here have curves of their own above, where the sweep kept them.</p>"
        '<div class="wide" id="table" tabindex="0" role="region" aria-label="points one by one"></div>'
        '<p><button type="button" id="more">more</button></p>'
    )


def _plot(key: str, said: str) -> str:
    return f'<div class="plot" id="{key}" role="img" aria-label="{escape(said)}"></div>'


def _select(
    key: str, heading: str, names: Iterable[str], chosen: int = 0, *, values: Sequence[str] | None = None
) -> str:
    """values: what the options stand for, by default their places."""
    options = "".join(
        f'<option value="{k if values is None else values[k]}"{" selected" if k == chosen else ""}>{escape(name)}</option>'
        for k, name in enumerate(names)
    )
    return f'<label>{heading} <select id="{key}">{options}</select></label> '


def _rates(dataset: xr.Dataset) -> str:
    """Exponents that claims predict, beside those that were found."""
    if not dataset.sizes.get("rate"):
        return ""
    columns = ("rate_claim", "rate_predicted", "rate_exponent", "rate_low", "rate_high", "rate_verdict", "rate_note")
    values = zip(dataset["rate"].values, *(dataset[name].values for name in columns), strict=True)
    rows = (tuple(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row) for row in values)
    return table(("rate", "claim", "predicted", "found", "from", "to", "verdict", "note"), rows, 'class="stack"')


def _provenance(dataset: xr.Dataset) -> str:
    told = dataset.attrs
    rows = [(name, told[name]) for name in ("flowsim_version", "scenario_sha256", "created_at") if name in told]
    seconds = float(np.nansum(dataset["seconds"].values))
    rows += [("plugin", line) for line in plugin_lines(told)]
    return facts([*rows, ("wall time of all points", f"{seconds:.4g} s")])
