"""Robust accuracy against radius: weak and strong attacks on the network, and the strongest on other classifiers."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from ..robust import Curves, curves
from ..source import Source
from ..style import LINES, PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
#: Of the attacks that are weaker than the strongest, in their order.
MARKS = ("o", "s", "^", "v", "D")


def series(source: Source) -> Curves:
    return curves(source.group("robustness"))


def draw(axes: Axes, found: Curves) -> None:
    colours = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(found.classifiers)}
    for band in found.bands:
        axes.fill_between(
            found.radius, band.low, band.high, color=colours[band.classifier], alpha=0.2, linewidth=0, label=band.label
        )
    marks, weak, beside = cycle(MARKS), cycle(LINES[1:]), cycle(LINES[1:])
    for curve in found.curves:
        look: dict[str, Any] = {"linewidth": 2.0}
        if curve.weak:
            look = {"linewidth": 1.0, "linestyle": next(weak), "marker": next(marks), "markersize": 4}
        elif curve.classifier != found.classifiers[0]:
            look = {"linewidth": 1.4, "linestyle": next(beside)}
        axes.plot(found.radius, curve.accuracy, color=colours[curve.classifier], label=curve.label, **look)
    axes.set_xlabel(found.x)
    axes.set_ylabel(found.y)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25)
    legend(axes, "band: between certified and attacked" if found.bands else "")
