"""A page about a sweep that stands alone: how it ended, pictures of its numbers, what failed, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from io import StringIO
from os import PathLike
from pathlib import Path

import numpy as np
import xarray as xr

from ...durable import claimed, write_text
from ...errors import UsageError
from ...kinds.plugins_used import lines as plugin_lines
from ...markup import escape, facts, folded, table
from .draw import plot
from .table import axes_of, failed, keys, numbers, range_of

#: The list of failed points names at most so many.
NAMED = 50
STYLE = """div.sweep { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 1.5rem }
div.sweep figure { margin: 0; min-width: 0 }
div.sweep svg { width: 100%; height: auto; background: #fff }
"""
#: The page has no more pictures.
MAX_PICTURES = 16


def write_report(dataset: xr.Dataset, output: str | PathLike[str], *, name: str = "", overwrite: bool = False) -> None:
    """Write the page about a sweep. Raises UsageError where it cannot be written, exists and `overwrite` is not set, or
    where Matplotlib is missing."""
    with claimed(output, overwrite):
        write_text(Path(output), page(dataset, name))


def page(dataset: xr.Dataset, name: str = "") -> str:
    """The whole file."""
    title = str(dataset.attrs.get("title", "")) or name or "A sweep"
    css = files("flowsim.present.page").joinpath("assets", "page.css").read_text(encoding="utf-8")
    parts = [
        ("Points", _points(dataset)),
        ("Numbers", f'<div class="sweep">{"".join(_pictures(dataset))}</div>'),
        ("Rates", _rates(dataset)),
        ("Failed", _failed(dataset)),
        ("Scenario", folded("the scenario of all points, with its [sweep]", str(dataset.attrs.get("scenario", "")))),
        ("Provenance", _provenance(dataset)),
    ]
    sections = "".join(f"<section><h2>{heading}</h2>{content}</section>" for heading, content in parts if content)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>\n{css}\n{STYLE}"
        f'</style></head><body style="--runs:1"><header><h1>{escape(title)}</h1><p class="file">{escape(name)}</p>'
        f"{_verdict(dataset)}</header><main>{sections}</main></body></html>\n"
    )


def _verdict(dataset: xr.Dataset) -> str:
    code = dataset["exit_code"].values
    done = int((code == 0).sum())
    sign, mood = ("✓", "good") if done == code.size else ("✗", "bad")
    return f'<p class="verdict {mood}"><strong>{sign} {done} of {code.size} points are done</strong></p>'


def _points(dataset: xr.Dataset) -> str:
    rows = [(key, str(dataset[key].size), range_of(dataset[key])) for key in keys(dataset)]
    return table(("key", "how many", "values"), rows)


def _pictures(dataset: xr.Dataset) -> Iterator[str]:
    over, by = axes_of(dataset, None, None)
    for name in numbers(dataset)[:MAX_PICTURES]:
        try:
            drawn = _svg(dataset, name)
        except UsageError:
            continue
        along = f"over {over}" + (f", for each {by}" if by else "")
        yield (
            f'<figure><h3>{escape(name)}</h3><div role="img" aria-label="{escape(f"{name} {along}")}">{drawn}'
            f"</div><figcaption>{escape(_said(dataset, name))}, {escape(along)}</figcaption></figure>"
        )


def _svg(dataset: xr.Dataset, name: str) -> str:
    figure = plot(dataset, "lines", of=name, interactive=False).get_figure(root=True)
    written = StringIO()
    assert figure is not None
    figure.savefig(written, format="svg", metadata={"Date": None})
    return _own(written.getvalue(), name)


def _own(text: str, name: str) -> str:
    """The picture with ids of its own."""
    prefix = "".join(letter if letter.isalnum() else "-" for letter in name)
    text = text[text.index("<svg") :]
    for before in ('id="', 'href="#', "url(#"):
        text = text.replace(before, f"{before}{prefix}-")
    return text


def _said(dataset: xr.Dataset, name: str) -> str:
    if name in dataset:
        return str(dataset[name].attrs.get("long_name", name))
    return (
        f"instant of {name}" if "phase" in dataset.coords and name in dataset["phase"].values else f"measured: {name}"
    )


def _rates(dataset: xr.Dataset) -> str:
    """Exponents that claims predict, beside those that were found."""
    if not dataset.sizes.get("rate"):
        return ""
    columns = ("rate_claim", "rate_predicted", "rate_exponent", "rate_low", "rate_high", "rate_verdict", "rate_note")
    values = zip(dataset["rate"].values, *(dataset[name].values for name in columns), strict=True)
    rows = (tuple(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row) for row in values)
    return table(("rate", "claim", "predicted", "found", "from", "to", "verdict", "note"), rows)


def _failed(dataset: xr.Dataset) -> str:
    rows = failed(dataset)
    more = f"<p>and {len(rows) - NAMED} more</p>" if len(rows) > NAMED else ""
    return table(("point", "status"), rows[:NAMED]) + more if rows else ""


def _provenance(dataset: xr.Dataset) -> str:
    told = dataset.attrs
    shown = [(name, told[name]) for name in ("flowsim_version", "scenario_sha256", "created_at") if name in told]
    seconds = float(np.nansum(dataset["seconds"].values))
    shown += [("plugin", line) for line in plugin_lines(told)]
    return facts([*shown, ("wall time of all points", f"{seconds:.4g} s")])
