"""Saved instants, one or many, seen through the data: what several observables share is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Integers
from ..errors import UsageError
from ..kinds.network import Network
from ..kinds.pixels import Stored
from ..kinds.samples import Samples
from ..kinds.streams import stream
from ..problem import Problem, Reduced
from ..scenario.flow import Attack
from ..scenario.observe import Observe
from ..solve import Snapshot, target_cluster
from ..threads import blas_threads
from .decomposition import Decomposition
from .derivatives import Derivatives
from .kkt import Certificate, certify
from .parameters import arrays

#: Rows of the data taken at a time, so that the pre-activations of a large problem are never all in memory.
BLOCK = 8192
#: Instants are observed as many at a time as keep the largest array within so many bytes: what a core has close by, and
#: enough of them that calls cost little beside arithmetic.
BATCH_BYTES = 2**22
TINY = np.finfo(float).tiny


def representable(value: Floats | float, log_factor: Floats | float) -> Floats:
    """value e^log_factor, where what is too small for a float becomes the smallest normal one: only a true 0 reads 0."""
    product = value * np.exp(log_factor)
    zero = (np.asarray(value) == 0) | (np.asarray(log_factor) == -np.inf)
    return np.where((np.abs(product) < TINY) & ~zero, np.copysign(TINY, value), product)


@dataclass(frozen=True)
class Setting:
    """What does not change along a trajectory. observe: how observables that have keys of their own are looked at. attack:
    who moves held-out samples, that of the first stage with an attacker.
    follows_sliding: whether snapshots say which pairs slide."""

    reduced: Reduced
    observe: Observe = field(default_factory=Observe)
    attack: Attack | None = None
    follows_sliding: bool = False

    @property
    def problem(self) -> Problem:
        return self.reduced.problem

    @cached_property
    def target(self) -> Integers:
        """(m,): each neuron's target cluster, -1 in the void region"""
        return target_cluster(self.reduced)

    @cached_property
    def cluster_counts(self) -> Floats:
        """(K, n'): how many of each cluster's samples a reduced sample stands for"""
        problem, reduced = self.problem, self.reduced
        counts = np.zeros((len(problem.centers), len(reduced.targets)))
        known = problem.sample_cluster >= 0
        np.add.at(counts, (problem.sample_cluster[known], reduced.representative[known]), 1.0)
        return counts

    @cached_property
    def multiplicity(self) -> Floats:
        """(n',): how many samples a reduced sample stands for"""
        return np.bincount(self.reduced.representative, minlength=len(self.reduced.targets)).astype(float)

    @cached_property
    def flips(self) -> Floats:
        """(n',): how many samples whose label was flipped a reduced sample stands for"""
        flipped = self.reduced.representative[self.problem.samples.flipped]
        return np.bincount(flipped, minlength=len(self.reduced.targets)).astype(float)

    @cached_property
    def decomposition(self) -> Decomposition | None:
        """How neurons decompose into centres and noise; None where the weights do not determine it"""
        # it may be asked for before a run and within one, and has to round the same
        with blas_threads(self.reduced.operations):
            return Decomposition.of(self.reduced)

    @cached_property
    def derivatives(self) -> Derivatives:
        """Of a network that :func:`flowsim.observe.conditions.is_differentiable` admits"""
        from ..kinds.trees import at_a_time  # with JAX, which other observables do without
        from ..solve.function import network_of

        problem, network = self.problem, network_of(self.problem)
        data = problem.samples.stored, problem.targets.T, problem.sample_weight
        return Derivatives(network.of_features, problem.loss, *data, at_a_time(network))

    @cached_property
    def kernel_samples(self) -> Integers:
        """Indices of the samples, in increasing order, that the tangent kernel is of; the same for every seed"""
        samples, wanted = len(self.problem.targets), self.observe.kernel_samples
        if samples <= wanted:
            return np.arange(samples)
        return np.sort(stream(0, "observe.tangent_kernel").choice(samples, wanted, replace=False))

    @cached_property
    def probes(self) -> Floats | None:
        """(p, d): the points of [observe], those that are listed first; None where there are none"""
        listed, grid = self.observe.probes or (), self.observe.grid
        if grid is not None:
            axes = [np.linspace(axis.begin, axis.to, axis.count) for axis in grid]
            corners = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
            return np.array([*listed, *corners])
        return np.array(listed) if listed else None

    @cached_property
    def first_kernel(self) -> Floats:
        """The tangent kernel at time 0"""
        return Instant(self, Snapshot.first(self.reduced)).tangent_kernel

    @property
    def batch(self) -> int:
        """How many instants may be observed at once."""
        neurons, coordinates = self.reduced.direction.shape
        rows = min(len(self.reduced.targets), BLOCK)
        largest = max(neurons * max(rows, coordinates, len(self.problem.centers)), len(self.problem.targets))
        if (test := self.problem.test) is not None:
            rows, features = min(len(test.targets), BLOCK), test.features
            largest = max(largest, neurons * max(rows, features), len(test.targets))
        return max(BATCH_BYTES // (8 * largest), 1)

    @property
    def underflows(self) -> bool:
        """Whether squared norms at the start are below what a float can hold with its full precision."""
        return bool(self.problem.weights.log_norm.min(initial=0.0) < 0.5 * np.log(TINY))


@dataclass(frozen=True)
class Instant:
    """One pass over the data serves every observable. Per-sample arrays are over the reduced samples (…, n').

    The leading axes … are those of the snapshot: none for a single instant, one for many.
    """

    setting: Setting
    snapshot: Snapshot

    @property
    def problem(self) -> Problem:
        return self.setting.problem

    @property
    def time(self) -> Floats:
        """(…)"""
        return np.asarray(self.snapshot.time)

    @property
    def direction(self) -> Floats:
        """(…, m, d): weights of the neurons in the original features, divided by exp(log_norm)"""
        return self._lifted[0]

    @property
    def bias(self) -> Floats:
        """(…, m): their bias entries, divided by exp(log_norm)"""
        return self._lifted[1]

    @property
    def log_norm(self) -> Floats:
        """(…, m)"""
        return self.snapshot.log_norm

    @property
    def hidden(self) -> Floats:
        """(…, m, d): weights of the neurons in the original features; what is too small for a float reads 1e-308"""
        return representable(self.direction, self.log_norm[..., None])

    @property
    def output_weight(self) -> Floats:
        """(…, m): v_j, of a network of two layers"""
        return representable(self.snapshot.output_sign, self.snapshot.output_log)

    @cached_property
    def each(self) -> tuple[Instant, ...]:
        """The single instants of many."""
        return tuple(Instant(self.setting, self.snapshot[index]) for index in range(len(self.snapshot.time)))

    @cached_property
    def _lifted(self) -> tuple[Floats, Floats]:
        if not self.problem.has_neurons:
            raise UsageError("the network has no neurons, but instant.params, the tree of its parameters")
        return self.setting.reduced.lift(self.snapshot.direction)

    @property
    def _log_weight(self) -> Floats:
        """(…, m): log of the factor of each neuron's response in the output, of two layers"""
        return self.snapshot.output_log + self.setting.problem.activation.homogeneity * self.snapshot.log_norm

    @cached_property
    def _log_scale(self) -> Floats:
        """(…, 1): log of what outputs are divided by, so that a network of any size has outputs of order 1"""
        if self.setting.problem.network is not None:
            return np.zeros((*np.shape(self.snapshot.time), 1))
        top = self._log_weight.max(axis=-1, keepdims=True)
        return np.where(np.isfinite(top), top, 0.0)

    @cached_property
    def _pass(self) -> tuple[Floats, Floats]:
        """(outputs (…, k, n') divided by exp(_log_scale), active_fraction (…, m, K))"""
        problem, reduced, snapshot = self.setting.problem, self.setting.reduced, self.snapshot
        outputs = np.empty((*snapshot.log_norm.shape[:-1], problem.outputs, len(reduced.targets)))
        if (network := problem.network) is not None:
            outputs = self._of_network(network, snapshot.arrays(network), reduced.stored)
        counts = self.setting.cluster_counts
        active = np.zeros((*snapshot.log_norm.shape, len(counts)))
        seen = len(reduced.targets) if problem.has_neurons else 0
        for begin in range(0, seen, BLOCK):
            rows = slice(begin, begin + BLOCK)
            projection = reduced.projections(snapshot.direction, rows)
            if snapshot.sliding is not None:  # exactly 0, but for rounding
                projection[snapshot.sliding[..., rows]] = 0.0
            if network is None:
                outputs[..., rows] = self._of_neurons(projection)
            if active.size:
                # whole numbers, which add up exactly in any order: a share of 1 is exactly 1
                active += (projection > 0).astype(float) @ counts[:, rows].T
        return outputs, active / np.maximum(counts.sum(axis=1), 1.0)

    @cached_property
    def _weight(self) -> Floats:
        """(…, m): the factor of each neuron's response in the output, divided by exp(_log_scale)"""
        return self.snapshot.output_sign * np.exp(self._log_weight - self._log_scale)

    def _of_neurons(self, projection: Floats) -> Floats:
        """(…, k, n): outputs of two layers divided by exp(_log_scale); projection (…, m, n): products of inputs with
        the neurons' directions"""
        problem, snapshot = self.setting.problem, self.snapshot
        response, _ = problem.activation.at(snapshot.time).response(projection, snapshot.log_norm[..., None], np)
        by_output = (*self._weight.shape[:-1], problem.outputs, -1)
        parts = self._weight.reshape(by_output)[..., None, :] @ response.reshape(*by_output, projection.shape[-1])
        return np.asarray(parts[..., 0, :])

    def _sized(self, outputs: Floats) -> Floats:
        """The outputs themselves, (…, n) of a network with a single one"""
        outputs = representable(outputs, self._log_scale[..., None])
        return outputs if self.setting.problem.loss.several else outputs[..., 0, :]

    def _of_network(self, network: Network, arrays: Sequence[Floats], seen: Stored) -> Floats:
        """(…, k, n): outputs of an ordinary network"""
        from ..kinds.trees import outputs_at  # with JAX, which other networks do without

        found = outputs_at(network, arrays, seen)
        return found if network.count > 1 else found[..., None, :]

    @property
    def params(self) -> Any:
        """Of an ordinary network at a single instant, the tree of its parameters, in NumPy."""
        network = self.setting.problem.network
        if network is None:
            raise UsageError("the network has two layers of neurons, and no tree of parameters")
        return network.tree(self.arrays)

    def singly(self, value: Callable[[Instant], Any]) -> Floats:
        """``(…, *shape)``: a value at one instant after the other; JAX is in float64 where the network is ordinary."""
        if self.problem.network is not None:
            from ..kinds.trees import in_float64  # with JAX, which other networks do without

            value = in_float64(value)
        if not np.ndim(self.snapshot.time):
            return np.asarray(value(self))
        return np.array([value(single) for single in self.each])

    @cached_property
    def outputs(self) -> Floats:
        """(…, n'), or (…, k, n') of a network with an output for each class"""
        return self._sized(self._pass[0])

    @cached_property
    def test_outputs(self) -> Floats:
        """(…, n), or (…, k, n): on the held-out samples, which also see what neurons have outside the span of the data"""
        outputs = self.outputs_at(self._test.stored)
        return outputs if self.setting.problem.loss.several else outputs[..., 0, :]

    def outputs_at(self, inputs: Stored) -> Floats:
        """(…, k, n): outputs at inputs (n, d)"""
        if (network := self.setting.problem.network) is not None:
            return self._of_network(network, self.arrays, network.seen(inputs[:]) if network.neurons else inputs)
        direction, bias = self._lifted
        outputs = np.empty((*direction.shape[:-2], self.setting.problem.outputs, len(inputs)))
        for begin in range(0, len(inputs), BLOCK):
            rows = slice(begin, begin + BLOCK)
            outputs[..., rows] = self._of_neurons(direction @ inputs[rows].T + bias[..., None])
        return representable(outputs, self._log_scale[..., None])

    @cached_property
    def arrays(self) -> tuple[Floats, ...]:
        """All that is trained, named by :func:`flowsim.observe.parameters.leaves`; leading axes (…)"""
        return arrays(self.setting.reduced, self.snapshot)

    @cached_property
    def tangent_kernel(self) -> Floats:
        """(…, k n, k n): on `setting.kernel_samples`, all samples of the first output first"""
        setting = self.setting
        inputs = setting.problem.samples.stored[setting.kernel_samples]
        return self.singly(lambda single: setting.derivatives.tangent_kernel(single.arrays, inputs))

    @property
    def _test(self) -> Samples:
        assert self.setting.problem.test is not None, "there are no held-out samples"
        return self.setting.problem.test

    @property
    def active_fraction(self) -> Floats:
        """(…, m, K)"""
        return self._pass[1]

    @property
    def margin(self) -> Floats:
        """(…, n'): y f, or by how much the output of the sample's class is beyond the largest other"""
        return self._margin(self.outputs, self.setting.reduced.targets)

    @property
    def test_margin(self) -> Floats:
        """(…, n): the same of the held-out samples"""
        return self._margin(self.test_outputs, self._test.targets)

    def margin_at(self, inputs: Stored, targets: Floats) -> Floats:
        """(…, n): the same of inputs (n, d) with these targets"""
        outputs = self.outputs_at(inputs)
        return self._margin(outputs if self.setting.problem.loss.several else outputs[..., 0, :], targets)

    def _margin(self, outputs: Floats, targets: Floats) -> Floats:
        if not self.setting.problem.loss.classes:
            return targets * outputs
        own = targets == np.arange(self.setting.problem.outputs)[:, None]
        return _of_own_class(outputs, targets) - np.where(own, -np.inf, outputs).max(axis=-2)

    @cached_property
    def derivative(self) -> Floats:
        """Of the sample's loss in every output: shaped like these."""
        with np.errstate(over="ignore"):  # the derivative of an exponential loss may truly be infinite
            return self.setting.problem.loss.derivative(self.outputs, self.setting.reduced.targets.T, np)

    @property
    def loss_derivative(self) -> Floats:
        """(…, n'): in f, or in the output of the sample's class"""
        if not self.setting.problem.loss.classes:
            return self.derivative
        return _of_own_class(self.derivative, self.setting.reduced.targets)

    def binary_margin(self, by_probability: bool) -> Floats:
        """(…, n'): of the classifier that a network with an output for each cluster makes of its classes: the label of the
        sample's cluster times the sum over the positive clusters less that over the negative, of softmax or of outputs."""
        label, values = self.setting.problem.cluster_label, self.outputs
        if by_probability:
            values = np.exp(values - values.max(axis=-2, keepdims=True))
            values = values / values.sum(axis=-2, keepdims=True)
        own = label[self.setting.reduced.targets.astype(int)]
        return own * (label[:, None] * values).sum(axis=-2)

    @cached_property
    def log_loss(self) -> Floats:
        """(…): log of the training loss, exact where the loss underflows"""
        reduced = self.setting.reduced
        return self._log_sum(self.outputs, reduced.targets, reduced.sample_weight)

    @cached_property
    def log_test_loss(self) -> Floats:
        """(…): log of the mean loss over the held-out samples, whatever the reduction in training"""
        targets = self._test.targets
        return self._log_sum(self.test_outputs, targets, np.full(len(targets), 1 / len(targets)))

    def _log_sum(self, outputs: Floats, targets: Floats, weight: Floats) -> Floats:
        """(…): log of the sum of the samples' losses times weight (n,)"""
        per_sample = self.setting.problem.loss.log_value(outputs, targets.T, np)
        top = per_sample.max(axis=-1, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return shift[..., 0] + np.log((np.exp(per_sample - shift) * weight).sum(axis=-1))

    @cached_property
    def certificate(self) -> Certificate:
        """How far the network is from a KKT point; only for problems that :func:`flowsim.observe.kkt.certifiable` admits"""
        setting = self.setting
        outputs = self._pass[0][..., 0, :]
        return certify(setting.reduced, self.snapshot, outputs, self._log_scale, setting.multiplicity, BLOCK)


def _of_own_class(values: Floats, targets: Floats) -> Floats:
    """(…, k, n) -> (…, n): each sample's entry for its own class"""
    own = targets.astype(int)
    return values[..., own, np.arange(len(own))]
