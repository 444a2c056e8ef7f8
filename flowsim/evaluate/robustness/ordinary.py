"""A network that is a function of a tree of arrays, and with one output a classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats
from ...kinds.network import Network


@dataclass(frozen=True)
class Ordinary:
    """Implements :class:`flowsim.evaluate.robustness.classifier.Network`.

    arrays: the trained ones. basis (d, r): of the space that inputs are seen in; None for all of it, or where the neurons'
    rows are in its coordinates. It is a classifier where the network has one output.
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
        return np.eye(self.dimension) if self._rows is None else self._rows[:, : self.features]

    def within(self, basis: Floats) -> Ordinary:
        if self._rows is None:
            return replace(self, basis=basis if self.basis is None else self.basis @ basis)
        inside = np.concatenate([self.directions @ basis, self._rows[:, self.features :]], axis=1)
        arrays = self.network.together(inside, self.network.apart(self.arrays)[1])
        return replace(self, arrays=arrays, features=basis.shape[1])

    @property
    def steepness(self) -> float | None:
        """A bound of |f(x) - f(z)|/|x - z|; None where none is known."""
        return self.network.steepness(self.network.tree(self.arrays))

    @property
    def _rows(self) -> Floats | None:
        """The neurons (m, d), biases in a last column, where these are all that sees inputs; else None."""
        neurons = self.network.neurons
        return self.network.apart(self.arrays)[0] if neurons is not None and neurons.reducible else None

    def __call__(self, x: Floats) -> Floats:
        """(n,): the network's output; (n, k) where it has several"""
        outputs = self.scores(x)
        return outputs[:, 0] if self.network.count == 1 else outputs

    def scores(self, x: Floats) -> Floats:
        from ...kinds.trees import outputs_at  # with JAX, which other networks do without

        found = outputs_at(self.network, self.arrays, self.network.seen(self._whole(_filled(x))))
        return found.T[: len(x)].reshape(len(x), -1)

    def value(self, x: Floats) -> Floats:
        return self.scores(x)[:, 0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        from ...kinds.trees import with_input_gradient  # as above

        value, gradient = with_input_gradient(self.network, self.arrays, self._whole(_filled(x)))
        value, gradient = value[: len(x)], gradient[: len(x)]
        return value, gradient if self.basis is None else gradient @ self.basis

    def _whole(self, x: Floats) -> Floats:
        return x if self.basis is None else x @ self.basis.T


def _filled(x: Floats) -> Floats:
    """The samples, and the last one again until there are as many as a power of two: attacks look at ever other parts of
    the samples, and code is compiled for each number of them."""
    count = 1 << max(len(x) - 1, 0).bit_length()
    return x[np.minimum(np.arange(count), len(x) - 1)] if len(x) else x
