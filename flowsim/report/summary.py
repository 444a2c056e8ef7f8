"""A result in few numbers: where its phases are, what it ends with, and what many values have in common."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..problem.data.samples import Floats, Integers

QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
COUNTS = ("steps", "rejections", "evaluations")
FIRST = ("loss", "log10_loss", "accuracy", "void_mass", "balance_drift")


def spread(variable: xr.DataArray, shares: tuple[float, ...]) -> Floats:
    """(share, time): quantiles over all other dimensions, of the values that exist."""
    rows = variable.transpose("time", ...).values.reshape(variable.sizes["time"], -1)
    found = np.full((len(rows), len(shares)), np.nan)
    for place, row in enumerate(rows):
        there = row[~np.isnan(row)]
        if len(there):
            with np.errstate(invalid="ignore"):  # between two infinite values there is nothing
                found[place] = np.quantile(there, shares)
    return found.T


def evenly(count: int, most: int) -> Integers:
    """At most so many of the first `count` indices, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def phase_instants(tree: xr.DataTree) -> dict[str, Floats]:
    """The instant of each phase; of an ensemble (seed,)."""
    instants = tree.children["phases"].to_dataset()["instant"]
    return {str(name): instants.sel(phase=name).values for name in instants["phase"].values}


def final(tree: xr.DataTree) -> dict[str, Floats]:
    """The numbers one looks at first, and the solver's counts, where the run stopped; of an ensemble (seed,)."""
    if "seed" in tree.dims:
        return last_values(tree.children["final"].to_dataset())
    counts = tree.children["numerics"].to_dataset().isel(time=-1)
    found = last_values(tree.to_dataset().isel(time=-1))
    return found | {name: counts[name].values for name in COUNTS if name in counts}


def last_values(last: xr.Dataset) -> dict[str, Floats]:
    """Those of them that a dataset without `time` has."""
    values = {name: last[name].values for name in (*FIRST, *COUNTS) if name in last}
    if "cosine" in last and last.sizes["cluster"]:
        best = last["cosine"].max("cluster").transpose(..., "neuron").values
        for name, share in QUARTILES.items():
            values[f"best cosine, {name}"] = np.quantile(best, share, axis=-1)
    return values
