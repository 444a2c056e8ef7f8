"""Networks that are functions of a tree of arrays and of inputs, and what else one is capable of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any

#: (params, x (n, ...)) -> (n, ...), in JAX: what a layer makes of inputs.
Layer = Callable[[Any, Any], Any]
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
    """An array of the tree. name: in results, made of its path. units: the axes along which its units are
    counted; errors are measured relative to the unit that they are of. trained: whether gradients move it, rather than
    `training` of the network."""

    name: str
    path: str
    shape: tuple[int, ...]
    units: tuple[int, ...]
    trained: bool = True

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Neurons:
    """A first layer of neurons: a leaf (m, d) whose rows see the inputs.

    place: of the leaf. bias: whether a constant feature 1 comes after the inputs, so that rows have one more entry.
    reducible: whether the function knows nothing of the inputs but their products with the rows, so that both may be given
    in coordinates of any space that holds the inputs. layered: whether the other leaves are the matrices of the layers
    above, in order, with biases in a last column where there are any.
    """

    place: int
    bias: bool = False
    reducible: bool = False
    layered: bool = False


@dataclass(frozen=True, eq=False)
class Network:
    """function: (params, x) -> outputs, in JAX: x (n, *input_shape), outputs (n,), or (n, k). count: k.

    tree: from the trained arrays, in the order of `leaves`, to params. degree: L of f(c params) = c^L f(params), or None.
    smooth: whether the function takes no maxima, absolute values or cases, at which its gradient may jump.
    neurons: None of networks that have none. steepness: from params to a bound of |f(x) - f(z)|/|x - z|, None where none is
    known. balances: from params, of any leading axes, to pairs (squared norms of what goes into neurons, of what comes out
    of them) whose difference a flow of the loss alone conserves. training: where some leaves are not trained, from params
    and the inputs of a gradient of descent to outputs, and to these leaves by name as the gradient leaves them. signals:
    as the function, to what the layer above sees of each hidden layer, (n, ...) by name, the first one first; none of
    networks that name no layers. preactivations: the same, to what the activation of each is taken of, (n, units, ...).
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
    neurons: Neurons | None = None
    steepness: Callable[[Any], float | None] = lambda params: None
    balances: Callable[[Any], Sequence[tuple[Array, Array]]] = lambda params: ()
    training: Callable[[Any, Array], tuple[Array, Mapping[str, Array]]] | None = None
    signals: Callable[[Any, Array], Mapping[str, Array]] = lambda params, x: {}
    preactivations: Callable[[Any, Array], Mapping[str, Array]] = lambda params, x: {}

    def seen(self, x: Array) -> Array:
        """Inputs (n, d) as the function takes them: with the constant feature of biases."""
        if self.neurons is None or not self.neurons.bias:
            return x
        xp = x.__array_namespace__()
        return xp.concatenate([x, xp.ones_like(x[:, :1])], axis=1)

    def outputs(self, arrays: Sequence[Array], seen: Array) -> Array:
        """(n,), or (k, n) of several outputs, for the trained arrays and inputs as `seen` makes them, or as both are in
        coordinates of a reduction."""
        return self._flat(self.function(self.tree(arrays), self.shaped(seen)))

    def shaped(self, seen: Array) -> Array:
        """The same inputs, each of `input_shape`."""
        return seen if len(self.input_shape) == 1 else seen.reshape(len(seen), *self.input_shape)

    def trained_on(self, arrays: Sequence[Array], seen: Array) -> tuple[Array, tuple[Array, ...]]:
        """(the same while these inputs are trained on, all arrays with those that are not trained as that leaves them)"""
        if self.training is None:
            return self.outputs(arrays, seen), tuple(arrays)
        found, left = self.training(self.tree(arrays), seen)
        return self._flat(found), tuple(
            left.get(leaf.name, array) for leaf, array in zip(self.leaves, arrays, strict=True)
        )

    def _flat(self, found: Array) -> Array:
        return found.T if self.count > 1 else found.reshape(len(found))

    def of_features(self, arrays: Sequence[Array], x: Array) -> Array:
        """The same for inputs (n, d) whose features are those of `input_shape`, in order."""
        return self.outputs(arrays, self.seen(x))

    @property
    def others(self) -> tuple[Leaf, ...]:
        """The leaves whose rows are no neurons."""
        return tuple(
            leaf for place, leaf in enumerate(self.leaves) if self.neurons is None or place != self.neurons.place
        )

    def apart(self, arrays: Sequence[Array]) -> tuple[Array | None, tuple[Array, ...]]:
        """(the neurons' rows, None where there are none; the arrays of `others`)"""
        if self.neurons is None:
            return None, tuple(arrays)
        place = self.neurons.place
        return arrays[place], (*arrays[:place], *arrays[place + 1 :])

    def together(self, rows: Array, others: Sequence[Array]) -> tuple[Array, ...]:
        """The inverse of `apart`; without neurons `rows` is left out."""
        if self.neurons is None:
            return tuple(others)
        place = self.neurons.place
        return (*others[:place], rows, *others[place:])

    def rates(self, named: Mapping[str, float]) -> tuple[float, ...]:
        """The learning rate of each leaf: that of the last name or pattern that fits it, 1 where none does."""
        found = ([rate for pattern, rate in named.items() if self.fits(leaf, pattern)] for leaf in self.leaves)
        return tuple(float(rates[-1]) if rates else 1.0 for rates in found)

    @staticmethod
    def fits(leaf: Leaf, pattern: str) -> bool:
        """Whether a leaf has this name, in which * stands for any letters."""
        return fnmatchcase(leaf.name, pattern)

    def relative(self, change: Sequence[Array], size: Sequence[Array], xp: ModuleType) -> Array:
        """(units,): the size of a change of each unit, over the unit's own size; over 1 where that is 0."""
        leaves = zip(self.leaves, change, size, strict=True)
        parts = [relative(moved, own, leaf.units, xp).ravel() for leaf, moved, own in leaves]
        return xp.concatenate(parts)


#: The networks that were made last, by what is told of them, and how many of them are remembered.
_MADE: dict[Any, Network] = {}
MOST_MADE = 32


def first_of_equal(network: Network, told: Any) -> Network:
    """The network that was made first of those of which the same is told, as compiled code is shared by those that use the
    same object; itself where what is told cannot be looked up."""
    try:
        known = _MADE.setdefault(told, network)
    except TypeError:
        return network
    if len(_MADE) > MOST_MADE:
        del _MADE[next(iter(_MADE))]
    return known


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
