"""The networks of a run, as functions of the input."""

from __future__ import annotations

from dataclasses import replace

from ...observe import Setting
from ...observe.parameters import arrays
from ...solve import Snapshot
from .classifier import ByProbability, Network, TwoLayer
from .ordinary import Ordinary


def network_of(setting: Setting, snapshot: Snapshot) -> TwoLayer:
    """The two-layer network at a single instant, in the original features. With several outputs, their sum."""
    assert setting.problem.two_layers, "the network is an ordinary one; see classifier_of"
    direction, offset = setting.reduced.lift(snapshot.direction)
    activation = setting.problem.activation.at(snapshot.time)
    return TwoLayer.of_logs(direction, offset, snapshot.log_norm, snapshot.output_sign, snapshot.output_log, activation)


def by_outputs(setting: Setting, snapshot: Snapshot) -> TwoLayer:
    """Of a network with an output for each cluster, the classifier by the positive clusters' outputs less the others'."""
    network, problem = network_of(setting, snapshot), setting.problem
    label = problem.cluster_label[problem.neuron_output]
    return replace(network, weight=label * network.weight, name="outputs")


def classifier_of(setting: Setting, snapshot: Snapshot) -> Network:
    """The network at a single instant, and the binary classifier that it is; with an output for each cluster, that by
    probabilities."""
    problem = setting.problem
    if problem.network is not None:
        return Ordinary(problem.network, arrays(setting.reduced, snapshot), problem.inputs.shape[1])
    network = network_of(setting, snapshot)
    if not problem.loss.classes:
        return network
    return ByProbability(network, problem.neuron_output, problem.cluster_label)
