"""The layout of a result: dimensions, coordinates and variables of its root group and of `numerics`."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ..observe import NUMERICS, OBSERVABLES, QUANTILE_SUFFIX, QUANTILES, Setting, Trajectory
from ..problem import Problem

#: name -> long name, of everything in the root group that is not an observable
COORDINATES = {
    "time": "flow time",
    "neuron_sign": "sign of the neuron's output weight at time 0",
    "target_cluster": "centre of the neuron's own sign with the largest positive cosine at time 0; -1 in the void region",
    "cluster_label": "label of the cluster",
    "label": "training label or target of the sample, label noise included",
    "sample_cluster": "cluster of the sample; -1 where unknown",
    "snapshot": "time at which the weights are kept",
    "quantile": "share of the cluster's samples below the value",
}
WEIGHTS = {
    "direction": "weights of the neuron divided by exp(log_norm)",
    "bias_weight": "bias entry of the neuron divided by exp(log_norm)",
}


def root(trajectory: Trajectory, setting: Setting) -> xr.Dataset:
    """The trajectory with its coordinates."""
    problem = setting.problem
    variables = {name: _observed(name, values) for name, values in trajectory.variables.items()}
    dims = {dim for variable in variables.values() for dim in variable.dims} | {"neuron"}
    coordinates: dict[str, xr.Variable] = {
        "time": _named("time", ("time",), trajectory.time),
        "neuron_sign": _named("neuron_sign", ("neuron",), problem.weights.output_sign.astype(np.int8)),
    }
    if len(problem.centers):
        coordinates["target_cluster"] = _named("target_cluster", ("neuron",), setting.target)
        coordinates["cluster_label"] = _named("cluster_label", ("cluster",), problem.cluster_label)
    if "sample" in dims:
        coordinates["label"] = _named("label", ("sample",), problem.targets)
        coordinates["sample_cluster"] = _named("sample_cluster", ("sample",), problem.sample_cluster)
    if "quantile" in dims:
        coordinates["quantile"] = _named("quantile", ("quantile",), np.array(QUANTILES))
    if len(trajectory.kept_weights):
        coordinates["snapshot"] = _named("snapshot", ("snapshot",), trajectory.time[trajectory.kept_weights])
        variables["direction"] = _named("direction", ("snapshot", "neuron", "feature"), trajectory.direction)
        if problem.bias:
            variables["bias_weight"] = _named("bias_weight", ("snapshot", "neuron"), trajectory.bias)
    return xr.Dataset(variables, coordinates)


def numerics(trajectory: Trajectory) -> xr.Dataset:
    """How the solver got there, per saved instant."""
    return xr.Dataset(
        {name: _variable(("time",), trajectory.numerics[name], long_name) for name, long_name in NUMERICS.items()}
    )


def data(problem: Problem) -> xr.Dataset:
    """The samples themselves, for runs whose data come from a file; the result can then serve as that table."""
    variables = {
        "x": _variable(("row", "feature"), problem.inputs, "features of the sample"),
        "y": _variable(("row",), problem.targets, COORDINATES["label"]),
    }
    if len(problem.centers):
        variables["cluster"] = _variable(("row",), problem.sample_cluster, COORDINATES["sample_cluster"])
        variables["centers"] = _variable(("center", "feature"), problem.centers, "cluster centre")
    return xr.Dataset(variables)


def trajectory_of(tree: xr.DataTree) -> Trajectory:
    """The trajectory that a result holds: the inverse of `root` and `numerics`."""
    dataset = tree.to_dataset()
    time = dataset["time"].values
    snapshots = dataset["snapshot"].values if "snapshot" in dataset else np.zeros(0)
    neurons, features = dataset.sizes["neuron"], dataset.sizes.get("feature", 0)
    none = np.zeros((len(snapshots), neurons))
    return Trajectory(
        time=time,
        variables={str(name): array.values for name, array in dataset.data_vars.items() if name not in WEIGHTS},
        numerics={name: tree[f"numerics/{name}"].to_numpy() for name in NUMERICS},
        kept_weights=np.searchsorted(time, snapshots).astype(np.int64),
        direction=dataset["direction"].values if "direction" in dataset else np.zeros((0, neurons, features)),
        bias=dataset["bias_weight"].values if "bias_weight" in dataset else none,
    )


def _observed(name: str, values: Any) -> xr.Variable:
    observable = OBSERVABLES[name.removesuffix(QUANTILE_SUFFIX)]
    if name == observable.name:
        return _variable(("time", *observable.dims), values, observable.long_name, observable.units)
    dims = ("time", "cluster", "quantile") if values.ndim == 3 else ("time", "quantile")
    return _variable(
        dims, values, f"quantiles over a cluster's samples of the {observable.long_name}", observable.units
    )


def _named(name: str, dims: tuple[str, ...], values: Any) -> xr.Variable:
    return _variable(dims, values, {**COORDINATES, **WEIGHTS}[name])


def _variable(dims: tuple[str, ...], values: Any, long_name: str, units: str = "1") -> xr.Variable:
    return xr.Variable(dims, values, {"long_name": long_name, "units": units})
