"""The kinds of pictures of a sweep."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ...errors import UsageError
from ...evaluate.scaling import Law, Scaling, scaling
from ...kinds.names import nearest
from ..style import LINES, PALETTE, legend, new_figure, wrapped
from .table import Table, axes_of, table, usual, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: kind -> what it shows
KINDS = {
    "lines": "a number over one key, a line for each value of another: median and quartiles over all others, such as seeds",
    "heat": "heat map of a number over two keys: median over all others",
    "scaling": "a number over one key with the fitted slope, for each value of another",
}
#: A heat map has its numbers written into it up to so many cells.
WRITTEN = 150
#: A log axis names so many values of a key.
NAMED = 8
#: No more lines are drawn, evenly chosen among the values of a key.
MAX_LINES = 12


class DrawnScaling(Scaling):
    """A fitted slope that can be drawn."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """The points and the fitted law on Matplotlib's axes, on a new figure without `ax`."""
        axes = ax if ax is not None else new_figure(interactive=True)
        _draw_fit(axes, self, 0, "")
        _finish_scaling(axes, self)
        return axes


def plot(
    dataset: xr.Dataset,
    kind: str,
    ax: Axes | None = None,
    *,
    of: str | None = None,
    over: str | None = None,
    by: str | None = None,
    law: Law = "power",
    interactive: bool = True,
) -> Axes:
    """Draw a sweep and return the axes; without `ax`, on a new figure.

    of: a number of each point, as for :func:`flowsim.evaluate.scaling.scaling`; over, by: swept keys; law: what "scaling"
    fits. What is not given is chosen. Raises UsageError where the sweep does not have what is asked for.
    """
    if kind not in KINDS:
        raise UsageError(f'no plot of a sweep is called "{kind}"; {nearest(kind, KINDS)}there are {", ".join(KINDS)}')
    over, by = axes_of(dataset, over, by)
    name = of or usual(dataset)
    if kind == "heat" and not by:
        raise UsageError(f"heat: needs a second swept key beside {over}; lines draws over one")
    axes = ax
    if kind == "scaling":
        fits = _fits(dataset, name, over, by, law)
        axes = axes if axes is not None else new_figure(interactive=interactive)
        for index, (label, fit) in enumerate(fits):
            _draw_fit(axes, fit, index, label)
        _finish_scaling(axes, fits[0][1])
        return axes
    found = table(dataset, name, over, by)
    axes = axes if axes is not None else new_figure(interactive=interactive)
    (_heat if kind == "heat" else _lines)(axes, found)
    return axes


def _lines(axes: Axes, found: Table) -> None:
    rows = np.unique(np.linspace(0, len(found.rows) - 1, min(len(found.rows), MAX_LINES)).astype(int))
    places = found.places if found.numeric else np.arange(len(found.places))
    order = np.argsort(places)
    looks = zip(cycle(PALETTE), [line for line in LINES for _ in PALETTE], strict=False)
    for row, (color, line) in zip(rows, looks, strict=False):
        low, median, high = found.quartiles[:, row, order]
        label = f"{found.by} = {found.rows[row]}" if found.by else "median"
        axes.plot(places[order], median, line, marker="o", markersize=4, color=color, label=label)
        if found.count > 1:
            axes.fill_between(places[order], low, high, color=color, alpha=0.2, linewidth=0)
    if found.logarithmic:
        _log_axis(axes, places)
    medians = found.quartiles[1][np.isfinite(found.quartiles[1])]
    if len(medians) and medians.min() > 0 and medians.max() > 20 * medians.min():
        axes.set_yscale("log")
    if not found.numeric:
        axes.set_xticks(places, [str(place) for place in found.places])
    axes.set_xlabel(found.over)
    axes.set_ylabel(wrapped(found.name))
    axes.grid(alpha=0.25)
    note = f"median and quartiles over {', '.join(found.rest)}" if found.count > 1 else ""
    if found.by or note:
        legend(axes, note)


def _heat(axes: Axes, found: Table) -> None:
    values = found.quartiles[1]
    mesh = axes.pcolormesh(np.ma.masked_invalid(values), cmap="viridis")
    figure: Any = axes.get_figure(root=True)
    figure.colorbar(mesh, ax=axes, label=wrapped(found.name, 30))
    axes.set_xticks(np.arange(len(found.places)) + 0.5, [words(place) for place in found.places])
    axes.set_yticks(np.arange(len(found.rows)) + 0.5, found.rows)
    axes.tick_params(axis="x", rotation=45 if len(found.places) > 6 else 0)
    if values.size <= WRITTEN:
        for (row, place), value in np.ndenumerate(values):
            text = f"{value:.3g}" if np.isfinite(value) else "–"
            color = "white" if np.isfinite(value) and float(np.asarray(mesh.norm(value))) < 0.6 else "black"
            axes.text(place + 0.5, row + 0.5, text, ha="center", va="center", fontsize="x-small", color=color)
    axes.set_xlabel(found.over)
    axes.set_ylabel(found.by)
    if found.count > 1:
        axes.set_title(f"median over {', '.join(found.rest)}", fontsize="small")


def _fits(dataset: xr.Dataset, name: str, over: str, by: str, law: Law) -> list[tuple[str, Scaling]]:
    """A fit for each value of `by` that allows one. Raises UsageError where none does."""
    if not by:
        return [("", scaling(dataset, name, over, law))]
    found, why = [], ""
    for index, value in enumerate(dataset[by].values):
        try:
            fit = scaling(dataset.isel({dataset[by].dims[0]: index}), name, over, law)
        except UsageError as error:
            why = str(error)
        else:
            found.append((f"{by} = {words(value)}", fit))
    if not found:
        raise UsageError(f"scaling: {why}")
    return found


def _draw_fit(axes: Axes, fit: Scaling, index: int, label: str) -> None:
    color = PALETTE[index % len(PALETTE)]
    low, high = fit.interval
    told = f"slope {fit.slope:.3g} [{low:.3g}, {high:.3g}]"
    axes.plot(fit.x, fit.y, "o", color=color, markersize=4, alpha=0.7)
    x = np.geomspace(fit.x.min(), fit.x.max(), 50)
    axes.plot(x, fit.line(x), "-", color=color, label=f"{label}: {told}" if label else told)


def _finish_scaling(axes: Axes, fit: Scaling) -> None:
    _log_axis(axes, fit.x)
    if fit.law == "power":
        axes.set_yscale("log")
    axes.set_xlabel(fit.over)
    axes.set_ylabel(wrapped(fit.name))
    axes.grid(alpha=0.25, which="both" if fit.law == "power" else "major")
    law = f"{fit.name} ~ {fit.over}^slope" if fit.law == "power" else f"{fit.name} ~ slope · log({fit.over})"
    legend(axes, f"{law}; brackets: {100 * fit.confidence:g} % intervals")


def _log_axis(axes: Axes, places: np.ndarray) -> None:
    """A log axis of a key, that names its values where they are few."""
    axes.set_xscale("log")
    few = np.unique(places)
    if len(few) <= NAMED:
        axes.set_xticks(few, [words(place) for place in few])
        axes.set_xticks([], minor=True)
