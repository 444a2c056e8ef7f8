"""How it is drawn: colours, lines, labels and legends that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..errors import UsageError
from ..evaluate.spans import Span
from .source import VOID, Band, Bands, Clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's palette, safe for colour-blind readers; without its yellow, which is lost on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
GREY = "#7F7F7F"
#: Of positive, negative and other things.
SIGNS = {"+1": PALETTE[0], "-1": PALETTE[1], "": GREY}
LINES = ("-", "--", "-.", ":")
#: From -1 (blue) over 0 (grey) to 1 (red), in equal steps to the eye.
COSINES = "coolwarm"
SIZE = (7.0, 4.0)
#: Bands are filled where no more than so many are drawn.
FILLED = 3
#: A log axis is for values of which the largest is so many times the smallest.
WIDE = 3.0
#: The background of every other part of a trajectory.
SHADE = "#EDEDED"
#: A part narrower than this share of the axis has no name.
NAMED_SHARE = 0.025
#: From the axes down to a legend, over tick and axis labels, in sizes of its font.
BENEATH = 4.6
#: Letters of a small font to the inch.
LETTERS = 14.0


def new_figure(size: tuple[float, float] = SIZE, interactive: bool = False) -> Axes:
    """The axes of an empty figure; interactive: known to pyplot. Raises UsageError where Matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise UsageError("plots need Matplotlib, which is not installed; pip install 'flowsim[plot]'") from None
    if interactive:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=size, layout="constrained")[1]
    return Figure(figsize=size, layout="constrained").add_subplot()


def draw_bands(axes: Axes, found: Bands) -> None:
    """Medians as lines. Where the bands are few, quartiles are filled; of a single one, so are extremes, more lightly."""
    plain = [band for band in found.bands if band.group != VOID]
    tell_apart, filled, alone = len(plain) <= len(PALETTE), len(plain) <= FILLED, len(found.bands) == 1
    looks = zip(PALETTE, cycle(LINES), strict=False)
    seen: set[str] = set()
    for band in found.bands:
        color, line = GREY, ":"
        if band.group != VOID:
            color, line = next(looks) if tell_apart else (SIGNS.get(band.group, GREY), "-")
        label = band.label if tell_apart else _group_label(band, found.bands)
        if band.filled(filled):
            _fill(axes, found.clock.values, band, color, extremes=alone)
        thick = 1.8 if tell_apart else 0.9
        name = "_" if label in seen else label
        axes.plot(found.clock.values, band.median, line, color=color, linewidth=thick, label=name)
        seen.add(label)
    if found.log and is_wide(found):
        axes.set_yscale("log")
    axes.set_ylabel(wrapped(found.label))
    several = any(band.count > 1 for band in found.bands)
    shown = ("quartiles and extremes" if alone else "quartiles") if filled else ""
    note = "median" + (f"; bands: {shown}" if shown else "") if several else ""
    if any(band.certified and band.filled(filled) for band in found.bands):
        note = f"{note}, wider by the estimated error" if note else "band: estimated error"
    if len(seen) > 1 or note:
        legend(axes, note)


def is_wide(found: Bands) -> bool:
    """Whether the bands reach over so much that a log axis tells more than two of its ticks."""
    values = np.concatenate([band.quantiles[:, np.isfinite(found.clock.values)].ravel() for band in found.bands])
    positive = values[np.isfinite(values) & (values > 0)]
    return bool(len(positive)) and bool(positive.max() >= WIDE * positive.min())


def _fill(axes: Axes, time: Floats, band: Band, color: str, extremes: bool) -> None:
    low, lower, _, upper, high = band.quantiles
    if extremes:
        axes.fill_between(time, low, high, color=color, alpha=0.12, linewidth=0)
    axes.fill_between(time, lower, upper, color=color, alpha=0.28, linewidth=0)


def _group_label(band: Band, bands: Sequence[Band]) -> str:
    alike = [other for other in bands if other.group == band.group]
    return band.label if len(alike) == 1 else f"{len(alike)} clusters labelled {band.group or 'otherwise'}"


def legend(axes: Axes, title: str = "", handles: Sequence[Any] | None = None) -> None:
    """Beneath the axes, where it covers no data."""
    shown = axes.get_legend_handles_labels()[0] if handles is None else handles
    longest = max((len(str(handle.get_label())) for handle in shown), default=0)
    room = _width(axes.get_figure(root=True)) * LETTERS
    axes.legend(
        handles=shown,
        title=title or None,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=BENEATH,
        ncols=max(1, min(int(room / (longest + 6)), len(shown))),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
    )


def time_axis(axes: Axes, clock: Clock, spans: Sequence[Span], log: bool) -> None:
    """Label and limits of the axis of time, and the parts of the trajectory behind what is drawn, named above it.

    spans: in units of the clock.
    """
    finite = clock.values[np.isfinite(clock.values)]
    first, last = (finite[0], finite[-1]) if len(finite) else (0.0, 0.0)
    log = log and not clock.logarithms
    if log:
        positive = clock.values[clock.values > 0]
        if len(positive) < 2:
            raise UsageError("a log axis of time needs two instants after time 0")
        axes.set_xscale("log")
        first = positive[0]
    axes.set_xlabel(clock.label)
    if last > first:
        axes.set_xlim(first, last)
    axes.grid(alpha=0.25)
    free = [0.0, 0.0]  # where the next name may begin, in each of two rows
    for place, span in enumerate(spans):
        begin, end = max(span.begin, first), min(span.end, last)
        if end <= begin:
            continue
        if place % 2:
            axes.axvspan(begin, end, color=SHADE, linewidth=0, zorder=0)
        if place:
            axes.axvline(begin, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        left, right = _shares(np.array([begin, end]), first, last, log).tolist()
        if right - left >= NAMED_SHARE:
            _name_span(axes, span.name.replace("_", "-"), left, right, free)


def _name_span(axes: Axes, name: str, left: float, right: float, free: list[float]) -> None:
    """Above the part, in the lower row where it fits in there, else in the upper one; nowhere where both are taken."""
    width = _width(axes.get_figure(root=True)) * axes.get_position().width
    half = min(len(name) / LETTERS / width / 2, 0.5)
    middle = min(max((left + right) / 2, half), 1 - half)
    for row, taken in enumerate(free):
        if middle - half >= taken and (row or 2 * half <= right - left):
            axes.text(
                middle,
                1.01 + 0.05 * row,
                name,
                transform=axes.transAxes,
                ha="center",
                va="bottom",
                fontsize="small",
                color="#404040",
            )
            free[row] = middle + half
            return


def _width(figure: Figure | None) -> float:
    """In inches."""
    assert figure is not None
    return figure.get_figwidth()


def _shares(instants: Floats, first: float, last: float, log: bool) -> Floats:
    """Where instants lie between both ends of an axis, from 0 to 1."""
    if log:
        instants, first, last = np.log(instants), np.log(first), np.log(last)
    return (instants - first) / (last - first) if last > first else np.zeros(len(instants))


def wrapped(label: str, width: int = 44) -> str:
    """A long label on several lines."""
    from textwrap import fill

    return fill(label, width)
