"""Filters of the first layer, before and after training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ..features import Kept, mosaic
from ..source import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (8.0, 2.6)
#: No more filters are drawn, the first ones.
MOST = 24


@dataclass(frozen=True)
class Filters:
    """tiles (instants, filters, channels, height, width), those of an instant called by `at`; of: how many there are."""

    at: tuple[str, ...]
    tiles: Floats
    of: int


def series(source: Source, *, seed: int | None = None) -> Filters:
    """A row for the start and for the end of each stage, a column for each filter, of neurons of what these see."""
    kept = Kept.of(source, seed)
    tiles = kept.filters[list(kept.ends.values())]
    return Filters(tuple(kept.ends), tiles[:, :MOST], tiles.shape[1])


def draw(axes: Axes, found: Filters) -> None:
    _, count, _, height, _ = found.tiles.shape
    axes.imshow(mosaic(found.tiles), interpolation="nearest", aspect="equal")
    axes.set_yticks(np.arange(len(found.at)) * (height + 1) + (height - 1) / 2, found.at)
    some = f"{count} of {found.of} " if count < found.of else ""
    axes.set(xticks=[], xlabel=f"{some}filters of the first layer, each scaled to its largest weight")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
