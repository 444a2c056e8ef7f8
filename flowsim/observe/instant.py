"""Saved instants, one or many, seen through the data: what several observables share is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import matmul

import numpy as np

from ..engine import Snapshot, target_cluster
from ..problem import Problem, Reduced
from ..problem.data.samples import Floats, Integers
from ..problem.networks.layers import forward
from .decomposition import Decomposition
from .kkt import Certificate, certify

#: Rows of the data taken at a time, so that the pre-activations of a large problem are never all in memory.
BLOCK = 8192
#: Instants are observed as many at a time as keep the largest array within so many bytes: what a core has close by.
BATCH_BYTES = 2**19
TINY = np.finfo(float).tiny


def representable(value: Floats | float, log_factor: Floats | float) -> Floats:
    """value e^log_factor, where what is too small for a float becomes the smallest normal one: only a true 0 reads 0."""
    product = value * np.exp(log_factor)
    zero = (np.asarray(value) == 0) | (np.asarray(log_factor) == -np.inf)
    return np.where((np.abs(product) < TINY) & ~zero, np.copysign(TINY, value), product)


@dataclass(frozen=True)
class Setting:
    """What does not change along a trajectory. follows_sliding: whether snapshots say which pairs slide."""

    reduced: Reduced
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
        return Decomposition.of(self.reduced)

    @property
    def batch(self) -> int:
        """How many instants may be observed at once."""
        neurons, coordinates = self.reduced.direction.shape
        rows = min(len(self.reduced.targets), BLOCK)
        largest = max(neurons * max(rows, coordinates, len(self.problem.centers)), len(self.problem.targets))
        return max(BATCH_BYTES // (8 * largest), 1)

    @property
    def underflows(self) -> bool:
        """Whether squared norms at the start are below what a float can hold with its full precision."""
        return bool(self.problem.weights.log_norm.min() < 0.5 * np.log(TINY))


@dataclass(frozen=True)
class Instant:
    """One pass over the data serves every observable. Per-sample arrays are over the reduced samples (…, n').

    The leading axes … are those of the snapshot: none for a single instant, one for many.
    """

    setting: Setting
    snapshot: Snapshot

    @property
    def _log_weight(self) -> Floats:
        """(…, m): log of the factor of each neuron's response in the output; 0 where layers are between the two"""
        if self.setting.problem.upper:
            return np.zeros_like(self.snapshot.log_norm)
        return self.snapshot.output_log + self.setting.problem.activation.homogeneity * self.snapshot.log_norm

    @cached_property
    def _log_scale(self) -> Floats:
        """(…, 1): log of what outputs are divided by, so that a network of any size has outputs of order 1"""
        top = self._log_weight.max(axis=-1, keepdims=True)
        return np.where(np.isfinite(top), top, 0.0)

    @cached_property
    def _pass(self) -> tuple[Floats, Floats]:
        """(outputs (…, k, n') divided by exp(_log_scale), active_fraction (…, m, K))"""
        problem, reduced, snapshot = self.setting.problem, self.setting.reduced, self.snapshot
        weight = snapshot.output_sign * np.exp(self._log_weight - self._log_scale)
        by_output = (*weight.shape[:-1], problem.outputs, -1)
        outputs = np.empty((*by_output[:-1], len(reduced.targets)))
        counts = self.setting.cluster_counts
        active = np.zeros((*weight.shape, len(counts)))
        for begin in range(0, len(reduced.targets), BLOCK):
            rows = slice(begin, begin + BLOCK)
            projection = reduced.projections(snapshot.direction, rows)
            if snapshot.sliding is not None:  # exactly 0, but for rounding
                projection[snapshot.sliding[..., rows]] = 0.0
            if problem.upper:
                first = np.exp(snapshot.log_norm)[..., None] * projection
                outputs[..., rows], _ = forward(first, snapshot.upper, problem.activation, np, matmul)
            else:
                response, _ = problem.activation.at(snapshot.time).response(
                    projection, snapshot.log_norm[..., None], np
                )
                if problem.gates is not None:
                    response = response * problem.gates.at(reduced.inputs[rows]).T
                parts = weight.reshape(by_output)[..., None, :] @ response.reshape(*by_output, projection.shape[-1])
                outputs[..., rows] = parts[..., 0, :]
            if active.size:
                # whole numbers, which add up exactly in any order: a share of 1 is exactly 1
                active += (projection > 0).astype(float) @ counts[:, rows].T
        return outputs, active / np.maximum(counts.sum(axis=1), 1.0)

    @cached_property
    def outputs(self) -> Floats:
        """(…, n'), or (…, k, n') of a network with an output for each class"""
        outputs = representable(self._pass[0], self._log_scale[..., None])
        return outputs if self.setting.problem.loss.classes else outputs[..., 0, :]

    @property
    def active_fraction(self) -> Floats:
        """(…, m, K)"""
        return self._pass[1]

    @property
    def margin(self) -> Floats:
        """(…, n'): y f, or by how much the output of the sample's class is beyond the largest other"""
        if not self.setting.problem.loss.classes:
            return self.setting.reduced.targets * self.outputs
        own = self.setting.reduced.targets == np.arange(self.setting.problem.outputs)[:, None]
        others = np.where(own, -np.inf, self.outputs).max(axis=-2)
        return self._of_own_class(self.outputs) - others

    @cached_property
    def derivative(self) -> Floats:
        """Of the sample's loss in every output: shaped like these."""
        with np.errstate(over="ignore"):  # the derivative of an exponential loss may truly be infinite
            return self.setting.problem.loss.derivative(self.outputs, self.setting.reduced.targets, np)

    @property
    def loss_derivative(self) -> Floats:
        """(…, n'): in f, or in the output of the sample's class"""
        return self._of_own_class(self.derivative) if self.setting.problem.loss.classes else self.derivative

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
        per_sample = self.setting.problem.loss.log_value(self.outputs, reduced.targets, np)
        top = per_sample.max(axis=-1, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return shift[..., 0] + np.log((np.exp(per_sample - shift) * reduced.sample_weight).sum(axis=-1))

    @cached_property
    def certificate(self) -> Certificate:
        """How far the network is from a KKT point; only for problems that :func:`flowsim.observe.kkt.certifiable` admits"""
        setting = self.setting
        outputs = self._pass[0][..., 0, :]
        return certify(setting.reduced, self.snapshot, outputs, self._log_scale, setting.multiplicity, BLOCK)

    def _of_own_class(self, values: Floats) -> Floats:
        """(…, k, n') -> (…, n'): each sample's entry for its own class"""
        own = self.setting.reduced.targets.astype(int)
        return values[..., own, np.arange(len(own))]
