"""One plot of several runs: those over time on a clock that all of them have, and robustness over radii."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from ..evaluate.spans import STAGES
from ..kinds.names import nearest
from .kinds import KINDS, drawn_series
from .robust import Curves
from .run import Run
from .side_by_side import CLOCKS, clocks
from .source import VOID, Band, Bands
from .style import FILLED, GREY, LINES, PALETTE, is_wide, legend, new_figure, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def overlay(
    runs: Sequence[Run],
    kind: str,
    ax: Axes | None = None,
    *,
    clock: str | None = None,
    interactive: bool = True,
    **options: Any,
) -> Axes:
    """Draw a kind of plot of several runs on one axis, a colour for each run, and return the axes.

    clock: one of CLOCKS; by default flow time, or its log10 where one of the runs goes by that. options: the kind's own.
    Raises UsageError where the kind cannot be overlaid, a run does not have what it needs, or runs would be drawn in
    different units.
    """
    if clock is not None and clock not in CLOCKS:
        raise UsageError(f'no clock is called "{clock}"; {nearest(clock, CLOCKS)}there are {", ".join(CLOCKS)}')
    found = []
    for run in runs:
        try:
            found.append(drawn_series(run.source, kind, options))
        except UsageError as error:
            raise UsageError(f"{run.name}: {error}") from None
    bands, curves = _all_of(found, Bands), _all_of(found, Curves)
    if not bands and not curves:
        raise UsageError(f"{kind}: is drawn of one run at a time; several take a kind over time, or robustness")
    axes = ax if ax is not None else new_figure(interactive=interactive)
    if curves:
        _draw_curves(axes, runs, curves)
    else:
        usual = "log_time" if any(run.clock.logarithms for run in runs) else "time"
        _draw_bands(axes, runs, bands, clock or usual)
    axes.set_title(f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}", fontsize="medium", wrap=True)
    axes.grid(alpha=0.25)
    return axes


def _all_of(found: Sequence[Any], sort: type) -> list[Any]:
    return [*found] if all(isinstance(one, sort) for one in found) else []


def _draw_bands(axes: Axes, runs: Sequence[Run], found: Sequence[Bands], clock: str) -> None:
    """Medians, a line for each band; quartiles where the bands are few."""
    labels = list(dict.fromkeys(one.label for one in found))
    if len(labels) > 1:
        raise UsageError(f"these runs are not drawn in the same units: {'; '.join(labels)}")
    filled = sum(len(one.bands) for one in found) <= 2 * FILLED
    for place, (run, one) in enumerate(zip(runs, found, strict=True)):
        at, colour = clocks(run)[clock], PALETTE[place % len(PALETTE)]
        if not np.isfinite(at).any():
            raise UsageError(f"{run.name}: has no {CLOCKS[clock]}; choose another clock")
        for number, band in enumerate(one.bands):
            label = run.name if len(one.bands) == 1 else f"{run.name}: {band.label}"
            line = LINES[(number + place // len(PALETTE)) % len(LINES)]
            axes.plot(at, band.median, line, color=colour, linewidth=_width(band), label=label)
            if band.filled(filled):
                axes.fill_between(at, band.quantiles[1], band.quantiles[3], color=colour, alpha=0.2, linewidth=0)
    if all(one.log for one in found) and any(map(is_wide, found)):
        axes.set_yscale("log")
    axes.set_ylabel(wrapped(labels[0]))
    axes.set_xlabel(wrapped(CLOCKS[clock]))
    if clock == "log_loss":
        axes.invert_xaxis()  # time goes to the right, and the loss falls
    if clock == "progress":
        _name_parts(axes)
    several = any(band.count > 1 for one in found for band in one.bands)
    legend(axes, ("median; bands: quartiles" if filled else "median") if several else "")


def _width(band: Band) -> float:
    return 1.0 if band.group == VOID else 1.8


def _name_parts(axes: Axes) -> None:
    """Each part of a trajectory has a fifth of the axis."""
    count = len(STAGES)
    axes.set_xlim(0.0, 1.0)
    axes.set_xticks([(place + 0.5) / count for place in range(count)], [name.replace("_", "-") for name in STAGES])
    for place in range(1, count):
        axes.axvline(place / count, color=GREY, linewidth=0.8, linestyle=":")


def _draw_curves(axes: Axes, runs: Sequence[Run], found: Sequence[Curves]) -> None:
    """Over the radius: the strongest attack on each classifier of each run, weaker ones thinner."""
    axis = list(dict.fromkeys(one.x for one in found))
    if len(axis) > 1:
        raise UsageError(f"these runs have radii of different kinds: {'; '.join(axis)}")
    for place, (run, one) in enumerate(zip(runs, found, strict=True)):
        for number, curve in enumerate(sorted(one.curves, key=lambda curve: curve.weak)):
            axes.plot(
                one.radius,
                curve.accuracy,
                LINES[number % len(LINES)],
                color=PALETTE[place % len(PALETTE)],
                linewidth=1.0 if curve.weak else 1.8,
                label=f"{run.name}: {curve.label}",
            )
    axes.set_xlabel(axis[0])
    axes.set_ylabel(found[0].y)
    axes.set_ylim(-0.03, 1.03)
    legend(axes)
