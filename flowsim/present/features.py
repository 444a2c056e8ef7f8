"""First-layer filters and other trained arrays at the instants at which a run kept its weights, as plots need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Integers
from ..errors import UsageError
from ..evaluate.stage_ends import START, ends
from ..kinds.convolutional import COLOUR, GREY, square
from ..kinds.data import DATA
from ..results.layout import leaf_names, snapshot_index
from ..results.stored import keys_of
from .source import Clock, Source

#: What an instant is called at which a stage has drawn an array anew.
DRAWN = "drawn"


@dataclass(frozen=True)
class Kept:
    """Of one run: its weights where they were kept. source: that of the run. ends: what instants are called -> which of
    the kept ones they are."""

    source: Source
    ends: dict[str, int]

    @classmethod
    def of(cls, source: Source, seed: int | None = None) -> Kept:
        """Raises UsageError where no weights were kept, or the seed is not that of a member."""
        one = source.member(seed)
        if not one.trajectory.sizes.get("snapshot"):
            raise UsageError('it needs weights, which were not kept; observe.snapshots = "ends" or a number keeps them')
        return cls(one, ends(one.trajectory))

    @property
    def index(self) -> Integers:
        """Which of the run's instants they are."""
        return snapshot_index(self.source.trajectory)

    @property
    def clock(self) -> Clock:
        """What the kept instants are called."""
        whole, time = self.source.clock, self.source.trajectory[self.source.clock.name].values.astype(float)
        return Clock(whole.name, whole.label, self.index, time[self.index])

    @property
    def arrays(self) -> dict[str, Floats]:
        """Name -> (instant, units, entries) of every trained array of two axes or more, the first layer first."""
        run = self.source.trajectory
        found = {"hidden": run["direction"].values} if "direction" in run else {}
        found |= {name: run[name].values for name in leaf_names(run) if run[name].ndim > 2}
        return {name: array.reshape(*array.shape[:2], -1) for name, array in found.items()}

    @property
    def first(self) -> Floats:
        """(instant, units, entries) of the first layer. Raises UsageError where no array is one."""
        arrays = self.arrays
        if not arrays:
            raise UsageError("it needs trained arrays of two axes or more, and this network has none")
        return next(iter(arrays.values()))

    @property
    def norms(self) -> Floats:
        """(instant, units) of the first layer."""
        run = self.source.trajectory
        if "direction" in run:
            return np.asarray(run["log_norm"].values[self.index])  # in the order of the norms
        return np.linalg.norm(self.first, axis=-1)

    @property
    def filters(self) -> Floats:
        """(instant, filters, channels, height, width) of a first layer that sees images of 1 or 3 channels. Raises
        UsageError where there is none."""
        run = self.source.trajectory
        name = next(iter(leaf_names(run)), "") if "direction" not in run else ""
        if name and run[name].ndim == 5 and run[name].shape[2] in (GREY, COLOUR):
            return np.asarray(run[name].values)
        kind = keys_of(run.attrs).get("data", {}).get("kind", "")
        if "direction" in run and kind in DATA and DATA[kind].of_images:
            rows = run["direction"].values
            if image := square(rows.shape[-1]):
                return np.asarray(rows.reshape(*rows.shape[:2], *image))
        raise UsageError("it needs a first layer that sees images of 1 or 3 channels")

    def since_drawn(self, name: str) -> dict[str, Floats]:
        """What instants are called -> the array (units, entries) there, from where it was last drawn on."""
        array, found = self.arrays[name], dict[str, Floats]()
        drawn = self._redrawn(name)
        for end, place in self.ends.items():
            if end in drawn:
                found = {DRAWN: drawn[end].reshape(array.shape[1:])}
            found[end] = array[place]
        return found

    def _redrawn(self, name: str) -> dict[str, Any]:
        """Stage -> what it has drawn of an array."""
        group = self.source.found("redrawn")
        if group is None or name not in group:
            return {}
        pairs = zip(group["redrawing_stage"].values, group[name].values, strict=True)
        return {str(stage): values for stage, values in pairs if not np.isnan(values).any()}

    @property
    def reference(self) -> str:
        """What the end of the first stage is called, or that of the run."""
        return next((end for end in self.ends if end != START), START)


def cosines(a: Floats, b: Floats) -> Floats:
    """theta(w, w') = |<w, w'>|/(|w||w'|) of the rows of arrays (…, entries); 0 of a row of zeros"""
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.abs((a * b).sum(axis=-1)) / np.where(size > 0, size, 1.0)


def units(rows: Floats) -> Floats:
    """Each row divided by its norm."""
    size = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(size > 0, size, 1.0))


def mosaic(tiles: Floats, gaps: int = 1, every: int = 0) -> Floats:
    """(height, width, 3): images (rows, columns, channels, height, width) side by side, grey for 0 and each scaled to its
    largest entry. every: columns after which there is a wider gap."""
    rows, columns, _, height, width = tiles.shape
    wide = [gaps + (3 * gaps if every and column % every == every - 1 else 0) for column in range(columns)]
    found = np.ones((rows * (height + gaps), columns * width + sum(wide), 3))
    for row in range(rows):
        left = 0
        for column in range(columns):
            tile = np.nan_to_num(tiles[row, column])
            size = np.abs(tile).max()
            seen = 0.5 + 0.5 * tile / (size if size > 0 else 1.0)
            seen = np.broadcast_to(seen, (COLOUR, height, width)) if len(seen) == GREY else seen
            top = row * (height + gaps)
            found[top : top + height, left : left + width] = np.moveaxis(seen, 0, -1)
            left += width + wide[column]
    return found
