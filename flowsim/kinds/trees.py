"""Trees of arrays, with JAX: taken apart into trained arrays with names, and put together again."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial, wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from .network import UNITS, Layer, Leaf, Network, Neurons, first_of_equal

P = ParamSpec("P")
R = TypeVar("R")
#: (outputs (n, k), what it goes by, JAX's NumPy) -> a value of each (n,) and its derivative in the outputs (n, k).
Reading = Callable[[Any, Any, ModuleType], tuple[Any, Any]]
#: Operations at which a gradient may jump, as JAX writes them.
KINKS = re.compile(r" (max|min|abs|sign|clamp|select_n|select_and_scatter_add|reduce_window_max)\b")
#: The first part of a path, as JAX writes it: a dictionary's key or a sequence's index.
PART = re.compile(r"\['(?P<key>[^']*)'\]|\[(?P<index>\d+)\]")
#: Bytes that numbers between inputs and outputs may take at a time.
BYTES = 2**28
#: What the only array of a tree is called that is nothing but an array.
ALONE = "params"


def in_float64(method: Callable[P, R]) -> Callable[P, R]:
    """The function with JAX in float64 while it runs."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return method(*args, **kwargs)

    return call


@in_float64
def network_of(
    function: Callable[[Any, Any], Any],
    params: Any,
    input_shape: tuple[int, ...],
    *,
    name: str,
    units: str | Mapping[str, str] = "rows",
    degree: float | None = None,
    neurons: str | None = None,
    bias: bool = False,
    taken: Collection[str] = (),
) -> tuple[Network, tuple[np.ndarray, ...]]:
    """The network of a function and a tree, and the values of its trained arrays: all leaves of floating-point numbers.

    units: what the units of its arrays are, a key of UNITS, or one for some of the arrays by name, the others having rows.
    neurons: the name of an array whose rows see the inputs and, with a bias, a constant feature after them. taken: names
    that no array may have.
    Raises UsageError where nothing can be trained, where `units` names what is not there, and where the function's
    outputs have another shape.
    """
    paths, structure = jax.tree_util.tree_flatten_with_path(params)
    fixed = [leaf for _, leaf in paths]
    places = [place for place, leaf in enumerate(fixed) if _trained(leaf)]
    if not places:
        raise UsageError("params: there are no arrays of floating-point numbers in this tree, so nothing to train")
    trained_paths = [paths[place][0] for place in places]
    names = _names(trained_paths, taken)
    arrays = tuple(np.array(fixed[place], dtype=float) for place in places)
    chosen = _units(units, names)
    leaves = tuple(
        Leaf(leaf, jax.tree_util.keystr(path), array.shape, UNITS[chosen[leaf]](array.ndim))
        for leaf, path, array in zip(names, trained_paths, arrays, strict=True)
    )

    def tree(trained: Sequence[Any]) -> Any:
        whole = list(fixed)
        for place, array in zip(places, trained, strict=True):
            whole[place] = array
        return jax.tree.unflatten(structure, whole)

    first = None if neurons is None else Neurons(names.index(neurons), bias)
    few = jax.ShapeDtypeStruct((2, input_shape[0] + 1) if bias else (2, *input_shape), float)
    traced, found = jax.make_jaxpr(lambda trained, x: function(tree(trained), x), return_shape=True)(arrays, few)
    found = getattr(found, "shape", None)
    if found is None or len(found) not in (1, 2) or found[0] != 2:
        wanted = "(n,), or (n, k) of several outputs"
        raise UsageError(f"{name}: gives {_told(found)} for x of shape {(2, *input_shape)}; expected {wanted}")
    count = 1 if len(found) == 1 else found[1]
    smooth = not KINKS.search(str(traced))
    network = Network(name, function, leaves, tree, input_shape, count, degree, smooth, first)
    others = tuple(leaf for place, leaf in enumerate(fixed) if place not in places)
    # what the function reads from outside may have changed since another network was made of it
    read = str(traced), tuple(hashlib.sha256(np.asarray(array).tobytes()).digest() for array in traced.consts)
    return first_of_equal(
        network, (function, structure, leaves, others, input_shape, name, degree, first, read)
    ), arrays


