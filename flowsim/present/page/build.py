"""Puts the page about runs together: words and tables, and the numbers that page.js draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ...durable import claimed, write_text
from ...errors import UsageError
from ...evaluate.case import Case, Result
from ...markup import escape
from ..run import Run, opened
from ..side_by_side import of_runs
from . import beside, sections
from .curves import Absent, Figure, figures
from .document import document, jsonable
from .fit import over_input
from .frames import frames
from .pictures import pictures
from .radius import over_radius

#: id -> heading, and what stands under it for each run
PARTS: tuple[tuple[str, str, Callable[[Run], str]], ...] = (
    ("phases", "Phases", sections.timeline),
    ("unaligned", "Neurons that did not align", sections.unaligned),
    ("end", "At the end", sections.at_the_end),
    ("claims", "Claims", sections.claims),
    ("robust", "Robustness in numbers", sections.robustness),
    ("features", "Features", pictures),
    ("limit", "Distance from a KKT point", sections.limit),
    ("errors", "Estimated errors", sections.errors),
    ("numerics", "Numerics", sections.numerics),
    ("scenario", "Scenario", sections.scenario),
    ("reproduce", "How to make it again", sections.reproduction),
    ("provenance", "Provenance", sections.provenance),
    ("others", "Also in the file", sections.other_groups),
)
#: So many of them stand before the pictures.
FIRST = 3


def write_report(
    results: Result | Sequence[Result],
    output: str | PathLike[str],
    *,
    overwrite: bool = False,
    seed: int | None = None,
) -> None:
    """Write a page about a result, or about several side by side; it opens in a browser without a network.

    results: files, trees or cases, one or several. seed: show this member of each ensemble rather than all.
    Raises UsageError where one is not a result, where the page
    cannot be written, where it exists and `overwrite` is not set, and where Plotly is not installed.
    """
    shown = [results] if isinstance(results, str | PathLike | xr.DataTree | Case) else [*results]
    file, paths = Path(output), [Path(fspath(result)) for result in shown if isinstance(result, str | PathLike)]
    if any(file.exists() and path.exists() and file.samefile(path) for path in paths):
        raise UsageError(f"{file}: is a result to be shown; use -o to write the page elsewhere")
    with claimed(file, overwrite), ExitStack() as stack:
        write_text(file, page(opened(shown, seed, stack)))


def page(runs: Sequence[Run]) -> str:
    """The whole file."""
    drawn = [list(figures(run)) for run in runs]
    moving = [frames(run, len(runs)) for run in runs]
    together = of_runs(runs) if len(runs) > 1 else None
    title = sections.headline(runs[0]) if together is None else f"{len(runs)} runs"
    before, after = _parts(runs, PARTS[:FIRST]), _parts(runs, PARTS[FIRST:])
    numbers = [_numbers(run, figures_of, moved) for run, figures_of, moved in zip(runs, drawn, moving, strict=True)]
    compared = "" if together is None else beside.parts(together, runs)
    pictures = [_through_time(runs, moving), _over_time(runs, drawn), _over_input(runs), _over_radius(runs)]
    main = [compared, before, *pictures, after]
    return document(
        title,
        _heads(runs),
        "\n".join(main),
        "page.js",
        {"numbers": numbers, "beside": None if together is None else jsonable(beside.numbers(together))},
        len(runs),
    )


def _heads(runs: Sequence[Run]) -> str:
    alone = f'<p class="file">{escape(runs[0].name)}</p>' if len(runs) == 1 else ""
    return alone + _columns(runs, (sections.ran(run) + sections.verdict(run) for run in runs))


def _parts(runs: Sequence[Run], parts: Iterable[tuple[str, str, Callable[[Run], str]]]) -> str:
    return "".join(_part(key, heading, runs, [content(run) for run in runs]) for key, heading, content in parts)


def _part(key: str, heading: str, runs: Sequence[Run], contents: Sequence[str]) -> str:
    """A section; nothing where no run has anything to say."""
    if not any(contents):
        return ""
    return f'<section id="{key}"><h2>{heading}</h2>{_columns(runs, contents)}</section>'


def _columns(runs: Sequence[Run], contents: Iterable[str]) -> str:
    """One for each run, under its name where there are several."""
    names = [f'<p class="file">{escape(run.name)}</p>' if len(runs) > 1 else "" for run in runs]
    columns = (f"<div>{name}{content}</div>" for name, content in zip(names, contents, strict=True))
    return f'<div class="runs">{"".join(columns)}</div>'


def _through_time(runs: Sequence[Run], moving: Sequence[dict[str, Any] | Absent]) -> str:
    """The slider, the play button, and for each run the heat map and the phase portrait that they move."""
    contents = [_moving(index, run, found) for index, (run, found) in enumerate(zip(runs, moving, strict=True))]
    player = (
        '<div class="player" role="group" aria-label="time">'
        '<button type="button" id="play" aria-pressed="false">Play</button>'
        '<input type="range" id="time" min="0" max="0" value="0" aria-label="instant shown">'
        '<output id="now" for="time"></output></div>'
    )
    shown = player if any(isinstance(found, dict) for found in moving) else ""
    return f'<section id="through"><h2>Neurons through time</h2>{shown}{_columns(runs, contents)}</section>'


def _moving(index: int, run: Run, found: dict[str, Any] | Absent) -> str:
    if isinstance(found, Absent):
        return _no_figure(found)
    shown, neurons = len(found["neurons"]), found["of"]
    some = f" {shown} of {neurons} neurons, evenly chosen." if shown < neurons else ""
    size = ", its size its norm" if "log_norm" in run.trajectory else ""
    options = "".join(
        f'<option value="{k}">cluster {escape(name)}</option>' for k, name in enumerate(found["clusters"])
    )
    choosers = "".join(
        f'<label>{axis} <select data-run="{index}" data-axis="{axis}">{options}</select></label> '
        for axis in ("across", "up")
    )
    heat = (
        f"Cosine between each neuron and each cluster centre; neurons are sorted by the centre that they end at.{some}"
    )
    portrait = (
        f"Each neuron's cosines with two centres{size}, with a trail of where it came from. On the circle it lies in the "
        f"plane of orthogonal centres.{some}"
    )
    return _figure(f"heat-{index}", "Cosines", heat, heat, "tall") + _figure(
        f"portrait-{index}", "Phase portrait", portrait, portrait, "tall", choosers
    )


def _over_time(runs: Sequence[Run], drawn: Sequence[Sequence[Figure | Absent]]) -> str:
    """One row for each kind of figure, a column for each run."""
    rows = [
        _columns(runs, [_still(index, figure) for index, figure in enumerate(kinds)])
        for kinds in zip(*drawn, strict=True)
    ]
    shading = "".join(_shading(run, len(runs) > 1) for run in runs)
    choice = (
        '<p><label><input type="checkbox" id="log"> logarithmic time</label></p>'
        f"<p>Dotted lines are the phases, with their numbers above.{shading}</p>"
    )
    grid = "grid" if len(runs) == 1 else "rows"
    return f'<section id="over"><h2>Over time</h2>{choice}<div class="{grid}">{"".join(rows)}</div></section>'


def _over_radius(runs: Sequence[Run]) -> str:
    """The robust accuracy of each run; nothing where none has any."""
    found = [over_radius(run) for run in runs]
    contents = [_still(index, figure) if figure is not None else "" for index, figure in enumerate(found)]
    return _part("robustness", "Robustness", runs, contents)


def _over_input(runs: Sequence[Run]) -> str:
    """The network of each run over x, of regressions in one dimension; nothing where there are none."""
    found = [over_input(run) for run in runs]
    contents = [_still(index, figure) if figure is not None else "" for index, figure in enumerate(found)]
    return _part("over-input", "f(x) over x", runs, contents)


def _shading(run: Run, named: bool) -> str:
    """What the shading of a run's plots tells apart."""
    names = escape(", ".join(part.name.replace("_", "-") for part in run.source.parts))
    return f" Shading tells the parts{f' of {escape(run.name)}' if named else ''} apart: {names}." if names else ""


