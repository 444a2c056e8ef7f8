"""The distribution of the sizes of the samples' loss derivatives, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError
from ..source import Bands, Source
from ..style import draw_bands
from .samples import bands_of_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The spread over samples, as for margins."""
    source = source.chosen(seed)
    label, bands = bands_of_samples(source, "loss_derivative", size=True)
    drawn = np.isfinite(source.clock.values)
    if not any(np.isfinite(band.quantiles[:, drawn]).any() for band in bands):
        raise UsageError("it needs a loss derivative that is not 0; here all of them underflow: see the kind loss")
    return Bands(source.clock, f"size of the {label}", bands, log=True)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
