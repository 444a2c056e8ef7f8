"""A number of a sweep's points over one key or two, as arrays: medians and quartiles over all other keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...arrays import Floats
from ...errors import UsageError
from ...evaluate.scaling import number
from ...kinds.names import nearest

#: Drawn where nothing is named: the first of these that the sweep has.
USUAL = ("distance", "final_log10_loss", "final_loss")
#: Looked at first; then what was evaluated, the phases that were reached, and the claims.
FIRST = ("final_log10_loss", "final_loss", "final_accuracy", "distance")
#: A log axis suits a key whose largest value is so many times its smallest.
WIDE = 8


@dataclass(frozen=True)
class Table:
    """name: of what. over, by: keys, by "" where there is one alone. places: of `over`; rows: of `by`, in words.
    quartiles (3, rows, places), NaN where no point has a number. count: of how many points, at most, each is the spread.
    rest: the keys that these are over."""

    name: str
    over: str
    by: str
    places: np.ndarray
    rows: tuple[str, ...]
    quartiles: Floats
    count: int
    rest: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether the places lie on an axis of numbers."""
        return self.places.dtype.kind in "iuf"

    @property
    def logarithmic(self) -> bool:
        """Whether the places are spread over so much that a log axis suits them."""
        return self.numeric and bool((self.places > 0).all()) and self.places.max() > WIDE * self.places.min()


def keys(dataset: xr.Dataset) -> tuple[str, ...]:
    """The swept keys."""
    return tuple(str(dataset.attrs.get("sweep_keys", "")).splitlines())


def usual(dataset: xr.Dataset) -> str:
    """What is drawn where nothing is named."""
    return next((name for name in USUAL if name in dataset), "seconds")


def numbers(dataset: xr.Dataset) -> list[str]:
    """What there is to look at: the numbers of points that are not all missing."""
    of_points = [str(name) for name, array in dataset.data_vars.items() if "time" not in array.dims]
    evaluated = [name for name in of_points if "distance" in name or "robust" in name or name.startswith("median_")]
    phases = [str(name) for name in dataset["phase"].values] if "phase" in dataset.coords else []
    claims = [str(name) for name in dataset["claim"].values] if "claim" in dataset.coords else []
    found = []
    for name in dict.fromkeys((*FIRST, *evaluated, *phases, *claims)):
        try:
            if np.isfinite(number(dataset, name).values).any():
                found.append(name)
        except UsageError:
            continue
    return found


def failed(dataset: xr.Dataset) -> list[tuple[str, str]]:
    """(point in words, status) of those that are not done"""
    swept, statuses = keys(dataset), dataset["status"]
    points = (statuses[tuple(place)] for place in np.argwhere(dataset["exit_code"].values != 0))
    return [(", ".join(f"{key} = {point[key].values}" for key in swept), str(point.values)) for point in points]


def range_of(values: xr.DataArray) -> str:
    """The values of a key in words."""
    found = values.values
    if found.dtype.kind in "iuf":
        return f"{found.min():.6g} to {found.max():.6g}"
    return ", ".join(dict.fromkeys(map(str, found)))


def axes_of(dataset: xr.Dataset, over: str | None, by: str | None) -> tuple[str, str]:
    """The keys to draw over; those that are not named are the first that are left, numbers before words and `seed` last,
    `by` only for a second dimension. Raises UsageError where one is unknown."""
    known = sorted(keys(dataset), key=lambda key: (key == "seed", dataset[key].dtype.kind not in "iuf"))
    for key in (over, by):
        if key and key not in known:
            raise UsageError(f'"{key}" is not a swept key; {nearest(key, known)}there are {", ".join(known)}')
    first = over or next(key for key in known if key != by)
    others = [key for key in known if key != "seed" and dataset[key].dims != dataset[first].dims]
    return first, by if by is not None else (others[0] if others else "")


def table(dataset: xr.Dataset, name: str, over: str, by: str = "") -> Table:
    """Raises UsageError where `name` is no number of a point."""
    values = number(dataset, name)
    dims = [str(dataset[key].dims[0]) for key in (by, over) if key]
    if len(set(dims)) < len(dims):
        raise UsageError(f"{by} goes side by side with {over}, so it cannot be drawn over both")
    rest = [str(dim) for dim in values.dims if dim not in dims]
    stacked = values.transpose(*dims, *rest).values.astype(float)
    stacked = stacked.reshape(*(values.sizes[dim] for dim in dims), -1)
    if not by:
        stacked = stacked[None]
    with np.errstate(invalid="ignore"):
        shape, count = stacked.shape[:2], stacked.shape[2]
        quartiles = np.full((3, *shape), np.nan)
        for row, place in np.ndindex(shape):
            there = stacked[row, place][np.isfinite(stacked[row, place])]
            if len(there):
                quartiles[:, row, place] = np.quantile(there, (0.25, 0.5, 0.75))
    rows = tuple(words(value) for value in dataset[by].values) if by else ("",)
    return Table(name, over, by, dataset[over].values, rows, quartiles, count, tuple(rest))


def words(value: object) -> str:
    """A value of a key."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
