"""The layout of a result: dimensions, coordinates and variables of its root group and of `numerics`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..observe import NUMERICS, OBSERVABLES, QUANTILE_SUFFIX, QUANTILES, Setting, Trajectory
from ..problem import Problem
from ..scenario import Scenario, referenced_files

#: name -> long name, of everything in the root group that is not an observable
COORDINATES = {
    "seed": "seed of the member",
    "time": "flow time",
    "log10_time": "log10 of flow time",
    "iteration": "iteration of descent; time is step x iteration",
    "step": "step size of descent",
    "neuron_sign": "sign of the neuron's output weight at time 0",
    "neuron_output": "index of the output that the neuron is part of; only where every cluster has an output",
    "target_cluster": "of the centres that pull the neuron, the one with the largest positive cosine at time 0; -1 in the "
    "void region",
    "cluster_label": "label of the cluster",
    "label": "training label or target of the sample, label noise included",
    "clean_label": "training label of the sample before label noise; only where labels are noisy",
    "sample_cluster": "cluster of the sample; -1 where unknown",
    "snapshot": "time at which the weights are kept; in an ensemble, the last one is where each member stopped",
    "snapshot_log10_time": "log10 of the time at which the weights are kept",
    "quantile": "share of the cluster's samples below the value",
}
WEIGHTS = {
    "direction": "weights of the neuron divided by exp(log_norm)",
    "bias_weight": "bias entry of the neuron divided by exp(log_norm)",
}
#: Dimensions of all these; what differs between the members of an ensemble has `seed` before them.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "seed": ("seed",),
    "time": ("time",),
    "log10_time": ("time",),
    "iteration": ("time",),
    "step": (),
    "neuron_sign": ("neuron",),
    "neuron_output": ("neuron",),
    "target_cluster": ("neuron",),
    "cluster_label": ("cluster",),
    "label": ("sample",),
    "clean_label": ("sample",),
    "sample_cluster": ("sample",),
    "snapshot": ("snapshot",),
    "snapshot_log10_time": ("snapshot",),
    "quantile": ("quantile",),
    "direction": ("snapshot", "neuron", "feature"),
    "bias_weight": ("snapshot", "neuron"),
}


def coordinates(setting: Setting) -> dict[str, Any]:
    """What does not change along a trajectory, as arrays."""
    problem = setting.problem
    known = {
        "neuron_sign": problem.weights.output_sign.astype(np.int8),
        "label": problem.label,
        "sample_cluster": problem.sample_cluster,
    }
    if problem.loss.classes:
        known["neuron_output"] = problem.neuron_output
    if problem.samples.flipped.any():
        known["clean_label"] = problem.clean_targets
    if len(problem.centers):
        known |= {"target_cluster": setting.target, "cluster_label": problem.cluster_label}
    return known


def root(trajectory: Trajectory, known: Mapping[str, Any], bias: bool) -> xr.Dataset:
    """The trajectory with its coordinates.

    known: as `coordinates` gives them. Of an ensemble they have `seed` too, and what differs between the members, the
    trajectory's arrays included, has a leading axis over them. bias: whether neurons have one.
    """
    variables = _observed(trajectory.variables, known, ("seed", "time") if "seed" in known else ("time",))
    found = {**known, "time": trajectory.time, "quantile": np.array(QUANTILES)}
    if trajectory.log10_time is not None:
        found["log10_time"] = trajectory.log10_time
    if len(trajectory.kept_weights):
        found["snapshot"] = trajectory.time[trajectory.kept_weights]
        if trajectory.log10_time is not None:
            found["snapshot_log10_time"] = trajectory.log10_time[trajectory.kept_weights]
        variables["direction"] = _named("direction", trajectory.direction)
        if bias:
            variables["bias_weight"] = _named("bias_weight", trajectory.bias)
    dims = {"seed", "time", "neuron", "cluster"}.union(*(variable.dims for variable in variables.values()))
    used = [name for name in COORDINATES if name in found and dims.issuperset(DIMENSIONS[name])]
    return xr.Dataset(variables, {name: _named(name, found[name]) for name in used})


def with_iterations(root: xr.Dataset, scenario: Scenario) -> xr.Dataset:
    """The trajectory of descent with the iteration of each instant and the step size; any other as it is."""
    if scenario.flow.step is None:
        return root
    iteration = np.rint(root["time"].values / scenario.flow.step).astype(np.int64)
    step = np.asarray(scenario.flow.step)
    return root.assign_coords(iteration=_named("iteration", iteration), step=_named("step", step))


def final(values: Mapping[str, Any], known: Mapping[str, Any]) -> xr.Dataset:
    """Observables and the solver's counts where the members of an ensemble stopped; arrays with a leading member axis."""
    observed = {name: array for name, array in values.items() if name not in NUMERICS}
    counts = {name: _variable(("seed",), values[name], long_name) for name, long_name in NUMERICS.items()}
    return xr.Dataset({**_observed(observed, known, ("seed",)), **counts})


