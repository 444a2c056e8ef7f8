"""The weights that a result keeps, as states of the network."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..engine import Snapshot
from ..errors import UsageError
from ..observe import Setting


def kept_weights(trajectory: xr.Dataset, setting: Setting) -> Snapshot:
    """The instants whose weights were kept, as many. Raises UsageError where a result's root group lacks something."""
    for name in ("direction", "log_norm"):
        if name not in trajectory:
            raise UsageError(f"the weights were not kept ({name} is missing; see observe.snapshots)")
    problem, index = setting.problem, np.searchsorted(trajectory["time"].values, trajectory["snapshot"].values)
    start = problem.weights
    shape = (len(index), len(start.output_log))
    bias = trajectory["bias_weight"].values if "bias_weight" in trajectory else np.zeros(shape)
    sign, size = np.broadcast_to(start.output_sign, shape), np.broadcast_to(start.output_log, shape)
    if problem.trained_output:
        if "output_weight" not in trajectory:
            raise UsageError("the weights were not kept (output_weight is missing)")
        output = trajectory["output_weight"].values[index]
        with np.errstate(divide="ignore"):
            sign, size = np.sign(output), np.log(np.abs(output))
    return Snapshot(
        trajectory["snapshot"].values,
        setting.reduced.lower(trajectory["direction"].values, bias),
        trajectory["log_norm"].values[index],
        sign,
        size,
    )
