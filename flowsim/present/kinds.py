"""The kinds of plots: the one registry, and how a kind is drawn.

A kind is a module of its name in `plots`, with `series(source, …)`, what is drawn, as arrays, and `draw(axes, series)`.
OVER_TIME says whether its horizontal axis is time.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, getdoc, signature
from typing import TYPE_CHECKING, Any

import xarray as xr

from ..errors import UsageError
from ..kinds.names import nearest
from .source import Source
from .style import SIZE, new_figure, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: kind -> what it shows
KINDS = {
    "alignment": "each neuron's best cosine with a cluster centre over time: median and quartiles",
    "cosines": "heat map of the cosines between neurons and cluster centres at an instant",
    "norms": "norms of the neurons over time",
    "mass": "mass of every cluster over time",
    "loss": "training loss over time",
    "kkt": "distance from a KKT point of the margin problem over time",
    "margins": "distribution of the samples' margins over time",
    "loss_derivatives": "distribution of the samples' loss derivatives over time",
    "boundary": "samples and decision boundary at an instant, of data in two dimensions",
    "phase_portrait": "neurons seen along two centres, with trails over time",
    "robustness": "robust accuracy against radius, under weak and strong attacks",
    "class_cosines": "cosines between cluster centres and the mean weights of each class's part of the network",
    "data_cosines": "cosines between the samples that are trained on, or between the means of their clusters",
    "variable": "any variable that was kept over time",
    "filters": "filters of the first layer, at the start and at the end of each stage",
    "correlations": "how far training turns the units of each layer: histograms of theta(w, w')",
    "exciting_inputs": "inputs that excite units of hidden layers, by gradient ascent from several starts",
    "active_units": "share of active units of each hidden layer over time",
    "density": "how many features inputs and perturbations are made of, against what these leave",
    "reconstructions": "inputs, what features make of them, and their perturbations, as images",
    "lottery": "cosine of each first-layer unit with what it learns, over time",
    "purity": "pure against dense features over time",
    "steps": "step size and rejections of the solver over time",
}


def plot(
    result: xr.Dataset | xr.DataTree | Source,
    kind: str,
    ax: Axes | None = None,
    *,
    log_time: bool = False,
    interactive: bool = True,
    **options: Any,
) -> Axes:
    """Draw a kind of plot and return its axes; without `ax`, on a new figure.

    log_time: a log axis of time, for kinds that have one. interactive: whether a new figure is known to pyplot, which shows
    it. options: the kind's own, such as `seed`, the member of an ensemble.
    Raises UsageError where the result does not have what the kind needs, or for an option that it does not have.
    """
    module = _module(kind)
    source = result if isinstance(result, Source) else Source.of(result)
    found = drawn_series(source, kind, options, log_time)
    axes = ax if ax is not None else new_figure(getattr(module, "SIZE", SIZE), interactive)
    module.draw(axes, found)
    if module.OVER_TIME:
        of_one = source.chosen(options.get("seed"))
        time_axis(axes, of_one.clock, of_one.parts, log_time)
    return axes


def drawn_series(source: Source, kind: str, options: dict[str, Any], log_time: bool = False) -> Any:
    """What is drawn of a result, as arrays. Raises UsageError as `plot` does."""
    _check_options(kind, options, log_time)
    try:
        return _module(kind).series(source, **options)
    except UsageError as error:
        raise UsageError(f"{kind}: {error}") from None


def drawing(result: xr.Dataset | xr.DataTree, kind: str) -> Callable[..., Axes]:
    """The function that draws a kind of a result, with the signature and the words that ``help`` shows."""

    def draw(ax: Axes | None = None, **options: Any) -> Axes:
        return plot(result, kind, ax, **options)

    series, over_time = _module(kind).series, _module(kind).OVER_TIME
    own = [parameter for name, parameter in signature(series).parameters.items() if name != "source"]
    shared = [name for name in ("log_time", "interactive") if over_time or name != "log_time"]
    keywords = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own]
    keywords += [signature(plot).parameters[name] for name in shared]
    draw.__name__, draw.__qualname__ = kind, f"flow.plot.{kind}"
    draw.__signature__ = signature(draw).replace(  # type: ignore[attr-defined]
        parameters=[signature(plot).parameters["ax"], *keywords]
    )
    draw.__doc__ = f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}. Returns the axes.\n\n{getdoc(series) or ''}"
    return draw


def obstacles(result: xr.Dataset | xr.DataTree | Source) -> dict[str, str]:
    """kind -> why it cannot be drawn from this result without options; empty where it can."""
    source = result if isinstance(result, Source) else Source.of(result)
    found = {}
    for kind in KINDS:
        try:
            _module(kind).series(source)
        except UsageError as error:
            found[kind] = str(error)
        else:
            found[kind] = ""
    return found


def _module(kind: str) -> Any:
    if kind not in KINDS:
        raise UsageError(f'no plot is called "{kind}"; {nearest(kind, KINDS)}there are {", ".join(KINDS)}')
    return import_module(f".plots.{kind}", __package__)


def _check_options(kind: str, options: dict[str, Any], log_time: bool) -> None:
    module = _module(kind)
    own = [name for name in signature(module.series).parameters if name != "source"]
    own += ["log_time"] if module.OVER_TIME else []
    wrong = [name for name in (*options, *(["log_time"] if log_time else [])) if name not in own]
    if wrong:
        raise UsageError(f"{kind}: takes no {' and no '.join(wrong)}; it takes {', '.join(own)}")
