"""Any network: the trained arrays of its tree as they are, each unit under error control of its own."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from ...kinds.losses import Loss
from ...kinds.network import Network, unit_sizes
from ...problem import Reduced
from ..function import first_arrays, in_type_of, scale_of, with_outputs
from ..snapshot import Snapshot
from .coordinates import Constants, State, row_norms
from .field import Data, OfLoss
from .spread import WHOLE, Spread

Arrays = tuple[jax.Array, ...]


@dataclass(frozen=True)
class Objective(OfLoss):
    """The loss of a network whose outputs are all that is known of it; fields as in :class:`OfLoss`."""

    loss: Loss
    loss_clock: bool
    growth: float


@dataclass(frozen=True)
class Tree:
    """leaves = the trained arrays, neurons in the reduced coordinates. rates: what the velocity of each is multiplied with.
    two_layers: whether they are those of two layers of neurons.

    Implements :class:`flowsim.solve.diffrax.coordinates.Coordinates`.
    """

    of: Network
    network: Objective
    rates: tuple[float, ...]
    two_layers: bool
    spread: Spread = WHOLE

    def start(self, reduced: Reduced) -> State:
        return _state(tuple(map(jnp.asarray, first_arrays(reduced, self.of))))

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        rows, others = self.of.apart(_arrays(state))
        if rows is None or not self.two_layers:
            return state.hidden, jnp.zeros(0), jnp.zeros(0)
        (output,) = others or (_fixed(constants),)
        norm = row_norms(rows)
        scale = jnp.where(norm > 0, norm, 1.0)
        return rows / scale[:, None], jnp.log(scale), output / scale

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        return self.spread.each(lambda arrays, data: self._outputs(arrays, data.matrix), _arrays(state), constants.data)

    def _outputs(self, arrays: tuple[jax.Array, ...], inputs: jax.Array) -> jax.Array:
        """In float64, computed in the type that the inputs have."""
        found: jax.Array = in_type_of(inputs, self.of.outputs, arrays)
        return found

    def field(self, state: State, constants: Constants) -> State:
        falling = self.spread.sums(self._falling, _arrays(state), constants.data)
        return _state(tuple(rate * array for rate, array in zip(self.rates, falling, strict=True)))

    def _falling(self, arrays: Arrays, data: Data) -> tuple[Arrays, jax.Array | None]:
        """(-grad L in each array, log of the loss where they are per unit of that)"""
        network = self.network
        outputs, pull_back = jax.vjp(lambda trained: self._outputs(trained, data.matrix), arrays)
        pull = network.pull(outputs, lambda: _square(arrays), data)
        scale = scale_of(pull, data.matrix)
        falling = tuple(scale * array for array in pull_back(pull / scale)[0])
        return falling, network.log_loss(outputs, data) if network.per_loss else None

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        """(units,): each one's error relative to the larger of its sizes before and after."""
        return self.of.relative(_arrays(error), self._sizes(before, after), jnp)

    def paces(self, state: State, velocity: State) -> jax.Array:
        """(units,): of units that are no neurons none dies"""
        return self.errors(state, state, velocity)

    def step_errors(
        self, before: State, after: State, error: State, length: jax.Array, rtol: jax.Array, constants: Constants
    ) -> jax.Array:
        """A unit in which large velocities cancel, as one that passes through zero, or stays there by a symmetry, cannot be
        as exact as its size asks: relative errors of all units move it by their size times its leeway."""
        errors = self.errors(before, after, error)

        def forgiving() -> jax.Array:
            sizes = zip(self._sizes(before, after), self._leeway(before, length, constants), strict=True)
            return self.of.relative(_arrays(error), [jnp.maximum(*pair) for pair in sizes], jnp)

        return jax.lax.cond(jnp.all(errors <= rtol), lambda: errors, forgiving)

    def _sizes(self, before: State, after: State) -> list[jax.Array]:
        pairs = zip(_arrays(before), _arrays(after), self.of.leaves, strict=True)
        return [
            jnp.maximum(unit_sizes(first, leaf.units, jnp), unit_sizes(last, leaf.units, jnp))
            for first, last, leaf in pairs
        ]

    def _leeway(self, state: State, length: jax.Array, constants: Constants) -> list[jax.Array]:
        """For each unit, by how much a step moves it more or less per relative error of all entries, where these have
        nothing in common."""
        whole, unravel = jax.flatten_util.ravel_pytree(state)
        moved = unravel(whole * jnp.asarray(_parts(whole.size)))
        change = jax.jvp(lambda at: self.field(at, constants), (state,), (moved,))[1]
        size = jnp.linalg.norm(jax.flatten_util.ravel_pytree(change)[0])
        # of fast modes that decay, no step shows more than their size
        length = jnp.minimum(length, jnp.linalg.norm(whole) / jnp.where(size > 0, size, jnp.inf))
        units = zip(_arrays(change), self.of.leaves, strict=True)
        return [length * unit_sizes(array, leaf.units, jnp) for array, leaf in units]

    def products(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        where, velocities = _arrays(state), _arrays(velocity)
        along = sum((jnp.sum(array * moved) for array, moved in zip(where, velocities, strict=True)), jnp.zeros(()))
        # <theta', -grad L>: by how much the loss falls
        speeds = zip(self.rates, velocities, strict=True)
        speed = sum((jnp.sum(moved**2) / rate for rate, moved in speeds if rate), jnp.zeros(()))
        return _square(where), along, speed

    def settle(self, state: State) -> State:
        return state

    def snapshot(self, time: float, state: State, constants: Constants) -> Snapshot:
        found = Snapshot.of_arrays(time, self.of, tuple(map(np.asarray, _arrays(state))))
        return with_outputs(found, np.asarray(_fixed(constants))) if self.two_layers else found


def _state(arrays: tuple[jax.Array, ...]) -> State:
    return State(jnp.zeros((0, 0)), None, None, arrays)


def _arrays(state: State) -> tuple[jax.Array, ...]:
    assert state.leaves is not None
    return state.leaves


def _fixed(constants: Constants) -> jax.Array:
    """(m,): the output weights of two layers at time 0"""
    return constants.output_sign * jnp.exp(constants.output_log)


def _parts(count: int) -> np.ndarray:
    """Numbers of order 1 with which nothing cancels by a symmetry."""
    return np.random.default_rng(0).standard_normal(count)


def _square(arrays: tuple[jax.Array, ...]) -> jax.Array:
    return sum((jnp.sum(array**2) for array in arrays), jnp.zeros(()))
