"""The error of every variable of a run, estimated from how far its companion is away: the group `error`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..observe import NUMERICS
from ..results.companion import GROUP, UNDETERMINED
from .undetermined import named

#: The stated error is so many times the distance from the companion, which is three quarters of the error where errors go
#: like tolerances, and no less than so much of what it is at a neighbouring instant. benchmarks/certify.py measures how
#: often that is enough.
FACTOR, NEIGHBOUR = 8.0, 0.3
#: The rounding of a number itself, relative to it.
LAST_DIGITS = 2 * np.finfo(float).eps


@dataclass(frozen=True)
class Facts:
    """What a run and its companion were: tolerances of their flows, and why the companion ended before the run did, or
    ""."""

    rtol: tuple[float, ...]
    companion_rtol: tuple[float, ...]
    ended: str = ""


def error_group(tree: xr.DataTree, facts: Facts) -> xr.Dataset:
    """The group `error` of a result that has the group `companion`: a variable for each of the trajectory, with the same
    dimensions and units, and which neurons are undetermined.

    Of each variable, attributes say what its largest error is, and when.
    """
    run, other = _variables(tree), tree.children[GROUP].to_dataset(inherit=False)
    found = {
        name: xr.Variable(
            array.dims,
            _along(array, other[name].variable, tree.sizes.get("snapshot", 0) < tree.sizes["time"]),
            {"long_name": f"estimated error of the {array.attrs['long_name']}", "units": array.attrs["units"]},
        )
        for name, array in run.items()
        if name in other
    }
    for variable in found.values():
        variable.attrs |= dict(zip(("worst", "worst_time"), _worst(variable, tree), strict=True))
    attrs: dict[str, Any] = {
        "rtol": np.array(facts.rtol),
        "companion_rtol": np.array(facts.companion_rtol),
        "companion_evaluations": float(np.nansum(np.nanmax(np.atleast_2d(other["evaluations"].values), axis=-1))),
        "evaluations": float(np.nansum(np.nanmax(np.atleast_2d(tree["numerics/evaluations"].to_numpy()), axis=-1))),
        "companion_ended": facts.ended,
    }
    if UNDETERMINED in other:
        found[UNDETERMINED] = other[UNDETERMINED].variable
        seeds = tree["seed"].values if "seed" in tree.dims else None
        attrs[UNDETERMINED] = named(found[UNDETERMINED].values, seeds)
    return xr.Dataset(found, attrs=attrs)


def stated(values: Floats, companion: Floats, *, sparse: bool = False, row: bool = False) -> Floats:
    """Stated errors of values (T, …), given those of the companion; NaN where there is no value, inf where the companion
    has none.

    The two may cross, so each instant counts a part of what its neighbours differ by, too; in proportion to the values,
    where that is less, as for what decays. sparse: the instants are no neighbours. row: entries along the last axis are one
    vector, each of which counts the root mean square of all.
    """
    values, companion = np.asarray(values, dtype=float), np.asarray(companion, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.where(values == companion, 0.0, np.abs(values - companion))
        apart = np.where(np.isnan(companion) & ~np.isnan(values), np.inf, apart)
        size = np.abs(np.where(np.isfinite(values), values, 0.0))
        known = np.where(np.isnan(apart), 0.0, apart)
        near = known
        if not sparse:
            relative = size * _neighbours(np.where(known > 0, known / size, 0.0))
            near = np.fmax(near, np.fmin(_neighbours(known), relative))
        if row:
            near = np.fmax(near, np.sqrt((near**2).mean(axis=-1, keepdims=True)))
    return np.asarray(np.where(np.isnan(values), np.nan, FACTOR * near + LAST_DIGITS * size))


def _neighbours(apart: Floats) -> Floats:
    """The largest of each instant and a part of its neighbours; the first one, where a run starts, has none."""
    found, part = apart.copy(), NEIGHBOUR * apart
    np.maximum(found[1:], part[:-1], out=found[1:])
    np.maximum(found[1:-1], part[2:], out=found[1:-1])
    return found


def _along(array: xr.Variable, other: xr.Variable, few: bool) -> Floats:
    """The stated errors of a variable, along its own dimensions. few: not all instants keep their weights."""
    over = "time" if "time" in array.dims else "snapshot"
    place, kept = array.dims.index(over), over == "snapshot"
    first, second = (np.moveaxis(one.values, place, 0) for one in (array, other))
    return np.moveaxis(stated(first, second, sparse=kept and few, row=kept and array.ndim > 1), 0, place)


def _variables(tree: xr.DataTree) -> dict[str, xr.Variable]:
    """The trajectory's own, and those of groups of observables."""
    names = [str(name) for name in tree.children[GROUP].data_vars if name not in NUMERICS]
    parts = [
        tree.to_dataset(inherit=False),
        *(node.to_dataset(inherit=False) for name, node in tree.children.items() if name != GROUP),
    ]
    found = {}
    for name in names:
        part = next((part for part in parts if name in part.data_vars), None)
        if part is not None:
            found[name] = part[name].variable
    return found


def worst(group: xr.Dataset) -> dict[str, tuple[float, float]]:
    """variable -> (its largest estimated error, when), of the group `error` with its coordinates, or of a part of it; NaN
    where there is none."""
    return {str(name): _worst(array.variable, group) for name, array in group.data_vars.items() if name != UNDETERMINED}


def _worst(variable: xr.Variable, coordinates: xr.Dataset | xr.DataTree) -> tuple[float, float]:
    over = "time" if "time" in variable.dims else "snapshot"
    by_instant = variable.transpose(over, ...).values.reshape(variable.sizes[over], -1)
    if np.isnan(by_instant).all():
        return np.nan, np.nan
    largest = np.where(np.isnan(by_instant), -np.inf, by_instant).max(axis=1)
    place = int(largest.argmax())
    return float(largest[place]), float(coordinates[over].to_numpy()[place])


def neurons_in_doubt(group: xr.Dataset) -> str:
    """The undetermined neurons of the group `error`, or of a part of it, in words; "" where there are none."""
    if UNDETERMINED not in group:
        return ""
    return named(group[UNDETERMINED].values, group["seed"].values if "seed" in group[UNDETERMINED].dims else None)


def cost(group: xr.Dataset) -> float:
    """Evaluations of a run and its companion, in those of the run."""
    alone = float(group.attrs["evaluations"])
    return (alone + float(group.attrs["companion_evaluations"])) / alone if alone else float("nan")
