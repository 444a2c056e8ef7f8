"""Named instants of a trajectory, and how each was defined."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..observe import GROWN

#: A neuron is aligned when its cosine with its target centre is at least this.
ALIGNED = 0.95
#: The loss has converged when it is within this factor of its final value.
CONVERGED = 2.0

Booleans = NDArray[np.bool_]


def phases(trajectory: xr.Dataset, aligned: float = ALIGNED, converged: float = CONVERGED) -> xr.Dataset:
    """The instants of a trajectory that its variables allow, along dimension `phase`.

    instant: the first saved time of the phase's condition, NaN where the run does not reach it.
    definition: the condition in words, thresholds included.
    """
    found: dict[str, tuple[float, str]] = {}
    time = trajectory["time"].values
    if "cosine" in trajectory and "target_cluster" in trajectory.coords:
        cosine = target_cosine(trajectory).values
        if cosine.size:
            found["alignment"] = (
                _from_then_on(time, cosine.min(axis=1) >= aligned),
                f"from here on every targeted neuron's cosine with its target centre is at least {aligned:g}",
            )
            found["median_alignment"] = (
                _from_then_on(time, np.median(cosine, axis=1) >= aligned),
                f"from here on the median over the targeted neurons of that cosine is at least {aligned:g}",
            )
    if "cosine" in trajectory and trajectory.sizes["cluster"]:
        best = np.median(trajectory["cosine"].values.max(axis=2), axis=1)
        found["median_best_alignment"] = (
            _from_then_on(time, best >= aligned),
            f"from here on the median over all neurons of the largest cosine with any centre is at least {aligned:g}",
        )
    if "log_norm" in trajectory:
        log_mass = logsumexp(2 * trajectory["log_norm"].values, axis=1)
        found["growth"] = (
            _first(time, log_mass >= log_mass[0] + np.log(GROWN)),
            f"the total mass, the sum of squared norms, first is {GROWN:g} times its initial value",
        )
    if "log10_loss" in trajectory:
        log_loss = trajectory["log10_loss"].values
        found["convergence"] = (
            _reached(time, log_loss <= log_loss[-1] + np.log10(converged)),
            f"from here on the loss, once larger, is within a factor {converged:g} of its final value",
        )
    names = list(found)
    return xr.Dataset(
        {
            "instant": (
                "phase",
                [found[name][0] for name in names],
                {"long_name": "first time of the phase", "units": "1"},
            ),
            "definition": ("phase", [found[name][1] for name in names], {"long_name": "what defines it", "units": "1"}),
        },
        {"phase": ("phase", names, {"long_name": "phase", "units": "1"})},
    )


def target_cosine(trajectory: xr.Dataset) -> xr.DataArray:
    """(time, neuron): cosine of every targeted neuron with its target centre; neurons without a target are left out."""
    targeted = trajectory["cosine"].isel(neuron=np.flatnonzero(trajectory["target_cluster"].values >= 0))
    return targeted.isel(cluster=xr.DataArray(targeted["target_cluster"].values, dims="neuron"))


def _first(time: NDArray[np.float64], holds: Booleans) -> float:
    return float(time[holds.argmax()]) if holds.any() else np.nan


def _reached(time: NDArray[np.float64], holds: Booleans) -> float:
    """As `_from_then_on`, for a condition that did not hold at the start."""
    return np.nan if holds[0] else _from_then_on(time, holds)


def _from_then_on(time: NDArray[np.float64], holds: Booleans) -> float:
    """The first instant from which on the condition holds to the end."""
    if not holds[-1]:
        return np.nan
    broken = np.flatnonzero(~holds)
    return float(time[broken[-1] + 1 if len(broken) else 0])
