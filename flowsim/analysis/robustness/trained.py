"""The networks of a run, as functions of the input."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

import numpy as np
import xarray as xr

from ...engine import Snapshot
from ...errors import UsageError
from ...observe import Setting
from ...problem import build, reduce
from ...scenario import loads
from .classifier import ByProbability, Classifier, TwoLayer


def weights_of(setting: Setting, trajectory: xr.Dataset) -> Snapshot:
    """The instants of a trajectory whose weights were kept, as many. Raises UsageError where there are none."""
    for name in ("direction", "log_norm"):
        if name not in trajectory:
            raise UsageError(f"the weights were not kept ({name} is missing; see observe.snapshots)")
    index = np.searchsorted(trajectory["time"].values, trajectory["snapshot"].values)
    start = setting.problem.weights
    shape = (len(index), len(start.output_log))
    bias = trajectory["bias_weight"].values if "bias_weight" in trajectory else np.zeros(shape)
    sign, size = np.broadcast_to(start.output_sign, shape), np.broadcast_to(start.output_log, shape)
    if setting.problem.trained_output:
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
    )


def network_of(setting: Setting, snapshot: Snapshot) -> TwoLayer:
    """The network at a single instant, in the original features. With several outputs, their sum."""
    direction, offset = setting.reduced.lift(snapshot.direction)
    return TwoLayer.of_logs(
        direction, offset, snapshot.log_norm, snapshot.output_sign, snapshot.output_log, setting.problem.activation
    )


def by_outputs(setting: Setting, snapshot: Snapshot) -> TwoLayer:
    """Of a network with an output for each cluster, the classifier by the positive clusters' outputs less the others'."""
    network, problem = network_of(setting, snapshot), setting.problem
    label = problem.cluster_label[problem.neuron_output]
    return replace(network, weight=label * network.weight, name="outputs")


def classifier_of(setting: Setting, snapshot: Snapshot) -> Classifier:
    """The binary classifier that the network at a single instant is; with an output for each cluster, that by
    probabilities."""
    network, problem = network_of(setting, snapshot), setting.problem
    if not problem.loss.classes:
        return network
    return ByProbability(network, problem.neuron_output, problem.cluster_label)


def of_result(tree: xr.DataTree, at: int = -1, folder: str | PathLike[str] = "") -> Classifier:
    """The trained network of a run as a classifier.

    at: which of the kept weights. folder: where the scenario's relative paths start.
    Raises UsageError where the weights were not kept, or for an ensemble.
    """
    scenario = loads(str(tree.attrs["scenario"]), folder=folder)
    setting = Setting(reduce(build(scenario), project=scenario.flow.reduce, merge=scenario.flow.merge))
    return classifier_of(setting, weights_of(setting, tree.to_dataset())[at])
