"""An ordinary network: the trained arrays of its tree as they are, each unit under error control of its own."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from ...kinds.losses import Loss
from ...kinds.network import Network, unit_sizes
from ...problem import Reduced
from ..snapshot import Snapshot
from .coordinates import Constants, State
from .field import OfLoss


@dataclass(frozen=True)
class Objective(OfLoss):
    """The loss of a network whose outputs are all that is known of it; fields as in :class:`OfLoss`."""

    loss: Loss
    loss_clock: bool
    growth: float


@dataclass(frozen=True)
class Tree:
    """upper = the trained arrays; there are no neurons. rates: what the velocity of each array is multiplied with.

    Implements :class:`flowsim.solve.diffrax.coordinates.Coordinates`.
    """

    of: Network
    network: Objective
    rates: tuple[float, ...]

    def start(self, reduced: Reduced) -> State:
        return _state(tuple(map(jnp.asarray, reduced.problem.upper)))

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        return state.hidden, jnp.zeros(0), jnp.zeros(0)

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        return self.of.outputs(_arrays(state), constants.data.inputs)

    def field(self, state: State, constants: Constants) -> State:
        data, arrays = constants.data, _arrays(state)
        outputs, pull_back = jax.vjp(lambda trained: self.of.outputs(trained, data.inputs), arrays)
        pull = self.network.pull(outputs, lambda: _square(arrays), data)
        falling = pull_back(pull)[0]
        return _state(tuple(rate * array for rate, array in zip(self.rates, falling, strict=True)))

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        """(units,): each one's error relative to the larger of its sizes before and after."""
        pairs = zip(_arrays(before), _arrays(after), self.of.leaves, strict=True)
        sizes = [
            jnp.maximum(unit_sizes(first, leaf.units, jnp), unit_sizes(last, leaf.units, jnp))
            for first, last, leaf in pairs
        ]
        return self.of.relative(_arrays(error), sizes, jnp)

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
        none, arrays = np.zeros(0), tuple(map(np.asarray, _arrays(state)))
        return Snapshot(time, np.zeros((0, constants.data.inputs.shape[1])), none, none, none, upper=arrays)


def _state(arrays: tuple[jax.Array, ...]) -> State:
    return State(jnp.zeros((0, 0)), None, None, arrays)


def _arrays(state: State) -> tuple[jax.Array, ...]:
    assert state.upper is not None
    return state.upper


def _square(arrays: tuple[jax.Array, ...]) -> jax.Array:
    return sum((jnp.sum(array**2) for array in arrays), jnp.zeros(()))
