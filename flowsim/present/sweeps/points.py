"""The points of a sweep in flat lists, as the page's script has them: keys, endings, numbers, trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Floats, Integers
from ...evaluate.scaling import number
from ...evaluate.spans import STAGES, endless, shares, told_apart
from ...results.stored import keys_of
from ..side_by_side import DERIVED
from ..source import label
from ..summary import curves, evenly
from .table import WIDE, axes_of, keys, numbers, words

#: Of the intervals of slopes.
CONFIDENCE = 0.95
#: Student's quantile hardly changes past so many degrees of freedom.
MOST_FREE = 1000
#: The page has no more numbers of trajectories: first instants are left out, then points.
MOST_KEPT = 400_000
MOST_INSTANTS, LEAST_INSTANTS = 200, 25


def points(dataset: xr.Dataset) -> dict[str, Any]:
    """All that the script draws. Points are in the order of the dataset's dimensions, the last one fastest; a key or an
    ending is a list of its values, and the place of each point's in it."""
    from scipy import stats

    over, by = axes_of(dataset, None, None)
    swept, status = keys(dataset), dataset["status"]
    free = np.arange(1, min(max(status.size - 2, 1), MOST_FREE) + 1)
    return {
        "keys": [_key(dataset, key) for key in swept],
        "endings": _endings(status),
        "over": swept.index(over),
        "by": swept.index(by) if by else -1,
        "numbers": [
            {"key": name, "meaning": meaning(dataset, name), "values": _flat(number(dataset, name), status)}
            for name in shown(dataset)
        ],
        "phases": [str(name) for name in dataset["phase"].values] if "phase" in dataset.coords else [],
        "student": stats.t.ppf((1 + CONFIDENCE) / 2, free),
        "trajectories": trajectories(dataset),
    }


def shown(dataset: xr.Dataset) -> list[str]:
    """The numbers of the page: what it cost comes last."""
    return [*numbers(dataset), *(name for name in ("evaluations", "seconds") if name in dataset)]


def meaning(dataset: xr.Dataset, name: str) -> str:
    """What a number is, in words."""
    if name in dataset:
        return str(dataset[name].attrs.get("long_name", name))
    phase = "phase" in dataset.coords and name in dataset["phase"].values
    return f"instant of {name}" if phase else f"measured: {name}"


def trajectories(dataset: xr.Dataset) -> dict[str, Any] | None:
    """Curves of the points on the sweep's common grid of times, each one number at each instant; None where it kept none.

    `points`: of which points, all unless they are too many. A curve that a point does not have is None. `progress`: of each
    point, instants and the share of the parts of its trajectory that lies behind each, linear between them; None where its
    phases tell no parts apart. `parts`: their names.
    """
    names = [str(name) for name, array in dataset.data_vars.items() if "time" in array.dims]
    if not names:
        return None
    status = dataset["status"]
    instants = evenly(dataset.sizes["time"], max(MOST_INSTANTS * 1000 // max(status.size, 1000), LEAST_INSTANTS))
    chosen = evenly(status.size, max(MOST_KEPT // (len(instants) * len(names)), 1))
    # one slice along the first dimension at a time: all trajectories together may not fit into memory
    first, *_ = dims = [str(dim) for dim in status.dims]
    kept: list[dict[str, Any]] = []
    places = np.unravel_index(chosen, status.shape)
    for row in np.unique(places[0]):
        loaded = dataset[names].isel({first: int(row), "time": instants}).load()
        for place in zip(*(at[places[0] == row] for at in places[1:]), strict=True) if dims[1:] else [()]:
            point = loaded.isel(dict(zip(dims[1:], map(int, place), strict=True)))
            kept.append(curves(point, xr.Dataset()))
    return {
        "time": dataset["time"].values[instants],
        "points": chosen,
        "parts": [name.replace("_", "-") for name in STAGES],
        "progress": progress(dataset, chosen, [_last(dataset["time"].values[instants], one) for one in kept]),
        "curves": [
            {"key": name, "meaning": _of_curve(dataset, name), "values": [_there(one.get(name)) for one in kept]}
            for name in dict.fromkeys(name for one in kept for name in one)
        ],
    }


def progress(dataset: xr.Dataset, chosen: Integers, last: Sequence[float]) -> list[Any]:
    """Of these points, whose trajectories end at these times: instants, and the share of the parts behind each."""
    if "phase_instant" not in dataset:
        return [None] * len(chosen)
    instants = _flat_rows(dataset["phase_instant"], dataset["status"], "phase")[chosen]
    names = [str(name) for name in dataset["phase"].values]
    keys = keys_of(dataset.attrs).get("loss", {})
    kinds = [keys.get("kind", "")] * len(chosen)
    if "loss.kind" in dataset.coords:
        kinds = _flat(dataset["loss.kind"], dataset["status"])[chosen].tolist()
    for_ever = {kind: endless({**keys, "kind": kind}) for kind in {*kinds}}
    found = (
        told_apart(dict(zip(names, map(float, own), strict=True)), for_ever[kind], float(dataset["time"][0]), end)
        for own, kind, end in zip(instants, kinds, last, strict=True)
    )
    return [shares(parts) if parts else None for parts in found]


def _last(time: Floats, found: Mapping[str, Floats]) -> float:
    """The last instant at which any of a point's curves has a number: it has none past the point's end."""
    there = [np.flatnonzero(np.isfinite(curve)) for curve in found.values()]
    return float(time[max((one[-1] for one in there if one.size), default=0)])


def _flat_rows(values: xr.DataArray, status: xr.DataArray, along: str) -> Floats:
    """(points, along)"""
    whole = values.reset_coords(drop=True).broadcast_like(status.reset_coords(drop=True))
    return whole.transpose(*status.dims, along).values.reshape(status.size, -1)


def _there(curve: np.ndarray | None) -> np.ndarray | None:
    return curve if curve is not None and np.isfinite(curve).any() else None


def _of_curve(dataset: xr.Dataset, name: str) -> str:
    variable, what = DERIVED.get(name, (name, ""))
    return f"{what} {label(dataset[variable])}".strip()


def _key(dataset: xr.Dataset, key: str) -> dict[str, Any]:
    """names: the values in words; numbers: these, where the key is one of numbers. wide: whether a log axis
    suits them. at: of each point, the place of its value."""
    values, first, at = np.unique(dataset[key].values, return_index=True, return_inverse=True)
    if values.dtype.kind not in "iuf":  # texts in the order of the scenario
        order = np.argsort(first)
        values, at = values[order], np.argsort(order)[at]
    along = xr.DataArray(at, dims=dataset[key].dims).broadcast_like(dataset["status"])
    names = [words(value) for value in values]
    if len({*names}) < len(names):
        names = [str(value) for value in values]
    found = {"key": key, "names": names, "at": _flat(along, dataset["status"])}
    if values.dtype.kind not in "iuf":
        return {**found, "numbers": None, "wide": False}
    wide = bool((values > 0).all()) and bool(values.max() > WIDE * values.min())
    return {**found, "numbers": values.astype(float), "wide": wide}


def _endings(status: xr.DataArray) -> dict[str, Any]:
    names, at = np.unique(status.values.astype(str), return_inverse=True)
    return {"names": names, "at": at.ravel()}


def _flat(values: xr.DataArray, status: xr.DataArray) -> np.ndarray:
    whole = values.reset_coords(drop=True).broadcast_like(status.reset_coords(drop=True))
    return whole.transpose(*status.dims).values.ravel()
