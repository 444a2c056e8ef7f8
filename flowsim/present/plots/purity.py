"""Pure against dense features over training, in the words of Allen-Zhu & Li 2022 (Figure 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError
from ..features import Kept, units
from ..source import Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: The observables of data whose features are known.
PURE, DENSE = "pure_part", "dense_mixture"


def series(source: Source, *, seed: int | None = None) -> Bands:
    """Of sparse coding with pure_part and dense_mixture kept, these. Else features are the first layer's units at the end:
    |cosine| of each unit with its own, and in the mean with the others."""
    source = source.member(seed)
    if source.has(PURE) and source.has(DENSE):
        known = {name: source.over_time(name, "neuron")[:, 0] for name in (PURE, DENSE)}
        bands = tuple(Band.of(name.replace("_", " "), values) for name, values in known.items())
        return Bands(source.clock, "coefficients of neurons", bands)
    kept = Kept.of(source, None)
    rows = units(kept.first)
    if rows.shape[0] < 2 or rows.shape[1] < 2:
        raise UsageError("it needs two units whose weights were kept at two instants")
    found = np.abs(rows @ rows[-1].T)
    own = np.diagonal(found, axis1=1, axis2=2)
    others = (found.sum(axis=2) - own) / (rows.shape[1] - 1)
    bands = Band.of("with its own feature", own), Band.of("with the others, in the mean", others)
    return Bands(kept.clock, "|cosine| of a unit with features, those at the end", bands)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
