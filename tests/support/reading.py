"""How a test reads a run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from flowsim.arrays import Floats


def weights(trajectory: xr.Dataset, snapshot: int = -1) -> Floats:
    """(m, d): w_j at a snapshot."""
    kept = trajectory["direction"].isel(snapshot=snapshot)
    log_norm = trajectory["log_norm"].sel(time=kept["snapshot"])
    return (np.exp(log_norm) * kept).transpose("neuron", "feature").values


def angles(first: xr.Dataset, second: xr.Dataset) -> Floats:
    """(snapshot, neuron): angle between the neurons of two runs that kept the same snapshots, exact when it is small."""
    chord = np.linalg.norm(first["direction"].values - second["direction"].values, axis=-1)
    return 2 * np.arcsin(np.minimum(chord / 2, 1))


def weight_error(first: xr.Dataset, second: xr.Dataset) -> float:
    """Largest entry of the difference of the final weights, relative to the largest weight."""
    return float(np.abs(weights(first) - weights(second)).max() / np.abs(weights(second)).max())
