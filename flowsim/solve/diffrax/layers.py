"""A network of any depth in Cartesian coordinates: the weights of all layers, every row under error control of its own."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from ...kinds.layers import Passed, Product, forward, pulls_back, velocities
from ...problem import Reduced
from ..constants import OUTPUT_FLOOR
from ..snapshot import Snapshot
from .coordinates import Constants, OfNeurons, State, row_norms
from .field import Data, Network


@dataclass(frozen=True)
class Layers(OfNeurons):
    """hidden = w of the first layer, upper = the matrices of the others.

    Implements :class:`flowsim.solve.diffrax.coordinates.Coordinates`.
    """

    network: Network

    def start(self, reduced: Reduced) -> State:
        weights = reduced.problem.weights
        hidden = jnp.asarray(np.exp(weights.log_norm)[:, None] * reduced.direction)
        return State(hidden, None, None, tuple(map(jnp.asarray, weights.upper)))

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        direction, norm = _rows(state.hidden)
        return direction, jnp.log(norm), jnp.zeros_like(norm)

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        return self._forward(state, constants.data)[0]

    def field(self, state: State, constants: Constants) -> State:
        data, network = constants.data, self.network
        outputs, passed = self._forward(state, data)
        pull = -data.weight * network.loss.derivative(outputs, data.targets, jnp)
        product = _product(data)
        pulls = pulls_back(jnp.atleast_2d(pull), _upper(state), passed, product)
        return State(data.gather(pulls[0]), None, None, velocities(pulls, passed, product))

    def _forward(self, state: State, data: Data) -> tuple[jax.Array, Passed]:
        direction, norm = _rows(state.hidden)
        seen = norm[:, None] * data.project(direction)
        outputs, passed = forward(seen, _upper(state), self.network.activation, jnp, _product(data))
        return outputs if self.network.loss.classes else outputs[0], passed

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        """(all rows,): each one's error relative to it; above the first layer, to no less than a part of the layer's
        largest, since rows there may pass through zero."""
        rows = [_relative(before.hidden, after.hidden, error.hidden, 0.0)]
        layers = zip(_upper(before), _upper(after), _upper(error), strict=True)
        return jnp.concatenate(rows + [_relative(*layer, OUTPUT_FLOOR) for layer in layers])

    def products(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        where, rate = jax.flatten_util.ravel_pytree(state)[0], jax.flatten_util.ravel_pytree(velocity)[0]
        return where @ where, where @ rate, rate @ rate

    def settle(self, state: State) -> State:
        return state

    def snapshot(self, time: float, state: State, constants: Constants) -> Snapshot:
        direction, log_norm, _ = (np.asarray(array) for array in self.unit(state, constants))
        none = np.zeros(len(log_norm))
        return Snapshot(time, direction, log_norm, none, none - np.inf, upper=tuple(map(np.asarray, _upper(state))))


def _rows(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(unit rows, their norms, 1 for a row of zeros)"""
    norm = row_norms(matrix)
    norm = jnp.where(norm > 0, norm, 1.0)
    return matrix / norm[:, None], norm


def _upper(state: State) -> tuple[jax.Array, ...]:
    assert state.upper is not None
    return state.upper


def _relative(before: jax.Array, after: jax.Array, error: jax.Array, floor: float) -> jax.Array:
    size = jnp.maximum(row_norms(before), row_norms(after))
    size = jnp.maximum(size, floor * jnp.max(size))
    return row_norms(error) / jnp.where(size > 0, size, 1.0)


def _product(data: Data) -> Product:
    """The matrix product in the type that products have, scaled so that nothing underflows in it."""

    def product(left: jax.Array, right: jax.Array) -> jax.Array:
        if left.dtype == data.inputs.dtype:
            return left @ right
        largest = (jnp.max(jnp.abs(left)), jnp.max(jnp.abs(right)))
        one, other = (jnp.where(size > 0, size, 1.0) for size in largest)
        small = (left / one).astype(data.inputs.dtype) @ (right / other).astype(data.inputs.dtype)
        return one * other * small.astype(left.dtype)

    return product
