"""Derivatives of a network and of its training loss in all parameters, by JAX, which is imported on first use only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kinds.losses import Loss
from ..kinds.pixels import Stored, slices

#: Any tree of arrays, as JAX knows trees.
Tree = Any


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Of the function: (params, inputs (n, …)) -> outputs (n,), or (k, n) of several, and of its training loss, the sum
    over samples of weight (n,) times loss; a regulariser is no part of it.

    inputs (n, …); targets (n,), or (k, n) for the square loss of k outputs. Everything is in float64. At a kink,
    derivatives are those that the function has there for JAX. most: samples that are gone through at a time; all unless
    given.
    """

    function: Callable[[Tree, Any], Any]
    loss: Loss
    inputs: Stored
    targets: Floats
    weight: Floats
    most: int | None = None

    def gradient(self, params: Tree) -> Floats:
        """(p,): of the training loss, over all entries of all leaves in the order of the tree"""
        return self._summed("gradient", params)

    def hessian_product(self, params: Tree, vector: Floats) -> Floats:
        """(p,): the Hessian of the training loss times a vector (p,)"""
        return self._summed("hessian_product", params, vector)

    def hessian(self, params: Tree) -> Floats:
        """(p, p): of the training loss, for few parameters"""
        return self._summed("hessian", params)

    def tangent_kernel(self, params: Tree, inputs: Floats) -> Floats:
        """(k n, k n): products of the outputs' gradients in all parameters, the n samples of the first output first.

        It holds a few gradients at a time, not all of them.
        """
        return self._call("tangent_kernel", params, inputs)

    def _summed(self, name: str, *arguments: Any) -> Floats:
        """Over all samples, a part of them after the other."""
        count = len(self.weight)
        found = [self._call(name, *arguments, self._data(rows)) for rows in slices(count, self.most or count)]
        return np.sum(found, axis=0)

    def _data(self, rows: slice) -> tuple[Floats, Floats, Floats]:
        return self.inputs[rows], self.targets[..., rows], self.weight[rows]

    def _call(self, name: str, *arguments: Any) -> Floats:
        import jax

        with jax.enable_x64(True):
            return np.asarray(_compiled(self.function, self.loss)[name](*arguments))


@lru_cache(maxsize=32)
def _compiled(function: Callable[[Tree, Any], Any], loss: Loss) -> dict[str, Callable[..., Any]]:
    """By their names; the members of an ensemble share them."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    def gradient(params: Tree, data: Any) -> Any:
        inputs, targets, weight = data
        seen, pull_back = jax.vjp(lambda params: function(params, inputs), params)
        (found,) = pull_back(weight * loss.derivative(seen, targets, jnp))
        return ravel_pytree(found)[0]

    def hessian_product(params: Tree, vector: Any, data: Any) -> Any:
        direction = ravel_pytree(params)[1](vector)
        return jax.jvp(lambda params: gradient(params, data), (params,), (direction,))[1]

    def hessian(params: Tree, data: Any) -> Any:
        units = jnp.eye(ravel_pytree(params)[0].size)
        return jax.lax.map(lambda unit: hessian_product(params, unit, data), units)

    def tangent_kernel(params: Tree, inputs: Any) -> Any:
        def of(params: Tree) -> Any:
            return function(params, inputs)

        seen, pull_back = jax.vjp(of, params)
        units = jnp.eye(seen.size).reshape(-1, *seen.shape)
        return jax.lax.map(lambda unit: jax.jvp(of, (params,), pull_back(unit))[1].ravel(), units)

    parts = (gradient, hessian_product, hessian, tangent_kernel)
    return {part.__name__: jax.jit(part) for part in parts}
