"""Any variable that was kept, over time."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ...arrays import Floats
from ...errors import UsageError
from ...kinds.names import nearest
from ..source import Band, Bands, Source
from ..style import PALETTE, draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(source: Source, *, of: str = "loss", seed: int | None = None) -> Bands:
    """The variable that `of` names: an entry at each place along its other dimensions, or the spread of all entries where
    these are more than colours. Of an ensemble, the spread over members."""
    source = source.chosen(seed)
    kept = [str(name) for name, variable in source.trajectory.data_vars.items() if "time" in variable.dims]
    if of not in kept:
        raise UsageError(f"no variable over time is called {of}; {nearest(of, kept)}there are {', '.join(kept)}")
    dims = tuple(str(dim) for dim in source.trajectory[of].dims if dim not in ("seed", "time"))
    values, errors = source.over_time(of, *dims), source.errors_over_time(of, *dims)
    entries = _entries(source.trajectory, dims, values)
    known = {} if errors is None else _entries(source.trajectory, dims, errors)
    there = {name: entry for name, entry in entries.items() if not np.isnan(entry).all()}
    if not there:
        raise UsageError(f"{of} has no values in this result")
    bands = tuple(Band.of(name or "this run", entry, errors=known.get(name)) for name, entry in there.items())
    return Bands(source.clock, source.label(of), bands, log=all(np.nanmin(entry) > 0 for entry in there.values()))


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)


def _entries(trajectory: xr.Dataset, dims: tuple[str, ...], values: Floats) -> dict[str, Floats]:
    """Each entry of values (T, seeds, …dims) by its name, as (T, seeds); all together where these are more than colours."""
    places = list(product(*map(range, values.shape[2:])))
    if len(places) > len(PALETTE):
        return {f"all {len(places)} entries": values.reshape(len(values), -1)}
    columns = np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0)
    return {_named(trajectory, dims, place): column for place, column in zip(places, columns, strict=True)}


def _named(trajectory: xr.Dataset, dims: tuple[str, ...], place: tuple[int, ...]) -> str:
    """A place in words: what the dimensions' own coordinates call it, or their names with an index."""
    words = [
        str(trajectory[dim].values[index]) if dim in trajectory.coords else f"{dim} {index}"
        for dim, index in zip(dims, place, strict=True)
    ]
    return ", ".join(words)
