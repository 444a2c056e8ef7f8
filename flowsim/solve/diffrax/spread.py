"""Samples over devices, and through each device in blocks: sums over all of them from those over a few.

A device never holds more pre-activations than those of a block. An evaluation moves nothing between devices but its sums,
once, however many blocks there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

#: What the axis of samples is called.
AXIS = "samples"
Tree = Any


class Sampled(Protocol):
    """Arrays that have an axis of samples each, as :class:`flowsim.solve.diffrax.field.Data`."""

    @property
    def axes(self) -> Any:
        """The same tuple of these axes."""

    @property
    def samples(self) -> int:
        """How many there are."""

    def weighing(self, counts: jax.Array) -> Self:
        """The same without the samples that do not count: (n,) of truth values."""


#: (what it goes by, some samples) -> (sums over these, None or log of what they are divided by, which adds up, too)
Summed = Callable[[Tree, Any], tuple[Tree, jax.Array | None]]


@dataclass(frozen=True)
class Spread:
    """devices: those that share the samples; none for the one that JAX takes. block: how many samples a device looks at
    at once, at most; None for all that it has."""

    devices: tuple[Any, ...] = ()
    block: int | None = None

    @property
    def mesh(self) -> Mesh:
        return Mesh(np.array(self.devices), (AXIS,))

    def place(self, array: np.ndarray, axis: int, dtype: Any, filling: float | None = None) -> jax.Array:
        """An array on the devices, which have as many of its samples each, but for one. Those that have one less get
        another in its place: `filling`, or their last one again."""
        if not self.devices:
            return jnp.asarray(array, dtype)
        count, axis = array.shape[axis], axis % array.ndim
        parts = list(pairwise(bounds(count, len(self.devices))))
        each = -(-count // len(self.devices))
        shape = (*array.shape[:axis], each * len(parts), *array.shape[axis + 1 :])

        def part(index: tuple[slice, ...] | None) -> np.ndarray:
            assert index is not None
            begin, end = parts[(index[axis].start or 0) // each]
            found = np.take(array, range(begin, end), axis) if axis else array[begin:end]
            found = found.astype(dtype, copy=False)
            if end - begin == each:
                return found
            last = np.take(found, [-1], axis)
            return np.concatenate([found, last if filling is None else np.full_like(last, filling)], axis)

        return jax.make_array_from_callback(shape, NamedSharding(self.mesh, _along(axis, array.ndim)), part)

    def everywhere(self, tree: Tree) -> Tree:
        """Arrays that every device has whole."""
        sharding = NamedSharding(self.mesh, PartitionSpec()) if self.devices else None
        if sharding is None or sharding.is_fully_addressable:
            return jax.device_put(tree, sharding)

        # several processes, which would compare their values if they were told to put them
        def put(value: Any) -> jax.Array:
            array = np.asarray(value)
            return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index or ()])

        return jax.tree.map(put, tree)

    def here(self, tree: Tree) -> Tree:
        """This process's own copy of such arrays."""
        return jax.tree.map(lambda array: array.addressable_data(0), tree) if self.devices else tree

    def sums(self, function: Summed, by: Tree, data: Any) -> Tree:
        """What the function gives, over all samples. Where its sums are divided by something, they are divided by the sum
        of that over all samples."""
        local = partial(self._over_blocks, function)
        if not self.devices:
            return local(by, data)[0]

        def of_device(by: Tree, data: Any) -> Tree:
            found, log = local(by, data)
            if log is not None:
                shift = jax.lax.stop_gradient(jax.lax.pmax(jax.lax.stop_gradient(log), AXIS))
                share = jnp.exp(log - shift)
                share = share / jax.lax.psum(share, AXIS)
                found = jax.tree.map(lambda part: share * part, found)
            return jax.lax.psum(found, AXIS)

        return self._shared(of_device, PartitionSpec(), data)(by, data)

    def each(self, function: Callable[[Tree, Any], jax.Array], by: Tree, data: Any) -> jax.Array:
        """(…, n): what the function gives for some samples along its last axis, for all of them"""
        local = partial(self._block_by_block, function)
        if not self.devices:
            return local(by, data)
        axes = jax.eval_shape(function, by, data).ndim
        found: jax.Array = self._shared(local, _along(axes - 1, axes), data)(by, data)
        return found

    def _shared(self, function: Callable[[Tree, Any], Any], specs: PartitionSpec, data: Any) -> Callable[..., Any]:
        """The function of what a device has of the data, on all devices. specs: how its results are put together."""
        placed = jax.tree.map(lambda array, axis: _along(axis % array.ndim, array.ndim), data, data.axes)
        # what the devices are told alike stays alike: they share no sums but those that are asked for
        return jax.shard_map(
            function, mesh=self.mesh, in_specs=(PartitionSpec(), placed), out_specs=specs, check_vma=False
        )

    def _over_blocks(self, function: Summed, by: Tree, data: Any) -> tuple[Tree, jax.Array | None]:
        blocks = _blocks(data.samples, self.block)
        if len(blocks) == 1:
            return function(by, data)
        size = blocks[0].stop
        shapes, shape = jax.eval_shape(function, by, _part(data, 0, size))
        nothing = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), shapes)
        first = nothing, None if shape is None else jnp.full((), -jnp.inf)

        def add(index: Any, before: tuple[Tree, jax.Array | None]) -> tuple[Tree, jax.Array | None]:
            # the last one ends where the samples do, so it may begin before the one before it has ended
            asked, begin = index * size, jnp.minimum(index * size, data.samples - size)
            return _joined(before, function(by, _part(data, begin, size).weighing(begin + jnp.arange(size) >= asked)))

        found: tuple[Tree, jax.Array | None] = jax.lax.fori_loop(0, len(blocks), add, first)
        return found

    def _block_by_block(self, function: Callable[[Tree, Any], jax.Array], by: Tree, data: Any) -> jax.Array:
        blocks = _blocks(data.samples, self.block)
        if len(blocks) == 1:
            return function(by, data)
        size = blocks[0].stop
        one = jax.eval_shape(function, by, _part(data, 0, size))

        def put(index: Any, found: jax.Array) -> jax.Array:
            begin = jnp.minimum(index * size, data.samples - size)
            return jax.lax.dynamic_update_slice_in_dim(found, function(by, _part(data, begin, size)), begin, -1)

        found: jax.Array = jax.lax.fori_loop(0, len(blocks), put, jnp.zeros((*one.shape[:-1], data.samples), one.dtype))
        return found


