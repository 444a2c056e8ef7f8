"""The weights that a result keeps, as states of the network."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..errors import UsageError
from ..observe import Setting
from ..solve import Snapshot
from .layout import leaves_of, snapshot_index


def weights_of(setting: Setting, trajectory: xr.Dataset) -> Snapshot:
    """The instants of a trajectory whose weights were kept, as many. Raises UsageError where there are none."""
    problem = setting.problem
    names = [leaf.name for leaf in problem.network.leaves] if problem.network is not None else []
    for name in ("direction", "log_norm") if problem.has_neurons else names:
        if name not in trajectory:
            raise UsageError(f"the weights were not kept ({name} is missing; see observe.snapshots)")
    index, leaves = snapshot_index(trajectory), leaves_of(trajectory)
    if not problem.has_neurons:
        none = np.zeros((len(index), 0))
        features = np.zeros((*none.shape, problem.features))
        return Snapshot(trajectory["snapshot"].values, features, none, none, none, leaves=leaves)
    start = problem.weights
    shape = (len(index), len(start.output_log))
    bias = trajectory["bias_weight"].values if "bias_weight" in trajectory else np.zeros(shape)
    sign, size = np.broadcast_to(start.output_sign, shape), np.broadcast_to(start.output_log, shape)
    if problem.two_layers and problem.trained_output:
        if "output_weight" not in trajectory:
            raise UsageError("the weights were not kept (output_weight is missing)")
        output = trajectory["output_weight"].values[index]
        sign = np.sign(output)
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(output))
        if "log_output_weight" in trajectory:
            size = trajectory["log_output_weight"].values[index]
    return Snapshot(
        trajectory["snapshot"].values,
        setting.reduced.lower(trajectory["direction"].values, bias),
        trajectory["log_norm"].values[index],
        sign,
        size,
        leaves=leaves,
    )
