"""A network that is a function of a tree of arrays, and with one output a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats
from ...kinds.network import Network


@dataclass(frozen=True)
class Ordinary:
    """Implements :class:`flowsim.evaluate.robustness.classifier.Network`.

    arrays: the trained ones. basis (d, r): of the space that inputs are seen in; None for all of it. It is a classifier
    where the network has one output.
    """

    network: Network
    arrays: tuple[Floats, ...]
    features: int
    basis: Floats | None = None
    name: str = "network"

    @property
    def dimension(self) -> int:
        return self.features if self.basis is None else self.basis.shape[1]

    @property
    def directions(self) -> Floats:
        return np.eye(self.dimension)

    def within(self, basis: Floats) -> Ordinary:
        return replace(self, basis=basis if self.basis is None else self.basis @ basis)

    def __call__(self, x: Floats) -> Floats:
        """(n,): the network's output; (n, k) where it has several"""
        outputs = self.scores(x)
        return outputs[:, 0] if self.network.count == 1 else outputs

    def scores(self, x: Floats) -> Floats:
        from ...kinds.trees import outputs_at  # with JAX, which other networks do without

        return outputs_at(self.network, self.arrays, self._whole(x)).T.reshape(len(x), -1)

    def value(self, x: Floats) -> Floats:
        return self.scores(x)[:, 0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        from ...kinds.trees import with_input_gradient  # as above

        value, gradient = with_input_gradient(self.network, self.arrays, self._whole(x))
        return value, gradient if self.basis is None else gradient @ self.basis

    def _whole(self, x: Floats) -> Floats:
        return x if self.basis is None else x @ self.basis.T
