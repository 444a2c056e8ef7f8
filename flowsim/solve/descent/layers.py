"""Networks as descent in NumPy sees them: outputs, and how a pull on these moves weights and inputs."""

from __future__ import annotations

from dataclasses import dataclass
from operator import matmul
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...arrays import Floats
from ...kinds.activations import Activation
from ...kinds.gates import Gates, input_gradient, outputs
from ...kinds.layers import Passed, forward, pulls_back, velocities
from ...problem import Problem, Reduced

Weights = tuple[Floats, ...]


class Layers(Protocol):
    def forward(self, weights: Weights, inputs: Floats) -> tuple[Floats, Any]:
        """Inputs (n, r) -> outputs (k, n), and what the others need to know of this pass."""

    def velocity(self, inputs: Floats, pull: Floats, weights: Weights, passed: Any) -> Weights:
        """The gradient, in the weights, of the sum of pull (k, n) times outputs."""

    def ascent(self, inputs: Floats, pull: Floats, weights: Weights, passed: Any) -> Floats:
        """The same in the inputs, (n, r)."""

    def decay(self, weights: Weights) -> Weights | None:
        """The velocity that the regulariser gives; None of networks that have none."""


@dataclass(frozen=True)
class OfAnyDepth:
    """weights: W_1, W_2, …"""

    activation: Activation

    def forward(self, weights: Weights, inputs: Floats) -> tuple[Floats, Passed]:
        return forward(weights[0] @ inputs.T, weights[1:], self.activation, np, matmul)

    def velocity(self, inputs: Floats, pull: Floats, weights: Weights, passed: Passed) -> Weights:
        pulls = pulls_back(pull, weights[1:], passed, matmul)
        return (pulls[0] @ inputs, *velocities(pulls, passed, matmul))

    def ascent(self, inputs: Floats, pull: Floats, weights: Weights, passed: Passed) -> Floats:
        return pulls_back(pull, weights[1:], passed, matmul)[0].T @ weights[0]

    def decay(self, weights: Weights) -> None:
        return None


@dataclass(frozen=True)
class OfFeatures:
    """Of fixed gates; weights: v (m, r), alone."""

    gates: Gates

    def forward(self, weights: Weights, inputs: Floats) -> tuple[Floats, Floats]:
        gate = self.gates.at(inputs)
        return outputs(weights[0], gate, inputs)[None], gate

    def velocity(self, inputs: Floats, pull: Floats, weights: Weights, passed: Floats) -> Weights:
        return ((pull.T * passed).T @ inputs,)

    def ascent(self, inputs: Floats, pull: Floats, weights: Weights, passed: Floats) -> Floats:
        return pull.T * input_gradient(weights[0], self.gates, inputs)

    def decay(self, weights: Weights) -> None:
        return None


class Response(NamedTuple):
    """h(w_j, x_i), all (m, n); its derivative in w_j is slope x_i + along w_j/|w_j|."""

    value: Floats
    slope: Floats
    along: Floats | None


@dataclass(frozen=True)
class OfNeurons:
    """Of two layers without compiled code; weights: w (m, r), v (m,)."""

    problem: Problem

    def forward(self, weights: Weights, inputs: Floats) -> tuple[Floats, Response]:
        response = self._response(weights[0], inputs)
        weighted = weights[1][:, None] * response.value
        first = np.searchsorted(self.problem.neuron_output, np.arange(self.problem.outputs))
        return np.add.reduceat(weighted, first, axis=0), response

    def velocity(self, inputs: Floats, pull: Floats, weights: Weights, passed: Response) -> Weights:
        (hidden, output), own = weights, pull[self.problem.neuron_output]
        velocity = output[:, None] * ((own * passed.slope) @ inputs)
        if passed.along is not None:
            velocity += output[:, None] * (own * passed.along).sum(axis=1, keepdims=True) * _unit(hidden)[0]
        trained = (own * passed.value).sum(axis=1) if self.problem.trained_output else np.zeros_like(output)
        return velocity, trained

    def ascent(self, inputs: Floats, pull: Floats, weights: Weights, passed: Response) -> Floats:
        return (weights[1][:, None] * pull[self.problem.neuron_output] * passed.slope).T @ weights[0]

    def decay(self, weights: Weights) -> Weights:
        """The velocity that the regulariser gives."""
        norm = np.linalg.norm(weights[0], axis=1, keepdims=True)
        return -(self.problem.square_decay + self.problem.cubic_decay * norm) * weights[0], np.zeros_like(weights[1])

    def _response(self, hidden: Floats, inputs: Floats) -> Response:
        activation, (unit, norm) = self.problem.activation, _unit(hidden)
        power, s = activation.homogeneity, unit @ inputs.T
        value, slope = activation.response(s, np.log(norm), np)
        # of a power h = |w|^q k(s), the norm's share is q k; else h is a function of <w, x> alone
        along = None if activation.degree is None else norm ** (power - 1) * (power * value - slope * s)
        return Response(norm**power * value, norm ** (power - 1) * slope, along)


def _unit(rows: Floats) -> tuple[Floats, Floats]:
    """(unit rows, norms (m, 1))"""
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    norm = np.where(norm > 0, norm, 1.0)
    return rows / norm, norm


def layers_of(reduced: Reduced) -> Layers:
    problem = reduced.problem
    if problem.gates is not None:
        return OfFeatures(problem.gates)
    return OfNeurons(problem) if problem.two_layers else OfAnyDepth(problem.activation)
