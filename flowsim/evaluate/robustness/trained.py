"""The networks of a run, as functions of the input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...observe import Setting
from ...observe.parameters import arrays
from ...problem import Problem
from ...solve import Snapshot
from .classifier import ByProbability, Classifier, Network, OwnClass, TwoLayer, difference, lead, odds
from .ordinary import Decision, Ordinary


def network_of(setting: Setting, snapshot: Snapshot) -> TwoLayer:
    """The two-layer network at a single instant, in the original features. With several outputs, their sum."""
    assert setting.problem.two_layers, "the network is an ordinary one; see ordinary_of"
    direction, offset = setting.reduced.lift(snapshot.direction)
    activation = setting.problem.activation.at(snapshot.time)
    return TwoLayer.of_logs(direction, offset, snapshot.log_norm, snapshot.output_sign, snapshot.output_log, activation)


def ordinary_of(setting: Setting, snapshot: Snapshot) -> Ordinary:
    """The network at a single instant, a function of a tree of arrays."""
    problem = setting.problem
    assert problem.network is not None, "the network is one of two layers of neurons; see network_of"
    return Ordinary(problem.network, arrays(setting.reduced, snapshot), problem.features)


def by_label(problem: Problem) -> bool:
    """Whether the problem's network has an output for each cluster, and these have labels of both signs, so that it is a
    binary classifier."""
    of_clusters = problem.loss.classes and np.array_equal(problem.targets, problem.sample_cluster)
    return of_clusters and set(problem.cluster_label.tolist()) == {-1, 1}


def by_outputs(setting: Setting, snapshot: Snapshot) -> Network | TwoLayer:
    """Of a network with an output for each cluster, the classifier by the positive clusters' outputs less the others'."""
    problem = setting.problem
    if problem.network is not None:
        return Decision(ordinary_of(setting, snapshot), difference, 1.0 * problem.cluster_label, name="outputs")
    network = network_of(setting, snapshot)
    label = problem.cluster_label[problem.neuron_output]
    return replace(network, weight=label * network.weight, name="outputs")


def of_class(setting: Setting, snapshot: Snapshot, own: int) -> Classifier:
    """Of a network with several outputs, whether it decides for the output `own`: that less the largest other."""
    problem = setting.problem
    if problem.network is not None:
        return Decision(ordinary_of(setting, snapshot), lead, own, name="classes")
    return OwnClass(network_of(setting, snapshot), problem.neuron_output, problem.outputs, own)


def classifier_of(setting: Setting, snapshot: Snapshot) -> Network:
    """The network at a single instant, and the binary classifier that it is; with an output for each cluster, that by
    probabilities."""
    problem = setting.problem
    if problem.network is not None:
        ordinary = ordinary_of(setting, snapshot)
        return Decision(ordinary, odds, problem.cluster_label) if by_label(problem) else ordinary
    network = network_of(setting, snapshot)
    if not problem.loss.classes:
        return network
    return ByProbability(network, problem.neuron_output, problem.cluster_label)
