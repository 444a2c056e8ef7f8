"""Networks that are functions of a tree of arrays, and the classifiers that they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from ...arrays import Floats
from ...kinds.network import Layer, Network

#: The most inputs at a time.
MOST = 1024


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

        def scores(part: Floats) -> tuple[Floats]:
            return (
                outputs_at(self.network, self.arrays, self.network.seen(self._whole(part))).T.reshape(len(part), -1),
            )

        return self._in_parts(scores, x)[0]

    def signal(self, x: Floats, layer: str | Layer) -> Floats:
        """(n, entries): that of a hidden layer, or of a function in the place of one"""
        from ...kinds.trees import signal_at  # as above

        def signal(part: Floats) -> tuple[Floats]:
            return (signal_at(self.network, self.arrays, layer, self.network.seen(self._whole(part))),)

        return self._in_parts(signal, x)[0]

    def value(self, x: Floats) -> Floats:
        return self.scores(x)[:, 0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        return self.read_with_gradient(x, _first, None)

    def read_with_gradient(self, x: Floats, read: Reading, by: Any) -> tuple[Floats, Floats]:
        """(n,), (n, d): what is read from the outputs, with its gradient."""
        from ...kinds.trees import with_input_gradient  # as above

        def read_part(part: Floats) -> tuple[Floats, Floats]:
            value, gradient = with_input_gradient(self.network, self.arrays, self._whole(part), read, by)
            return value, gradient if self.basis is None else gradient @ self.basis

        value, gradient = self._in_parts(read_part, x)
        return value, gradient

    def _in_parts(self, function: Callable[[Floats], tuple[Floats, ...]], x: Floats) -> list[Floats]:
        """What the function gives for inputs, of which no more are in memory at a time than fit."""
        from ...kinds.trees import at_a_time  # as above

        most = min(at_a_time(self.network), MOST)
        found = []
        for begin in range(0, max(len(x), 1), most):
            part = x[begin : begin + most]
            found.append([array[: len(part)] for array in function(_filled(part))])
        return [np.concatenate(arrays) for arrays in zip(*found, strict=True)]

    def _whole(self, x: Floats) -> Floats:
        return x if self.basis is None else x @ self.basis.T


#: As in :mod:`flowsim.kinds.trees`.
Reading = Callable[[Any, Any, ModuleType], tuple[Any, Any]]


def _first(outputs: Any, by: None, xp: ModuleType) -> tuple[Any, Any]:
    """The first output, of a network of one."""
    del by
    return outputs[:, 0], xp.ones_like(outputs[:, :1])


@dataclass(frozen=True)
class Decision:
    """A classifier that an ordinary network of several outputs is. Implements
    :class:`flowsim.evaluate.robustness.classifier.Network`.

    read: the classifier's value from the outputs, by `by`, such as a class, or labels of all classes.
    """

    network: Ordinary
    read: Reading
    by: Any
    name: str = "network"

    @property
    def dimension(self) -> int:
        return self.network.dimension

    @property
    def directions(self) -> Floats:
        return self.network.directions

    def within(self, basis: Floats) -> Decision:
        return replace(self, network=self.network.within(basis))

    def __call__(self, x: Floats) -> Floats:
        """(n, k): the network's outputs"""
        return self.network(x)

    def scores(self, x: Floats) -> Floats:
        return self.network.scores(x)

    def value(self, x: Floats) -> Floats:
        return self.read(self.scores(x), self.by, np)[0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        return self.network.read_with_gradient(x, self.read, self.by)


def _filled(x: Floats) -> Floats:
    """The samples, and the last one again until there are as many as a power of two: attacks look at ever other parts of
    the samples, and code is compiled for each number of them."""
    count = 1 << max(len(x) - 1, 0).bit_length()
    return x[np.minimum(np.arange(count), len(x) - 1)] if len(x) else x
