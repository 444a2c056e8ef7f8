"""Inputs that gradient ascent finds to excite units of hidden layers, from several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ...kinds.convolutional import square
from ..features import mosaic
from ..source import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (7.0, 8.0)


@dataclass(frozen=True)
class Exciting:
    """tiles (rows, columns, channels, height, width): rows are units of layers, named by `rows`, columns are starts, as
    many for each instant of `at`."""

    at: tuple[str, ...]
    rows: tuple[str, ...]
    tiles: Floats


def series(source: Source, *, of: str | None = None) -> Exciting:
    """of: a hidden layer; all by default. At the start and at the end of each stage, as many columns as starts."""
    group = source.group("features")
    layers = [str(name) for name in group["excited_layer"].values]
    if of is not None and of not in layers:
        raise UsageError(f"no inputs were made for a layer {of}; there are {', '.join(layers)}")
    found = group["exciting_input"].values.astype(float)
    image = square(found.shape[-1])
    if image is None:
        raise UsageError(f"its inputs, of {found.shape[-1]} features, are no square images of 1 or 3 channels")
    rows, tiles = [], []
    for layer, name in enumerate(layers):
        for unit in range(found.shape[2]):
            if of in (None, name) and np.isfinite(found[:, layer, unit]).all():
                rows.append(name if unit == 0 else "")
                tiles.append(found[:, layer, unit].reshape(-1, *image))
    return Exciting(tuple(map(str, group["kept_end"].values)), tuple(rows), np.array(tiles))


def draw(axes: Axes, found: Exciting) -> None:
    _, columns, _, height, width = found.tiles.shape
    each = columns // len(found.at)
    gap = max(height // 16, 1)
    image = mosaic(found.tiles, gap, each)
    axes.imshow(image, interpolation="nearest", aspect="equal")
    step = each * (width + gap) + 3 * gap
    axes.set_xticks([place * step + (each * (width + gap) - gap) / 2 for place in range(len(found.at))], found.at)
    named = [row for row, name in enumerate(found.rows) if name]
    axes.set_yticks([row * (height + gap) + height / 2 for row in named], [found.rows[row] for row in named])
    axes.set(xlabel="inputs that excite units most, a column for each start", ylabel="a row for each unit")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
