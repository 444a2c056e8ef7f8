"""Inputs, what features make of them, and their perturbations, as images (Allen-Zhu & Li 2022, Figures 4 and 7)."""

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
SIZE = (5.0, 7.0)


@dataclass(frozen=True)
class Reconstructions:
    """tiles (rows, samples, channels, height, width), each row named by `rows`."""

    rows: tuple[str, ...]
    tiles: Floats


def series(source: Source) -> Reconstructions:
    """Inputs by the first layer's features at the start and at the end of each stage, with the least penalty, and the
    perturbations of the network there."""
    group = source.group("density")
    if "shown_input" not in group:
        raise UsageError("it needs a network of images, with filters in its first layer")
    inputs = group["shown_input"].values.astype(float)
    image = square(inputs.shape[-1])
    if image is None:
        raise UsageError(f"its inputs, of {inputs.shape[-1]} features, are no square images of 1 or 3 channels")
    at = [str(name) for name in group["kept_end"].values]
    share = group["input_density"].isel(penalty=int(np.argmin(group["penalty"].values))).values
    rows = ["input"]
    rows += [f"{100 * part:.0f} % of features,\n{name}" for name, part in zip(at, share, strict=True)]
    rows += [f"perturbation,\n{name}" for name in at]
    made, moved = (group[f"shown_{what}"].values.astype(float) for what in ("reconstruction", "perturbation"))
    tiles = np.concatenate([inputs[None], made, moved])
    return Reconstructions(tuple(rows), tiles.reshape(*tiles.shape[:2], *image))


def draw(axes: Axes, found: Reconstructions) -> None:
    _, columns, _, height, width = found.tiles.shape
    gap = max(height // 16, 1)
    axes.imshow(mosaic(found.tiles, gap), interpolation="nearest", aspect="equal")
    labels = [str(column) for column in range(1, columns + 1)]
    axes.set_xticks([column * (width + gap) + width / 2 for column in range(columns)], labels)
    axes.set_yticks([row * (height + gap) + height / 2 for row in range(len(found.rows))], found.rows)
    axes.set(xlabel="sample", ylabel="inputs, what features make of them, and perturbations")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
