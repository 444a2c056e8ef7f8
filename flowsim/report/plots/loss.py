"""The training loss, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..source import Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: A log10 loss below this is shown itself: the loss underflows.
SMALLEST = -290.0


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The loss of the run, or its spread over members; where it underflows, its log10."""
    source = source.chosen(seed)
    name = "loss" if source.has("loss") else "log10_loss"
    if source.has("log10_loss") and np.nanmin(source.over_time("log10_loss")) < SMALLEST:
        name = "log10_loss"
    values = source.over_time(name)
    return Bands(source.clock, source.label(name), (Band.of(_members(source), values),), log=name == "loss")


def _members(source: Source) -> str:
    return f"{source.trajectory.sizes['seed']} members" if source.is_ensemble else "this run"


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