def numerics(trajectory: Trajectory) -> xr.Dataset:
    """How the solver got there, per saved instant."""
    dims = ("seed", "time") if trajectory.numerics["steps"].ndim == 2 else ("time",)
    return xr.Dataset(
        {name: _variable(dims, trajectory.numerics[name], long_name) for name, long_name in NUMERICS.items()}
    )


def data(scenario: Scenario, problem: Problem) -> xr.Dataset | None:
    """The samples themselves, for runs whose data come from a file; the result can then serve as that table.

    Of an ensemble whose members draw their samples around centres from a file, the centres alone; None for all other runs.
    """
    if not referenced_files(scenario):
        return None
    variables = {}
    if not scenario.is_ensemble or scenario.data.kind == "table":
        variables["x"] = _variable(("row", "feature"), problem.inputs, "features of the sample")
        variables["y"] = _variable(("row",), problem.label, COORDINATES["label"])
        if len(problem.centers):
            variables["cluster"] = _variable(("row",), problem.sample_cluster, COORDINATES["sample_cluster"])
    if len(problem.centers):
        variables["centers"] = _variable(("center", "feature"), problem.centers, "cluster centre")
    return xr.Dataset(variables)


def trajectory_of(tree: xr.DataTree) -> Trajectory:
    """The trajectory that a result holds: the inverse of `root` and `numerics`."""
    dataset = tree.to_dataset()
    time = dataset["time"].values
    snapshots = dataset["snapshot"].values if "snapshot" in dataset else np.zeros(0)
    kept_weights = np.searchsorted(time, snapshots)
    log10_time = dataset["log10_time"].values if "log10_time" in dataset.coords else None
    if log10_time is not None and len(snapshots):
        kept_weights = np.searchsorted(log10_time, dataset["snapshot_log10_time"].values)
    neurons, features = dataset.sizes["neuron"], dataset.sizes.get("feature", 0)
    none = np.zeros((len(snapshots), neurons))
    return Trajectory(
        time=time,
        log10_time=log10_time,
        variables={str(name): array.values for name, array in dataset.data_vars.items() if name not in WEIGHTS},
        numerics={name: tree[f"numerics/{name}"].to_numpy() for name in NUMERICS},
        kept_weights=kept_weights.astype(np.int64),
        direction=dataset["direction"].values if "direction" in dataset else np.zeros((0, neurons, features)),
        bias=dataset["bias_weight"].values if "bias_weight" in dataset else none,
    )


def _observed(variables: Mapping[str, Any], known: Mapping[str, Any], over: tuple[str, ...]) -> dict[str, xr.Variable]:
    """Observables and their quantiles with the leading dimensions `over`."""
    quantiles = ("cluster", "quantile") if "cluster_label" in known else ("quantile",)
    found = {}
    for name, values in variables.items():
        observable = OBSERVABLES[name.removesuffix(QUANTILE_SUFFIX)]
        dims, long_name = observable.dims, observable.long_name
        if name != observable.name:
            dims, long_name = quantiles, f"quantiles over a cluster's samples of the {long_name}"
        found[name] = _variable((*over, *dims), values, long_name, observable.units)
    return found


def _named(name: str, values: Any) -> xr.Variable:
    dims = DIMENSIONS[name]
    lead = ("seed",) if values.ndim > len(dims) else ()
    return _variable((*lead, *dims), values, {**COORDINATES, **WEIGHTS}[name])


def _variable(dims: tuple[str, ...], values: Any, long_name: str, units: str = "1") -> xr.Variable:
    return xr.Variable(dims, values, {"long_name": long_name, "units": units})
