"""How many units of each hidden layer are active, over time (Allen-Zhu & Li 2022, Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ..features import Kept
from ..source import Clock, Source
from ..style import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: The colours of the first and the last layer, as parts of a colour map.
FIRST, LAST, COLOURS = 0.05, 0.85, "viridis"


@dataclass(frozen=True)
class Shares:
    """share (instant, layer)"""

    clock: Clock
    layers: tuple[str, ...]
    share: Floats


def series(source: Source) -> Shares:
    """At every instant whose weights were kept."""
    group, kept = source.group("features"), Kept.of(source)
    return Shares(kept.clock, tuple(map(str, group["layer"].values)), group["active_units"].values)


def draw(axes: Axes, found: Shares) -> None:
    from matplotlib import colormaps

    colours = colormaps[COLOURS](np.linspace(FIRST, LAST, len(found.layers)))
    for name, values, color in zip(found.layers, found.share.T, colours, strict=True):
        axes.plot(found.clock.values, values, marker=".", color=color, label=name)
    axes.set_ylabel("share of active units")
    axes.set_ylim(bottom=0)
    legend(axes)
