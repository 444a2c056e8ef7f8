"""Named instants of a trajectory, and how each was defined."""

from __future__ import annotations

from functools import reduce

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..observe import GROWN
from ..problem.data.samples import Floats

#: A neuron is aligned when its cosine with its target centre is at least this.
ALIGNED = 0.95
#: The loss has converged when it is within this factor of its final value.
CONVERGED = 2.0

#: What phases are found from -> its dimensions, beside `seed` in an ensemble.
NEEDED = {
    "cosine": ("time", "neuron", "cluster"),
    "target_cluster": ("neuron",),
    "log_norm": ("time", "neuron"),
    "log10_loss": ("time",),
}

Booleans = NDArray[np.bool_]


def phases(trajectory: xr.Dataset, aligned: float = ALIGNED, converged: float = CONVERGED) -> xr.Dataset:
    """The instants of a trajectory that its variables allow, along dimension `phase`; of an ensemble, also along `seed`.

    instant: the first saved time of the phase's condition, NaN where the run does not reach it.
    definition: the condition in words, thresholds included.
    """
    definitions = _definitions(aligned, converged)
    ensemble = "seed" in trajectory.dims
    lead = ("seed",) if ensemble else ()
    needed = {
        name: trajectory[name].variable.transpose(*lead, *dims) for name, dims in NEEDED.items() if name in trajectory
    }
    members = range(trajectory.sizes["seed"]) if ensemble else [...]
    found = [
        _instants(trajectory["time"].values, {name: needed[name][member].values for name in needed}, aligned, converged)
        for member in members
    ]
    names = [name for name in definitions if any(name in instants for instants in found)]
    instant = np.array([[instants.get(name, np.nan) for instants in found] for name in names]).reshape(-1, len(found))
    coordinates = {"seed": trajectory["seed"]} if ensemble and "seed" in trajectory.coords else {}
    return xr.Dataset(
        {
            "instant": (
                ("phase", "seed") if ensemble else "phase",
                instant if ensemble else instant[:, 0],
                {"long_name": "first time of the phase", "units": "1"},
            ),
            "definition": (
                "phase",
                [definitions[name] for name in names],
                {"long_name": "what defines it", "units": "1"},
            ),
        },
        {"phase": ("phase", names, {"long_name": "phase", "units": "1"}), **coordinates},
    )


def _definitions(aligned: float, converged: float) -> dict[str, str]:
    return {
        "alignment": f"from here on every targeted neuron's cosine with its target centre is at least {aligned:g}",
        "median_alignment": f"from here on the median over the targeted neurons of that cosine is at least {aligned:g}",
        "median_best_alignment": (
            f"from here on the median over all neurons of the largest cosine with any centre is at least {aligned:g}"
        ),
        "growth": f"the total mass, the sum of squared norms, first is {GROWN:g} times its initial value",
        "convergence": f"from here on the loss, once larger, is within a factor {converged:g} of its final value",
    }


def _instants(time: Floats, kept: dict[str, Floats], aligned: float, converged: float) -> dict[str, float]:
    """The phases of a single run; those left out for which it has no variables, no neurons or no instants."""
    found: dict[str, float] = {}
    observed = {name: values for name, values in kept.items() if NEEDED[name][0] == "time"}
    # of a member of an ensemble that stopped early, the instants at the end are NaN
    there = [~np.isnan(values).reshape(len(time), -1).all(axis=1) for values in observed.values()]
    reached = np.flatnonzero(np.any(there, axis=0)).max(initial=-1) + 1
    if not reached:
        return found
    time, observed = time[:reached], {name: values[:reached] for name, values in observed.items()}
    if "cosine" in observed and "target_cluster" in kept:
        target = kept["target_cluster"]
        cosine = observed["cosine"][:, target >= 0, target[target >= 0]]
        if cosine.size:
            found["alignment"] = _from_then_on(time, cosine.min(axis=1) >= aligned)
            found["median_alignment"] = _from_then_on(time, np.median(cosine, axis=1) >= aligned)
    if "cosine" in observed and observed["cosine"].shape[2]:
        # over a short last axis NumPy's own maximum is slow
        best = np.median(reduce(np.maximum, np.moveaxis(observed["cosine"], 2, 0)), axis=1)
        found["median_best_alignment"] = _from_then_on(time, best >= aligned)
    if "log_norm" in observed:
        doubled = 2 * observed["log_norm"]
        top = doubled.max(axis=1)
        log_mass = top + np.log(np.exp(doubled - top[:, None]).sum(axis=1))
        found["growth"] = _first(time, log_mass >= log_mass[0] + np.log(GROWN))
    if "log10_loss" in observed:
        log_loss = observed["log10_loss"]
        found["convergence"] = _reached(time, log_loss <= log_loss[-1] + np.log10(converged))
    return found


def target_cosine(trajectory: xr.Dataset) -> xr.DataArray:
    """(time, neuron): cosine of every targeted neuron with its target centre; neurons without a target are left out.

    Of an ensemble (seed, time, neuron): its members differ in which neurons have a target, so the others are NaN.
    """
    if "seed" in trajectory.dims:
        target = trajectory["target_cluster"]
        own = trajectory["cosine"].isel(cluster=target.drop_vars(target.coords).clip(0))
        return own.where(target >= 0).transpose("seed", "time", "neuron")
    targeted = trajectory["cosine"].isel(neuron=np.flatnonzero(trajectory["target_cluster"].values >= 0))
    return targeted.isel(cluster=xr.DataArray(targeted["target_cluster"].values, dims="neuron"))


def _first(time: Floats, holds: Booleans) -> float:
    return float(time[holds.argmax()]) if holds.any() else np.nan


def _reached(time: Floats, holds: Booleans) -> float:
    """As `_from_then_on`, for a condition that did not hold at the start."""
    return np.nan if holds[0] else _from_then_on(time, holds)


def _from_then_on(time: Floats, holds: Booleans) -> float:
    """The first instant from which on the condition holds to the end."""
    if not holds[-1]:
        return np.nan
    broken = np.flatnonzero(~holds)
    return float(time[broken[-1] + 1 if len(broken) else 0])
