"""One saved instant, seen through the data: what several observables share is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from ..engine import Snapshot, target_cluster
from ..problem import Problem, Reduced
from ..problem.data.samples import Floats, Integers

#: Rows of the data taken at a time, so that the pre-activations of a large problem are never all in memory.
BLOCK = 8192
TINY = np.finfo(float).tiny


def representable(value: Floats | float, log_factor: Floats | float) -> Floats:
    """value e^log_factor, where what is too small for a float becomes the smallest normal one: only a true 0 reads 0."""
    product = value * np.exp(log_factor)
    zero = (np.asarray(value) == 0) | (np.asarray(log_factor) == -np.inf)
    return np.where((np.abs(product) < TINY) & ~zero, np.copysign(TINY, value), product)


@dataclass(frozen=True)
class Setting:
    """What does not change along a trajectory."""

    reduced: Reduced

    @property
    def problem(self) -> Problem:
        return self.reduced.problem

    @cached_property
    def target(self) -> Integers:
        """(m,): each neuron's target cluster, -1 in the void region"""
        return target_cluster(self.reduced)

    @cached_property
    def membership(self) -> Floats:
        """(K, n'): the share of each cluster's samples that a reduced sample stands for"""
        problem, reduced = self.problem, self.reduced
        counts = np.zeros((len(problem.centers), len(reduced.targets)))
        known = problem.sample_cluster >= 0
        np.add.at(counts, (problem.sample_cluster[known], reduced.representative[known]), 1.0)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)

    @property
    def underflows(self) -> bool:
        """Whether squared norms at the start are below what a float can hold with its full precision."""
        return bool(self.problem.weights.log_norm.min() < 0.5 * np.log(TINY))


@dataclass(frozen=True)
class Instant:
    """One pass over the data serves every observable. Per-sample arrays are over the reduced samples (n',)."""

    setting: Setting
    snapshot: Snapshot

    @property
    def _log_weight(self) -> Floats:
        """(m,): log of the factor of each neuron's response in the output"""
        return self.snapshot.output_log + self.setting.problem.activation.homogeneity * self.snapshot.log_norm

    @cached_property
    def _log_scale(self) -> float:
        """What outputs are divided by, so that a network of any size has outputs of order 1"""
        top = float(self._log_weight.max())
        return top if np.isfinite(top) else 0.0

    @cached_property
    def _pass(self) -> tuple[Floats, Floats]:
        """(outputs (n',) divided by exp(_log_scale), active_fraction (m, K))"""
        reduced, activation, snapshot = self.setting.reduced, self.setting.problem.activation, self.snapshot
        weight = snapshot.output_sign * np.exp(self._log_weight - self._log_scale)
        outputs = np.empty(len(reduced.targets))
        active = np.zeros((len(weight), len(self.setting.membership)))
        for begin in range(0, len(outputs), BLOCK):
            rows = slice(begin, begin + BLOCK)
            projection = reduced.inputs[rows] @ snapshot.direction.T
            response, _ = activation.response(projection, snapshot.log_norm, np)
            outputs[rows] = response @ weight
            active += (projection > 0).T.astype(float) @ self.setting.membership[:, rows].T
        return outputs, active

    @cached_property
    def outputs(self) -> Floats:
        return representable(self._pass[0], self._log_scale)

    @property
    def active_fraction(self) -> Floats:
        """(m, K)"""
        return self._pass[1]

    @property
    def margin(self) -> Floats:
        return self.setting.reduced.targets * self.outputs

    @property
    def loss_derivative(self) -> Floats:
        with np.errstate(over="ignore"):  # the derivative of an exponential loss may truly be infinite
            return self.setting.problem.loss.derivative(self.outputs, self.setting.reduced.targets, np)

    @cached_property
    def log_loss(self) -> float:
        """log of the training loss, exact where the loss underflows"""
        reduced = self.setting.reduced
        per_sample = self.setting.problem.loss.log_value(self.outputs, reduced.targets, np)
        return float(logsumexp(per_sample, b=reduced.sample_weight))