#: All samples at once, on the device that JAX takes.
WHOLE = Spread()


def bounds(count: int, parts: int) -> Iterator[int]:
    """Where each of so many parts begins, as even as can be, the larger ones first; and where the last one ends."""
    each, more = divmod(count, parts)
    return (part * each + min(part, more) for part in range(parts + 1))


def _blocks(count: int, most: int | None) -> list[slice]:
    """Blocks of at most so many samples, as even as can be, the last of which may be smaller."""
    each = count if most is None else -(-count // -(-count // most))
    return [slice(begin, min(begin + each, count)) for begin in range(0, count, each)]


def _joined(one: tuple[Tree, jax.Array | None], other: tuple[Tree, jax.Array | None]) -> tuple[Tree, jax.Array | None]:
    (first, log), (second, log_other) = one, other
    if log is None or log_other is None:
        return jax.tree.map(jnp.add, first, second), None
    whole = jnp.logaddexp(log, log_other)
    shares = jnp.exp(log - whole), jnp.exp(log_other - whole)
    return jax.tree.map(lambda a, b: shares[0] * a + shares[1] * b, first, second), whole


def _part(data: Any, begin: Any, size: int) -> Any:
    return jax.tree.map(
        lambda array, axis: jax.lax.dynamic_slice_in_dim(array, begin, size, axis % array.ndim), data, data.axes
    )


def _along(axis: int, axes: int) -> PartitionSpec:
    """The samples are along this axis of so many."""
    return PartitionSpec(*(AXIS if place == axis else None for place in range(axes)))
