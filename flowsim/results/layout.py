"""The layout of a result: dimensions, coordinates and variables of its root group and of `numerics`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Integers
from ..kinds.network import Network
from ..observe import NUMERICS, OBSERVABLES, QUANTILE_SUFFIX, QUANTILES, Setting, Trajectory, parameters
from ..problem import Problem
from ..problem.weights import LAYER_BIAS, LAYER_WEIGHT, kept_at, layers_of
from ..scenario import Scenario
from ..scenario.arrays import outside
from ..solve.plan import GOING_OVER

#: name -> long name, of everything in the root group that is not an observable
COORDINATES = {
    "seed": "seed of the member",
    "time": "flow time",
    "stage": "stage of the run that led to the instant",
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
    "leaf": "name of the trained array",
    "matrix": "name of the trained array, of two axes or more",
    "kernel_sample": "index of the training sample that the row of the tangent kernel is of",
    "probe_x": "features of the probe",
}
WEIGHTS = {
    "direction": "weights of the neuron divided by exp(log_norm)",
    "bias_weight": "bias entry of the neuron divided by exp(log_norm)",
}
INIT = {
    "hidden_direction": "weights of the neuron at time 0 divided by exp(hidden_log_norm)",
    "hidden_log_norm": "natural log of the neuron's norm at time 0",
    "hidden_bias_direction": "bias entry of the neuron at time 0 divided by exp(hidden_log_norm)",
    "output_sign": "sign of the output weight at time 0",
    "output_log": "natural log of the output weight's size at time 0",
}
#: The attribute that says which of the trained arrays of an ordinary network a variable is.
LEAF = "leaf"
#: Dimensions of all these; what differs between the members of an ensemble has `seed` before them.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "seed": ("seed",),
    "time": ("time",),
    "stage": ("time",),
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
    "leaf": ("leaf",),
    "matrix": ("matrix",),
    "kernel_sample": ("kernel_row",),
    "probe_x": ("probe", "feature"),
    "direction": ("snapshot", "neuron", "feature"),
    "bias_weight": ("snapshot", "neuron"),
}


def coordinates(setting: Setting) -> dict[str, Any]:
    """What does not change along a trajectory, as arrays."""
    problem = setting.problem
    known: dict[str, Any] = {"label": problem.label, "sample_cluster": problem.sample_cluster}
    if problem.targets.ndim == 2:
        del known["label"]  # a vector for each sample
    if problem.two_layers:
        known["neuron_sign"] = problem.weights.output_sign.astype(np.int8)
        if problem.loss.classes:
            known["neuron_output"] = problem.neuron_output
    if problem.samples.flipped.any():
        known["clean_label"] = problem.clean_targets
    if len(problem.centers):
        known["cluster_label"] = problem.cluster_label
        if problem.two_layers:
            known["target_cluster"] = setting.target
    return {**known, **shared(setting)}


def shared(setting: Setting) -> dict[str, Any]:
    """Those that the members of an ensemble have in common."""
    known = {
        "leaf": np.array(list(parameters.leaves(setting.problem))),
        "matrix": np.array(list(parameters.matrices(setting.problem)), dtype=np.str_),
        "kernel_sample": np.tile(setting.kernel_samples, setting.problem.outputs),
    }
    return known if setting.probes is None else {**known, "probe_x": setting.probes}


def groups(
    scenario: Scenario, problem: Problem, trajectory: Trajectory, known: Mapping[str, Any]
) -> dict[str, xr.Dataset]:
    """The groups of what was observed: the root, `numerics`, and those that observables have of their own."""
    found = {
        "/": _with_iterations(root(trajectory, known, problem), scenario, trajectory.numerics["steps"]),
        "/numerics": numerics(trajectory),
    }
    for name in sorted({_group(name) for name in trajectory.variables} - {""}):
        found[f"/{name}"] = xr.Dataset(_observed(_in_group(trajectory, name), known, ("time",)))
    return found


def root(trajectory: Trajectory, known: Mapping[str, Any], problem: Problem) -> xr.Dataset:
    """The trajectory with its coordinates.

    known: as `coordinates` gives them. Of an ensemble they have `seed` too, and what differs between the members, the
    trajectory's arrays included, has a leading axis over them. problem: of any of them.
    """
    variables = _observed(_in_group(trajectory, ""), known, ("seed", "time") if "seed" in known else ("time",))
    found = {**known, "time": trajectory.time, "quantile": np.array(QUANTILES)}
    if trajectory.log10_time is not None:
        found["log10_time"] = trajectory.log10_time
    if len(trajectory.kept_weights):
        found["snapshot"] = trajectory.time[trajectory.kept_weights]
        if trajectory.log10_time is not None:
            found["snapshot_log10_time"] = trajectory.log10_time[trajectory.kept_weights]
        if problem.has_neurons:
            variables["direction"] = _direction(trajectory, problem)
        if problem.bias:
            variables["bias_weight"] = _named("bias_weight", trajectory.bias)
        if problem.network is not None:
            variables |= leaves(problem.network, trajectory.leaves, ("snapshot",))
    dims = {"seed", "time", "neuron", "cluster", "feature"}.union(*(variable.dims for variable in variables.values()))
    used = [name for name in COORDINATES if name in found and dims.issuperset(DIMENSIONS[name])]
    return xr.Dataset(variables, {name: _named(name, found[name]) for name in used})


def _direction(trajectory: Trajectory, problem: Problem) -> xr.Variable:
    """The kept weights; where these are coordinates, with what `feature` then is."""
    found, span = _named("direction", trajectory.direction), problem.samples.span
    if span is not None:
        found.attrs["long_name"] = f"coordinates of the {found.attrs['long_name']}"
        found.attrs["feature"] = (
            "coordinate in an orthonormal basis of the span of centres, noise and initial weights, and one beyond; not one "
            f"of the {span.dimension} features"
        )
    return found


def leaves(network: Network, arrays: Sequence[Any], over: tuple[str, ...]) -> dict[str, xr.Variable]:
    """The trained arrays of an ordinary network whose rows are no neurons, by their names; before their own dimensions,
    what the arrays are over, and of an ensemble `seed`."""
    if network.neurons is not None and network.neurons.layered:
        return _layers(arrays, over, network.neurons.bias)
    variables = {}
    for place, (leaf, array) in enumerate(zip(network.others, arrays, strict=True)):
        own = tuple(f"{leaf.name}_{axis}" for axis in range(len(leaf.shape)))
        variables[leaf.name] = _over(over, own, array, f"trained array {leaf.name}")
        variables[leaf.name].attrs[LEAF] = place
    return variables


def _layers(arrays: Sequence[Any], over: tuple[str, ...], bias: bool) -> dict[str, xr.Variable]:
    """The layers above the first, along `neuron` of the first and `unit_2`, `unit_3`, … of the others."""
    variables = {}
    for layer, matrices in enumerate(arrays, start=2):
        here, below = f"unit_{layer}", "neuron" if layer == 2 else f"unit_{layer - 1}"
        units = matrices.shape[-1] - bias
        of = f"of layer {layer}{', the output' if layer == len(arrays) + 1 else ''}"
        weights = _over(over, (here, below), matrices[..., :units], f"weights {of}")
        variables[LAYER_WEIGHT.format(layer)] = weights
        if bias:
            variables[LAYER_BIAS.format(layer)] = _over(over, (here,), matrices[..., -1], f"biases {of}")
    return variables


def _over(over: tuple[str, ...], own: tuple[str, ...], array: Any, long_name: str) -> xr.Variable:
    lead = ("seed",) if array.ndim > len(own) + len(over) else ()
    return _variable((*lead, *over, *own), array, long_name)


def leaves_of(dataset: xr.Dataset) -> tuple[Any, ...]:
    """What `leaves` has made variables of, as a trajectory holds it."""
    names = leaf_names(dataset)
    return tuple(dataset[name].values for name in names) if names else layers_of(dataset)


def leaf_names(dataset: xr.Dataset) -> list[str]:
    """The names that `leaves` has given to trained arrays, in their order; [] of layers."""
    found = {str(name): int(array.attrs[LEAF]) for name, array in dataset.data_vars.items() if LEAF in array.attrs}
    return sorted(found, key=found.__getitem__)


def _with_iterations(root: xr.Dataset, scenario: Scenario, steps: Any) -> xr.Dataset:
    """The trajectory of descent with the iteration of each instant and the step size; any other as it is.

    steps (T,): those until each instant.
    """
    if scenario.stage:
        if not all(stage.descends for stage in scenario.stage):
            return root
        return root.assign_coords(iteration=_named("iteration", np.asarray(steps, dtype=np.int64)))
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


def taken(scenario: Scenario, problem: Problem) -> dict[str, xr.Dataset]:
    """The groups of what a run has taken from outside, from files or from memory."""
    found = {"/data": data(scenario, problem), "/init": init(scenario, problem)}
    return {name: group for name, group in found.items() if group is not None}


def redrawn(arrays: Mapping[str, Mapping[str, Any]]) -> xr.Dataset:
    """What stages have drawn anew: stage -> name of a trained array -> its values at the stage's beginning. Of a stage that
    has not drawn an array they are not numbers."""
    names = list(dict.fromkeys(name for drawn in arrays.values() for name in drawn))
    variables = {}
    for name in names:
        shape = next(np.shape(drawn[name]) for drawn in arrays.values() if name in drawn)
        values = np.array([drawn.get(name, np.full(shape, np.nan)) for drawn in arrays.values()])
        own = tuple(f"{name}_{axis}" for axis in range(len(shape)))
        variables[name] = _variable(("redrawing", *own), values, f"trained array {name} as the stage has drawn it")
    stages = _variable(("redrawing",), np.array(list(arrays)), "stage that begins with what it draws anew")
    return xr.Dataset(variables, {"redrawing_stage": stages})


def data(scenario: Scenario, problem: Problem) -> xr.Dataset | None:
    """The samples themselves, for runs whose data come from a file or from memory; the result can then serve as that table.
    Held-out samples are beside them where these come from there, too.

    Of an ensemble whose members draw their samples around centres from a file, the centres alone; None for all other runs.
    """
    if outside(scenario.data) is None:
        return None
    variables = _held_out(scenario, problem)
    if getattr(scenario.data, "file", None) is None:
        return xr.Dataset(variables)
    if not scenario.is_ensemble or scenario.data.alike:
        variables["x"] = _variable(("row", "feature"), problem.inputs, "features of the sample")
        variables["y"] = _variable(("row", "target")[: problem.label.ndim], problem.label, COORDINATES["label"])
        if len(problem.centers):
            variables["cluster"] = _variable(("row",), problem.sample_cluster, COORDINATES["sample_cluster"])
    if len(problem.centers):
        variables["centers"] = _variable(("center", "feature"), problem.centers, "cluster centre")
    return xr.Dataset(variables)


def init(scenario: Scenario, problem: Problem) -> xr.Dataset | None:
    """The weights that a run started from, where they come from a file or from memory; None for those that were drawn."""
    if outside(scenario.init) is None:
        return None
    dims: dict[str, tuple[str, ...]] = {"hidden_direction": ("neuron", "feature")}
    arrays = scenario.arrays("init") or problem.weights.arrays()
    if problem.network is not None and not problem.has_neurons:
        return xr.Dataset(leaves(problem.network, [arrays[leaf.name] for leaf in problem.network.leaves], ()))
    for layer, _ in enumerate(layers_of(arrays), start=2):
        here, below = f"unit_{layer}", "neuron" if layer == 2 else f"unit_{layer - 1}"
        dims |= {LAYER_WEIGHT.format(layer): (here, below), LAYER_BIAS.format(layer): (here,)}
    return xr.Dataset(
        {
            name: _variable(dims.get(name, ("neuron",)), array, INIT.get(name, "weights of a layer at time 0"))
            for name, array in arrays.items()
        }
    )


def _held_out(scenario: Scenario, problem: Problem) -> dict[str, xr.Variable]:
    """Held-out samples of a file, or in memory."""
    test, asked = problem.test, scenario.data.test
    if test is None or (asked is not None and asked.samples is not None):
        return {}
    variables = {
        "test_x": _variable(("test_row", "feature"), test.inputs, "features of the held-out sample"),
        "test_y": _variable(
            ("test_row", "target")[: test.label.ndim], test.label, "label or target of the held-out sample"
        ),
    }
    if bool((test.sample_cluster >= 0).all()):
        variables["test_cluster"] = _variable(("test_row",), test.sample_cluster, "cluster of the held-out sample")
    return variables


def snapshot_index(dataset: xr.Dataset) -> Integers:
    """Where along `time` the weights were kept."""
    return kept_at(dataset)


def observed_groups() -> set[str]:
    """The groups that observables have of their own."""
    return {observable.group for observable in OBSERVABLES.values()} - {""}


def trajectory_of(tree: xr.DataTree) -> Trajectory:
    """The trajectory that a result holds: the inverse of `root` and `numerics`."""
    dataset = tree.to_dataset()
    time = dataset["time"].values
    log10_time = dataset["log10_time"].values if "log10_time" in dataset.coords else None
    kept_weights = snapshot_index(dataset)
    neurons, features = dataset.sizes.get("neuron", 0), dataset.sizes.get("feature", 0)
    none = np.zeros((len(kept_weights), neurons))
    observed = (tree.children[group].to_dataset() for group in observed_groups() & tree.children.keys())
    return Trajectory(
        time=time,
        log10_time=log10_time,
        variables={
            str(name): array.values
            for found in (dataset, *observed)
            for name, array in found.data_vars.items()
            if name not in WEIGHTS and array.dims[:1] == ("time",)
        },
        numerics={name: tree[f"numerics/{name}"].to_numpy() for name in NUMERICS},
        kept_weights=kept_weights,
        direction=dataset["direction"].values
        if "direction" in dataset
        else np.zeros((len(kept_weights), neurons, features)),
        bias=dataset["bias_weight"].values if "bias_weight" in dataset else none,
        leaves=leaves_of(dataset),
    )


def named_by(dataset: xr.Dataset) -> str:
    """The coordinate that a trajectory's instants are best called by: log10_time where the loss clock ran, unless it took
    over on the way and time is still a number throughout."""
    if "log10_time" not in dataset.coords:
        return "time"
    until_now = dataset.attrs.get("clock") == GOING_OVER and bool(np.isfinite(dataset["time"]).all())
    return "time" if until_now else "log10_time"


def _observed(variables: Mapping[str, Any], known: Mapping[str, Any], over: tuple[str, ...]) -> dict[str, xr.Variable]:
    """Observables and their quantiles with the leading dimensions `over`."""
    quantiles = ("cluster", "quantile") if "cluster_label" in known else ("quantile",)
    found = {}
    for name, values in variables.items():
        if _plain(name) not in OBSERVABLES:
            own = tuple(f"{name}_{axis}" for axis in range(values.ndim - len(over)))
            found[name] = _variable((*over, *own), values, f"{name}, a function of the parameters that was handed over")
            continue
        observable = OBSERVABLES[_plain(name)]
        dims, long_name = observable.dims, observable.long_name
        if name != observable.name:
            dims, long_name = quantiles, f"quantiles over a cluster's samples of the {long_name}"
        found[name] = _variable((*over, *dims), values, long_name, observable.units)
    return found


def _in_group(trajectory: Trajectory, group: str) -> dict[str, Any]:
    return {name: values for name, values in trajectory.variables.items() if _group(name) == group}


def _group(name: str) -> str:
    return OBSERVABLES[_plain(name)].group if _plain(name) in OBSERVABLES else ""


def _plain(name: str) -> str:
    """The observable that a variable is of."""
    return name.removesuffix(QUANTILE_SUFFIX)


def _named(name: str, values: Any) -> xr.Variable:
    dims = DIMENSIONS[name]
    lead = ("seed",) if values.ndim > len(dims) else ()
    return _variable((*lead, *dims), values, {**COORDINATES, **WEIGHTS}[name])


def _variable(dims: tuple[str, ...], values: Any, long_name: str, units: str = "1") -> xr.Variable:
    return xr.Variable(dims, values, {"long_name": long_name, "units": units})
