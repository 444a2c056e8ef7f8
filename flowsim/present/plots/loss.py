"""The training loss, over time, and that of held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..source import Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: variable -> that of held-out samples
HELD_OUT = {"loss": "test_loss", "log10_loss": "log10_test_loss"}
#: A log10 loss below this is shown itself: the loss underflows.
SMALLEST = -290.0


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The loss of the run, or its spread over members, beside that of held-out samples where there are any; its log10 where
    it underflows."""
    source = source.chosen(seed)
    name = "loss" if source.has("loss") else "log10_loss"
    if source.has("log10_loss") and np.nanmin(source.over_time("log10_loss")) < SMALLEST:
        name = "log10_loss"
    label, drawn = source.label(name), {_members(source): name}
    if source.has(HELD_OUT[name]):
        label, drawn = label.replace("training ", ""), {"training samples": name, "held-out samples": HELD_OUT[name]}
    bands = tuple(
        Band.of(words, source.over_time(variable), errors=source.errors_over_time(variable))
        for words, variable in drawn.items()
    )
    return Bands(source.clock, label, bands, log=name == "loss")


def _members(source: Source) -> str:
    return f"{source.trajectory.sizes['seed']} members" if source.is_ensemble else "this run"


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