def network_again(
    function: Callable[[Any, Any], Any] | None,
    params: Any,
    stored: Sequence[tuple[str, str, Any]],
    input_shape: tuple[int, ...],
    *,
    name: str,
    degree: float | None,
) -> Network:
    """The network of a result. stored: (name, path, values) of its trained arrays; params: a tree with the same arrays at
    the same places, None where the tree is made of dictionaries and lists alone.

    Raises UsageError where the tree cannot be made, or is another one.
    """
    tree = _tree_of([(path, array) for _, path, array in stored]) if params is None else params
    placed, _ = jax.tree_util.tree_flatten_with_path(tree)
    there = [(jax.tree_util.keystr(path), np.shape(leaf)) for path, leaf in placed if _trained(leaf)]
    wanted = [(path, np.shape(array)) for _, path, array in stored]
    if there != wanted:
        raise UsageError(f"params: the run's arrays were {wanted}, those of this tree are {there}")
    network, _ = network_of(function or over_samples, tree, input_shape, name=name, degree=degree)
    names = zip(network.leaves, stored, strict=True)
    return replace(network, leaves=tuple(replace(leaf, name=known) for leaf, (known, *_) in names))


def _tree_of(arrays: Sequence[tuple[str, Any]]) -> Any:
    """Dictionaries and lists with these arrays at these paths, as JAX writes paths."""
    if len(arrays) == 1 and not arrays[0][0]:
        return arrays[0][1]
    found: dict[Any, list[tuple[str, Any]]] = {}
    for path, array in arrays:
        part = PART.match(path)
        if part is None:
            raise UsageError(
                f"the run's params were not made of dictionaries and lists alone ({path}); give params, too"
            )
        key = part["key"] if part["index"] is None else int(part["index"])
        found.setdefault(key, []).append((path[part.end() :], array))
    inner = {key: _tree_of(within) for key, within in found.items()}
    return [inner[place] for place in sorted(inner)] if all(isinstance(key, int) for key in inner) else inner


@in_float64
def outputs_at(network: Network, arrays: Sequence[Any], seen: Any) -> np.ndarray:
    """(…, n), or (…, k, n), in NumPy, at many instants: arrays (…, *axes of the leaf), and inputs as `outputs` of the
    network takes them, of which no more are on their way through it at a time than fit."""
    lead = np.shape(arrays[0])[: np.ndim(arrays[0]) - len(network.leaves[0].shape)]
    if not lead:
        return _outputs_in_parts(network, tuple(arrays), seen)
    found = np.array([_outputs_in_parts(network, instant, seen) for instant in zip(*_flat(lead, arrays), strict=True)])
    return found.reshape(*lead, *found.shape[1:])


def _outputs_in_parts(network: Network, arrays: Sequence[Any], seen: Any) -> np.ndarray:
    most = at_a_time(network)
    if len(seen) <= most:
        return np.asarray(_outputs(network, arrays, seen[:]))
    found = []
    for begin in range(0, len(seen), most):
        # the last part has samples of the one before, too, so that all are of one size and code is compiled once
        part = np.asarray(_outputs(network, arrays, seen[(first := min(begin, len(seen) - most)) : first + most]))
        found.append(part[..., begin - first :])
    return np.concatenate(found, axis=-1)


@in_float64
def gradients_at(network: Network, arrays: Sequence[Any], seen: Any, pull: Any) -> np.ndarray:
    """(…, p): the gradient of sum_i pull_i f(x_i) in all trained arrays in a row, of a network of one output, in NumPy, at
    many instants: arrays and inputs as above, pull (…, n)."""
    lead = np.shape(pull)[:-1]
    pulls = np.reshape(pull, (-1, np.shape(pull)[-1]))
    instants = zip(*_flat(lead, arrays), pulls, strict=True)
    found = [_gradient(network, instant[:-1], seen, instant[-1]) for instant in instants]
    return np.array(found).reshape(*lead, -1)


def _flat(lead: tuple[int, ...], arrays: Sequence[Any]) -> list[np.ndarray]:
    """The arrays with the leading axes made one."""
    return [np.reshape(array, (-1, *np.shape(array)[len(lead) :])) for array in arrays]


@partial(jax.jit, static_argnums=0)
def _gradient(network: Network, arrays: Sequence[Any], seen: Any, pull: Any) -> Any:
    pulled = jax.vjp(lambda trained: network.outputs(trained, seen), tuple(arrays))[1](pull)[0]
    return jax.numpy.concatenate([array.ravel() for array in pulled])


