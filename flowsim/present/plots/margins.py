"""The distribution of the samples' margins, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..source import Bands, Source
from ..style import GREY, draw_bands
from .samples import bands_of_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The spread over samples; with label noise, over those with a clean label and over those with a flipped one."""
    source = source.chosen(seed)
    label, bands = bands_of_samples(source, "margin")
    return Bands(source.clock, label, bands)


def draw(axes: Axes, found: Bands) -> None:
    axes.axhline(0.0, color=GREY, linewidth=1)
    draw_bands(axes, found)
