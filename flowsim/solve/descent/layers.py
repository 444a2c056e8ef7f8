"""Networks as descent in NumPy sees them: outputs, and how a pull on these moves weights and inputs."""

from __future__ import annotations

from dataclasses import dataclass
from operator import matmul
from typing import Any, Protocol

import numpy as np

from ...arrays import Floats
from ...kinds.activations import Activation
from ...kinds.gates import Gates, input_gradient, outputs
from ...kinds.layers import Passed, forward, pulls_back, velocities
from ...problem import Reduced

Weights = tuple[Floats, ...]


class Layers(Protocol):
    def forward(self, weights: Weights, inputs: Floats) -> tuple[Floats, Any]:
        """Inputs (n, r) -> outputs (k, n), and what the others need to know of this pass."""

    def velocity(self, inputs: Floats, pull: Floats, weights: Weights, passed: Any) -> Weights:
        """The gradient, in the weights, of the sum of pull (k, n) times outputs."""

    def ascent(self, inputs: Floats, pull: Floats, weights: Weights, passed: Any) -> Floats:
        """The same in the inputs, (n, r)."""


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


def layers_of(reduced: Reduced) -> Layers:
    gates = reduced.problem.gates
    return OfAnyDepth(reduced.problem.activation) if gates is None else OfFeatures(gates)