@in_float64
def with_input_gradient(
    network: Network, arrays: Sequence[Any], inputs: Any, read: Reading, by: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(what is read from the outputs at each input (n,), its gradient in the input (n, d)), in NumPy."""
    value, gradient = _with_input_gradient(network, tuple(arrays), inputs, read, by)
    return np.asarray(value), np.asarray(gradient)


@partial(jax.jit, static_argnums=(0, 3))
def _with_input_gradient(network: Network, arrays: Sequence[Any], inputs: Any, read: Reading, by: Any) -> Any:
    outputs, pull_back = jax.vjp(lambda x: network.of_features(arrays, x), jnp.asarray(inputs))
    # outputs are each of their own input alone, so a sum over inputs has the gradients of all of them
    value, share = read(outputs.T.reshape(len(inputs), -1), by, jnp)
    return value, pull_back(share.T.reshape(outputs.shape))[0]


def at_a_time(network: Network) -> int:
    """How many inputs fit on their way through the network at a time, a power of two."""
    fit = max(BYTES // (8 * max(entries_of_one(network), 1)), 1)
    return int(2 ** (fit.bit_length() - 1))


def _one_input(network: Network) -> tuple[list[Any], Any]:
    """The shapes of the trained arrays and of one input."""
    arrays = [jax.ShapeDtypeStruct(leaf.shape, float) for leaf in network.leaves]
    return arrays, jax.ShapeDtypeStruct((1, math.prod(network.input_shape)), float)


@lru_cache(maxsize=64)
@in_float64
def operations_of_one(network: Network) -> float:
    """Floating-point operations that the outputs at one input take."""
    lowered = jax.jit(network.of_features).lower(*_one_input(network))
    return float((lowered.cost_analysis() or {}).get("flops", 0.0))


@lru_cache(maxsize=64)
def entries_of_one(network: Network) -> int:
    """How many numbers the network makes on the way from one input to its outputs, as far as JAX does not fuse them."""
    traced = jax.make_jaxpr(network.of_features)(*_one_input(network))
    return sum(found.aval.size for equation in traced.jaxpr.eqns for found in equation.outvars)


@lru_cache(maxsize=64)
@in_float64
def layers_of(network: Network) -> tuple[str, ...]:
    """The names of the hidden layers, the first one first."""
    return _told_by(network, network.signals)


@lru_cache(maxsize=64)
@in_float64
def activated_of(network: Network) -> tuple[str, ...]:
    """The names of the hidden layers that say what their activation is taken of, the first one first."""
    return _told_by(network, network.preactivations)


def _told_by(network: Network, told: Callable[[Any, Any], Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of what a function of (params, inputs) gives."""
    found: list[str] = []
    # the tree that a trace gives would have the names in the order of the alphabet
    jax.eval_shape(
        lambda arrays, x: found.extend(told(network.tree(arrays), network.shaped(network.seen(x)))),
        *_one_input(network),
    )
    return tuple(found)


@in_float64
def signal_at(network: Network, arrays: Sequence[Any], layer: str | Layer, seen: Any) -> np.ndarray:
    """(n, entries), in NumPy: the signal of a hidden layer, each sample's in a row, for inputs as `outputs` of the network
    takes them."""
    return np.asarray(_signal(network, layer, tuple(arrays), seen))


@lru_cache(maxsize=64)
@in_float64
def units_of(network: Network, layer: str) -> int:
    """How many units, of images channels, such a layer has."""
    found = jax.eval_shape(
        lambda arrays, x: network.preactivations(network.tree(arrays), network.shaped(network.seen(x))),
        *_one_input(network),
    )
    return int(found[layer].shape[1])


@in_float64
def active_shares(network: Network, arrays: Sequence[Any], seen: Any) -> np.ndarray:
    """(layers,): the share of what the activation of each hidden layer is taken of that is above 0, in NumPy, in the order
    of `activated_of`, for inputs as `outputs` of the network takes them."""
    return np.array([float(share) for share in _active_shares(network, tuple(arrays), seen)])


@partial(jax.jit, static_argnums=0)
def _active_shares(network: Network, arrays: Sequence[Any], seen: Any) -> list[Any]:
    found = network.preactivations(network.tree(arrays), network.shaped(seen))
    return [(found[name] > 0).mean() for name in activated_of(network)]


@in_float64
def exciting(
    network: Network, arrays: Sequence[Any], layer: str, unit: Any, starts: Any, size: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """(inputs (n, d), what they give (n,)), in NumPy: from `starts` (n, d), steps along the gradient of what the activation
    of unit `unit[i]` of a hidden layer is taken of, of a channel at the pixel in the middle. Every step goes the same
    part of the way to the input of norm `size` along the gradient, so where it ends, the input is along its gradient."""
    found, value = _exciting(network, tuple(arrays), layer, jnp.asarray(unit), jnp.asarray(starts), size, steps)
    return np.asarray(found), np.asarray(value)


#: Part of the way to where the gradient points that an input goes in each step.
EXCITED = 0.05


@partial(jax.jit, static_argnums=(0, 2))
def _exciting(
    network: Network, arrays: Sequence[Any], layer: str, unit: Any, starts: Any, size: Any, steps: Any
) -> tuple[Any, Any]:
    def value(x: Any) -> Any:
        found = network.preactivations(network.tree(arrays), network.shaped(network.seen(x)))[layer]
        middle = tuple(length // 2 for length in found.shape[2:])
        return found[(jnp.arange(len(x)), unit, *middle)]

    def step(_: int, x: Any) -> Any:
        (along,) = jax.vjp(value, x)[1](jnp.ones(len(x)))
        norm = jnp.linalg.norm(along, axis=1, keepdims=True)
        return x + EXCITED * (size * along / jnp.where(norm > 0, norm, 1.0) - x)

    last = jax.lax.fori_loop(0, steps, step, starts)
    return last, value(last)


@partial(jax.jit, static_argnums=(0, 1))
def _signal(network: Network, layer: str | Layer, arrays: Sequence[Any], seen: Any) -> Any:
    params, inputs = network.tree(arrays), network.shaped(seen)
    signal = layer(params, inputs) if callable(layer) else network.signals(params, inputs)[layer]
    shape = getattr(signal, "shape", ())
    if shape[:1] != (len(seen),):
        raise UsageError(f"layer: gives {_told(shape or None)} for {len(seen)} inputs; expected (n, ...)")
    return signal.reshape(len(seen), -1)


@partial(jax.jit, static_argnums=0)
def _outputs(network: Network, arrays: Sequence[Any], seen: Any) -> Any:
    return network.outputs(arrays, seen)


def slope_of(function: Callable[[Any, ModuleType], Any], at: Any, xp: ModuleType) -> Any:
    """The derivative of a function (z, xp) of each entry of an array, in JAX or, where `xp` is NumPy, from it."""

    def forward(at: Any) -> Any:
        return jax.jvp(lambda z: function(z, jnp), (at,), (jnp.ones_like(at),))[1]

    return forward(at) if xp is jnp else np.asarray(in_float64(lambda: forward(jnp.asarray(at, float)))())


def arrays_of(network: Network, params: Any) -> tuple[np.ndarray, ...]:
    """The trained arrays of another tree of the same structure. Raises UsageError where it has another one."""
    found = [np.array(leaf, dtype=float) for leaf in jax.tree.leaves(params) if _trained(leaf)]
    if [array.shape for array in found] != [leaf.shape for leaf in network.leaves]:
        there, wanted = [array.shape for array in found], [leaf.shape for leaf in network.leaves]
        raise UsageError(f"params: arrays of shapes {there}; those of another seed are of shapes {wanted}")
    return tuple(found)


def _trained(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and np.issubdtype(leaf.dtype, np.floating)


def is_leaf(params: Any) -> bool:
    """Whether this is no tree, but one thing."""
    return bool(jax.tree_util.treedef_is_leaf(jax.tree.structure(params)))


def over_samples(module: Callable[[Any], Any], x: Any) -> Any:
    """The outputs (n, …) of what gives that of a single x."""
    return jax.vmap(module)(x)


def _names(paths: Sequence[tuple[Any, ...]], taken: Collection[str]) -> list[str]:
    """Such as ``layers_0_weight``; where two paths would be called alike, they are numbered."""
    found = ["_".join(_word(part) for part in path) or ALONE for path in paths]
    found = [name if re.match(r"[A-Za-z]", name) and name not in taken else f"leaf_{name}" for name in found]
    often = Counter(found)
    return [name if often[name] == 1 else f"{name}_leaf_{place}" for place, name in enumerate(found)]


def _word(part: Any) -> str:
    """A dictionary's key, a sequence's index or an attribute's name, with which a name can be made."""
    word = next((getattr(part, name) for name in ("key", "idx", "name") if hasattr(part, name)), part)
    return re.sub(r"\W+", "_", str(word)).strip("_")


def _units(units: str | Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    asked = dict.fromkeys(names, units) if isinstance(units, str) else dict(units)
    for name, kind in asked.items():
        if name not in names:
            raise UsageError(f"units: there is no array {name}; there are {', '.join(names)}")
        if kind not in UNITS:
            raise UsageError(f'units: "{kind}" is not known; there are {", ".join(UNITS)}')
    return {**dict.fromkeys(names, "rows"), **asked}


def _told(shape: tuple[int, ...] | None) -> str:
    return "no array" if shape is None else f"outputs of shape {shape}"
