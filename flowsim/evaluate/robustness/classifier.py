"""Binary classifiers as functions of the input: their sign is the class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Protocol, Self

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...kinds.activations import Activation

#: Directions whose part outside of the others is below this, relative to the largest, add nothing to their span.
RANK_TOLERANCE = 1e-12


class Classifier(Protocol):
    """A function of x (d,) whose sign is the class. Where only the sign is meant, its size may be any increasing odd
    function of what a paper writes: a network divided by a factor, log-odds instead of a difference of probabilities."""

    @property
    def name(self) -> str:
        """What results and plots call it."""

    @property
    def dimension(self) -> int:
        """d"""

    @property
    def directions(self) -> Floats:
        """(k, d): x matters only through its products with these"""

    def within(self, basis: Floats) -> Classifier:
        """The same function of z (r,), x = basis z, for an orthonormal basis (d, r) of a space that holds `directions`."""

    def value(self, x: Floats) -> Floats:
        """(n, d) -> (n,)"""

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        """(n, d) -> (n,), (n, d)"""


class Network(Classifier, Protocol):
    """What a run has trained."""

    def __call__(self, x: Floats) -> Floats:
        """(n, d) -> the network's output (n,), or its outputs (n, k)"""

    def scores(self, x: Floats) -> Floats:
        """(n, d) -> its outputs (n, k), up to a positive factor with which they do not underflow"""


def restricted(classifier: Classifier) -> tuple[Classifier, Floats | None]:
    """(the classifier in r coordinates, basis (d, r) of the span of its directions): f(x) is that of basis^T x.

    Of a classifier that needs all d coordinates, itself and None.
    """
    directions = classifier.directions
    if len(directions) == 0 or np.array_equal(directions, np.eye(classifier.dimension)):
        return classifier, None  # nothing is left out; of images, that many directions take minutes to be decomposed
    # a row's length is of no meaning for the span, and tiny neurons have a direction, too
    norm = np.linalg.norm(directions, axis=1, keepdims=True)
    _, sizes, rows = np.linalg.svd(directions / np.where(norm > 0, norm, 1.0), full_matrices=False)
    basis = rows[sizes > RANK_TOLERANCE * sizes[0]].T
    return (classifier, None) if basis.shape[1] == classifier.dimension else (classifier.within(basis), basis)


@dataclass(frozen=True)
class TwoLayer:
    """A two-layer network, exp(log_scale) sum_j weight_j k(<direction_j, x> + offset_j, log_norm_j), k the response of its
    activation; direction (m, d), offset, log_norm, weight (m,).

    A neuron's (direction, offset) is its weight vector and bias divided by exp(log_norm), so a vector of norm 1, and weight
    its v_j |w_j|^q e^-log_scale, q the activation's homogeneity. `value` leaves the factor exp(log_scale) out and so never
    underflows; calling the network has it.
    """

    direction: Floats
    offset: Floats
    log_norm: Floats
    weight: Floats
    activation: Activation
    log_scale: float = 0.0
    name: str = "network"

    @classmethod
    def of(
        cls, hidden: Floats, bias: Floats, output: Floats, activation: Activation, name: str = "network"
    ) -> TwoLayer:
        """Of weight vectors w (m, d), biases and output weights v (m,): sum_j v_j h(w_j, x)."""
        norm = np.sqrt((hidden**2).sum(axis=1) + bias**2)
        divisor = np.where(norm > 0, norm, 1.0)
        weight = output * norm**activation.homogeneity
        return cls(hidden / divisor[:, None], bias / divisor, np.log(divisor), weight, activation, name=name)

    @classmethod
    def of_logs(
        cls,
        direction: Floats,
        offset: Floats,
        log_norm: Floats,
        sign: Floats,
        log_output: Floats,
        activation: Activation,
    ) -> TwoLayer:
        """Of neurons of any size, given by the logarithms of |w_j| and of |v_j|; sign (m,): that of v_j."""
        log_weight = log_output + activation.homogeneity * log_norm
        top = float(log_weight.max())
        log_scale = top if np.isfinite(top) else 0.0
        return cls(direction, offset, log_norm, sign * np.exp(log_weight - log_scale), activation, log_scale)

    @property
    def dimension(self) -> int:
        return self.direction.shape[1]

    @property
    def directions(self) -> Floats:
        return self.direction

    @property
    def hidden(self) -> Floats:
        """(m, d): w_j"""
        return np.exp(self.log_norm)[:, None] * self.direction

    @property
    def bias(self) -> Floats:
        """(m,): b_j"""
        return np.exp(self.log_norm) * self.offset

    @property
    def output(self) -> Floats:
        """(m,): v_j"""
        return self.weight * np.exp(self.log_scale - self.activation.homogeneity * self.log_norm)

    def responses(self, x: Floats) -> tuple[Floats, Floats]:
        """(n, m): k of every neuron and its derivative in <direction_j, x>, 0 at a kink"""
        return self.activation.response(x @ self.direction.T + self.offset, self.log_norm, np)

    def signal(self, x: Floats) -> Floats:
        """(n, m): the response of every neuron to its whole weight vector"""
        return np.exp(self.activation.homogeneity * self.log_norm) * self.responses(x)[0]

    def value(self, x: Floats) -> Floats:
        return self.responses(x)[0] @ self.weight

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        response, slope = self.responses(x)
        return response @ self.weight, (slope * self.weight) @ self.direction

    def __call__(self, x: Floats) -> Floats:
        """(n,): the network's output"""
        return np.exp(self.log_scale) * self.value(x)

    def scores(self, x: Floats) -> Floats:
        return self.value(x)[:, None]

    def gradient(self, x: Floats) -> Floats:
        """(n, d): the derivative of the output in x, 0 at a neuron's kink"""
        return np.exp(self.log_scale) * self.value_and_gradient(x)[1]

    def __mul__(self, factor: float) -> TwoLayer:
        return replace(self, weight=factor * self.weight)

    def __sub__(self, other: TwoLayer) -> TwoLayer:
        """Of two networks of one activation, that of their difference."""
        assert self.activation == other.activation, "networks of different activations have no common neurons"
        relative = np.exp(other.log_scale - self.log_scale)
        return replace(
            self,
            direction=np.concatenate([self.direction, other.direction]),
            offset=np.concatenate([self.offset, other.offset]),
            log_norm=np.concatenate([self.log_norm, other.log_norm]),
            weight=np.concatenate([self.weight, -relative * other.weight]),
        )

    def within(self, basis: Floats) -> TwoLayer:
        return replace(self, direction=self.direction @ basis)


