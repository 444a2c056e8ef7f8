"""A network of frozen gates, linear in what was trained, as a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats
from ...kinds.gates import Gates, input_gradient, outputs


@dataclass(frozen=True)
class Tangent:
    """Implements :class:`flowsim.evaluate.robustness.Classifier`: f(x) = sum_j <trained_j, x> g_j(x), trained (m, d).

    Its gradient is that between the places where gates jump.
    """

    trained: Floats
    gates: Gates
    name: str = "network"

    @property
    def dimension(self) -> int:
        return self.trained.shape[1]

    @property
    def directions(self) -> Floats:
        return np.concatenate([self.trained, self.gates.weights])

    def within(self, basis: Floats) -> Tangent:
        return replace(self, trained=self.trained @ basis, gates=self.gates.within(basis))

    def __call__(self, x: Floats) -> Floats:
        """(n,): the network's output"""
        return self.value(x)

    def scores(self, x: Floats) -> Floats:
        return self.value(x)[:, None]

    def value(self, x: Floats) -> Floats:
        return outputs(self.trained, self.gates.at(x), x)

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        return self.value(x), input_gradient(self.trained, self.gates, x)