def _still(index: int, figure: Figure | Absent) -> str:
    if isinstance(figure, Absent):
        return _no_figure(figure)
    return _figure(f"{figure.key}-{index}", figure.title, figure.said, figure.caption)


def _figure(key: str, title: str, said: str, caption: str, kind: str = "", controls: str = "") -> str:
    return (
        f'<figure class="{kind}"><h3>{escape(title)}</h3>{controls}<div class="plot" id="{key}" role="img" '
        f'aria-label="{escape(f"{title}. {said}")}"></div><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _no_figure(absent: Absent) -> str:
    return (
        f'<div class="absent" data-absent="{absent.key}"><h3>{escape(absent.title)}: not shown</h3>'
        f"<p>{escape(absent.why)}</p></div>"
    )


def _numbers(run: Run, drawn: Iterable[Figure | Absent], moved: dict[str, Any] | Absent) -> dict[str, Any]:
    """All that the page draws of a run."""
    marks = [
        {"number": phase.number, "name": phase.name, "at": phase.instant}
        for phase in run.phases
        if np.isfinite(phase.instant)
    ]
    return jsonable(
        {
            "name": run.name,
            "clock": run.clock.label,
            "logarithms": run.clock.logarithms,
            "phases": marks,
            "parts": [
                {"name": part.name.replace("_", "-"), "from": part.begin, "to": part.end} for part in run.source.parts
            ],
            "figures": [vars(figure) for figure in drawn if isinstance(figure, Figure)],
            "over_radius": vars(figure) if (figure := over_radius(run)) is not None else None,
            "over_input": vars(figure) if (figure := over_input(run)) is not None else None,
            "frames": moved if isinstance(moved, dict) else None,
        }
    )