def odds(outputs: Any, label: Any, xp: ModuleType) -> tuple[Any, Any]:
    """(log P(+) - log P(-) (n,), its derivative in the outputs (n, K)) of softmax probabilities; label (K,): +1/-1, both of
    them there"""
    value, share = 0.0, 0.0
    for sign in (1, -1):
        own = xp.where(label == sign, outputs, -xp.inf)
        top = own.max(axis=1, keepdims=True)
        odds = xp.exp(own - top)
        total = odds.sum(axis=1, keepdims=True)
        value = value + sign * (top + xp.log(total))[:, 0]
        share = share + sign * odds / total
    return value, share


def lead(outputs: Any, own: Any, xp: ModuleType) -> tuple[Any, Any]:
    """(the output `own` less the largest other (n,), its derivative in the outputs (n, K))"""
    each = xp.arange(outputs.shape[1])
    others = xp.where(each == own, -xp.inf, outputs)
    ahead = 1.0 * (each == own) - (each == others.argmax(axis=1)[:, None])
    return outputs[:, own] - others.max(axis=1), ahead


def difference(outputs: Any, label: Any, xp: ModuleType) -> tuple[Any, Any]:
    """(the outputs of label +1 less those of -1 (n,), the derivative in the outputs (n, K))"""
    return outputs @ label, xp.broadcast_to(label, outputs.shape)


@dataclass(frozen=True)
class OfOutputs:
    """What a network with an output for each cluster is part of. network: as if all its outputs were added;
    neuron_output (m,): the output of each neuron."""

    network: TwoLayer
    neuron_output: Integers

    @property
    def dimension(self) -> int:
        return self.network.dimension

    @property
    def directions(self) -> Floats:
        return self.network.directions

    def within(self, basis: Floats) -> Self:
        return replace(self, network=self.network.within(basis))


@dataclass(frozen=True)
class ByProbability(OfOutputs):
    """The binary classifier that a network with an output for each cluster makes of its softmax probabilities, those of
    the positive clusters less those of the negative (Li et al. 2025, Section 4.2), as log-odds: log P(+) - log P(-).

    label (K,): +1/-1.
    """

    label: Integers

    @property
    def name(self) -> str:
        return self.network.name

    def __call__(self, x: Floats) -> Floats:
        """(n, K)"""
        return self.network.responses(x)[0] @ self._weights

    def scores(self, x: Floats) -> Floats:
        return self.network.responses(x)[0] @ (self._own * self.network.weight[:, None])

    def value(self, x: Floats) -> Floats:
        return odds(self(x), self.label, np)[0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        response, slope = self.network.responses(x)
        value, share = odds(response @ self._weights, self.label, np)
        return value, (slope * (share @ self._weights.T)) @ self.network.direction

    @property
    def _weights(self) -> Floats:
        """(m, K): the part of each neuron in each output"""
        return self._own * (np.exp(self.network.log_scale) * self.network.weight)[:, None]

    @property
    def _own(self) -> Booleans:
        """(m, K): whether the neuron is part of the output"""
        return np.asarray(self.neuron_output[:, None] == np.arange(len(self.label)))


@dataclass(frozen=True)
class OwnClass(OfOutputs):
    """Whether a network with an output for each cluster decides for the cluster `own`: that output less the largest other.

    outputs: how many there are.
    """

    outputs: int
    own: int

    @property
    def name(self) -> str:
        return "classes"

    def value(self, x: Floats) -> Floats:
        return lead(self.network.responses(x)[0] @ self._weights, self.own, np)[0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        response, slope = self.network.responses(x)
        value, share = lead(response @ self._weights, self.own, np)
        return value, (slope * (share @ self._weights.T)) @ self.network.direction

    @property
    def _weights(self) -> Floats:
        """(m, K): the part of each neuron in each output"""
        return (self.neuron_output[:, None] == np.arange(self.outputs)) * self.network.weight[:, None]
