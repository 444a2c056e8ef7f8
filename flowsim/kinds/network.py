"""Ordinary networks: any function of a tree of arrays and of inputs. Those of two layers of neurons have a faster road."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Array = Any  # NumPy or JAX: the formulas are the same, `xp` is the namespace

#: What a leaf's units may be called -> function of its number of axes that gives the axes which tell units apart.
UNITS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "rows": lambda axes: (0,) if axes > 1 else (),
    "columns": lambda axes: (axes - 1,) if axes > 1 else (),
    "entries": lambda axes: tuple(range(axes)),
    "whole": lambda axes: (),
}


@dataclass(frozen=True)
class Leaf:
    """A trained array of the tree. name: in results, made of its path. units: the axes along which its units are
    counted; errors are measured relative to the unit that they are of."""

    name: str
    path: str
    shape: tuple[int, ...]
    units: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Network:
    """function: (params, x) -> outputs, in JAX: x (n, *input_shape), outputs (n,), or (n, k). count: k.

    tree: from the trained arrays, in the order of `leaves`, to params. degree: L of f(c params) = c^L f(params), or None.
    smooth: whether the function takes no maxima, absolute values or cases, at which its gradient may jump.
    Compiled code is shared by all that use the same object.
    """

    name: str
    function: Callable[[Any, Array], Array]
    leaves: tuple[Leaf, ...]
    tree: Callable[[Sequence[Array]], Any]
    input_shape: tuple[int, ...]
    count: int
    degree: float | None = None
    smooth: bool = True

    def apply(self, params: Any, inputs: Array) -> Array:
        """(n,), or (n, k) of several outputs, for inputs (n, d) whose features are those of `input_shape`, in order."""
        found = self.function(params, inputs.reshape(len(inputs), *self.input_shape))
        return found if self.count > 1 else found.reshape(len(inputs))

    def outputs(self, arrays: Sequence[Array], inputs: Array) -> Array:
        """(n,), or (k, n) of several outputs, for the trained arrays."""
        return self.apply(self.tree(arrays), inputs).T

    def rates(self, named: Mapping[str, float]) -> tuple[float, ...]:
        """The learning rate of each leaf: 1 for those that are not named."""
        return tuple(float(named.get(leaf.name, 1.0)) for leaf in self.leaves)

    def relative(self, change: Sequence[Array], size: Sequence[Array], xp: ModuleType) -> Array:
        """(units,): the size of a change of each unit, over the unit's own size; over 1 where that is 0."""
        leaves = zip(self.leaves, change, size, strict=True)
        parts = [relative(moved, own, leaf.units, xp).ravel() for leaf, moved, own in leaves]
        return xp.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Handed:
    """A network from Python, with what no text of a scenario can say. start: seed -> the trained arrays at time 0. observe:
    name -> function of params, kept at every instant."""

    network: Network
    start: Callable[[int], Sequence[Array]]
    observe: Mapping[str, Callable[[Any], Array]]


def relative(change: Array, size: Array, units: tuple[int, ...], xp: ModuleType) -> Array:
    """The size of a change of each unit over `size`, the unit's own; over 1 where that is 0."""
    return unit_sizes(change, units, xp) / xp.where(size > 0, size, 1.0)


def unit_sizes(array: Array, units: tuple[int, ...], xp: ModuleType) -> Array:
    """The Euclidean norm of each unit, an array over the axes `units`, also where squares of entries underflow."""
    others = tuple(axis for axis in range(array.ndim) if axis not in units)
    size = xp.abs(array)
    if not others:
        return size
    largest = size.max(axis=others, keepdims=True)
    scale = xp.where(largest > 0, largest, 1.0)
    return scale.reshape([array.shape[axis] for axis in units]) * xp.sqrt(((size / scale) ** 2).sum(axis=others))
