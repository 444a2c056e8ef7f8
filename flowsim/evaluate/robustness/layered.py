"""A network of any depth, and with one output a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import matmul

import numpy as np

from ...arrays import Floats
from ...kinds.activations import Activation
from ...kinds.layers import Passed, forward, pulls_back


@dataclass(frozen=True)
class Layered:
    """Implements :class:`flowsim.evaluate.robustness.Classifier`.

    hidden (m, d), bias (m,): the first layer. upper: the matrices of the others; biases are a last column of each. It
    is a classifier where the last one has a single row.
    """

    hidden: Floats
    bias: Floats
    upper: tuple[Floats, ...]
    activation: Activation
    name: str = "network"

    @property
    def dimension(self) -> int:
        return self.hidden.shape[1]

    @property
    def directions(self) -> Floats:
        return self.hidden

    def within(self, basis: Floats) -> Layered:
        return replace(self, hidden=self.hidden @ basis)

    def __call__(self, x: Floats) -> Floats:
        """(n,): the network's output; (n, k) where it has several"""
        outputs = self.scores(x)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def scores(self, x: Floats) -> Floats:
        return self._outputs(x)[0].T

    def value(self, x: Floats) -> Floats:
        return self._outputs(x)[0][0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        outputs, passed = self._outputs(x)
        return outputs[0], pulls_back(np.ones((1, len(x))), self.upper, passed, matmul)[0].T @ self.hidden

    def _outputs(self, x: Floats) -> tuple[Floats, Passed]:
        """(k, n)"""
        seen = self.hidden @ x.T + self.bias[:, None]
        return forward(seen, self.upper, self.activation, np, matmul)
