"""A network of any depth with one output, as a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import matmul

import numpy as np

from ...problem.data.samples import Floats
from ...problem.networks import Activation
from ...problem.networks.layers import Passed, forward, pulls_back


@dataclass(frozen=True)
class Layered:
    """Implements :class:`flowsim.analysis.robustness.Classifier`.

    hidden (m, d), bias (m,): the first layer. upper: the matrices of the others, the last one of a single row; biases are a
    last column of each.
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

    def value(self, x: Floats) -> Floats:
        return self._forward(x)[0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        value, passed = self._forward(x)
        return value, pulls_back(np.ones((1, len(x))), self.upper, passed, matmul)[0].T @ self.hidden

    def _forward(self, x: Floats) -> tuple[Floats, Passed]:
        seen = self.hidden @ x.T + self.bias[:, None]
        outputs, passed = forward(seen, self.upper, self.activation, np, matmul)
        return outputs[0], passed
