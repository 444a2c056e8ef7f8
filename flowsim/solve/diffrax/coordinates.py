"""The two ways to write the state, and for each its field, its error per neuron and its reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ...problem import Reduced
from ..constants import OUTPUT_FLOOR, SAME_SIZE, TURNS_AWAY
from ..snapshot import Snapshot
from .field import Data, Network


class State(NamedTuple):
    """hidden (m, r), log_norm (m,) and output (m,) of two layers of neurons, or the trained arrays of an ordinary network;
    what a form of the state does not need is None."""

    hidden: jax.Array
    log_norm: jax.Array | None
    output: jax.Array | None
    leaves: tuple[jax.Array, ...] | None = None


class Constants(NamedTuple):
    """What the field takes besides the state: the data, and sign and log|v| of the output weights at the start."""

    data: Data
    output_sign: jax.Array
    output_log: jax.Array


class Trained(Protocol):
    """What stepping asks of a network's loss. growth: as of :class:`flowsim.solve.diffrax.field.Network`."""

    @property
    def growth(self) -> float: ...

    def log_loss(self, outputs: jax.Array, data: Data) -> jax.Array: ...

    def all_right(self, outputs: jax.Array, data: Data) -> jax.Array: ...


class Coordinates(Protocol):
    @property
    def network(self) -> Trained: ...

    def start(self, reduced: Reduced) -> State: ...

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(direction (m, r), log_norm (m,), ratio v/|w| (m,))"""

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        """f(x_i): (n',), or (k, n') of several outputs"""

    def field(self, state: State, constants: Constants) -> State: ...

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        """(m,): each neuron's error relative to that neuron: its angle, log norm and output weight, the largest."""

    def paces(self, state: State, velocity: State) -> jax.Array:
        """(m,): how fast each neuron moves, relative to itself, where what dies does not move: see TURNS_AWAY."""

    def step_errors(
        self, before: State, after: State, error: State, length: jax.Array, rtol: jax.Array, constants: Constants
    ) -> jax.Array:
        """The same as `errors` of a step of this length, which is accepted where none is above rtol."""

    def products(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(|theta|^2, <theta, theta'>, <theta', -grad L>) over what is trained; without learning rates the last is
        |theta'|^2"""

    def settle(self, state: State) -> State:
        """The state after an accepted step, its invariants restored."""

    def snapshot(self, time: float, state: State, constants: Constants) -> Snapshot: ...


class OfNeurons(ABC):
    """Coordinates in which an error counts for what it is."""

    @abstractmethod
    def errors(self, before: State, after: State, error: State) -> jax.Array: ...

    def step_errors(
        self, before: State, after: State, error: State, length: jax.Array, rtol: jax.Array, constants: Constants
    ) -> jax.Array:
        return self.errors(before, after, error)


@dataclass(frozen=True)
class Polar(OfNeurons):
    """hidden = u (unit rows), log_norm = log|w|, output = a = v/|w| where it is free.

    A balanced start keeps a = +1 or -1 exactly, and a fixed output weight gives a = v e^-rho: neither is integrated.
    """

    network: Network
    balanced: bool
    trained_output: bool

    def start(self, reduced: Reduced) -> State:
        weights = reduced.problem.weights
        free = self.trained_output and not self.balanced
        ratio = jnp.asarray(weights.output_sign * np.exp(weights.output_log - weights.log_norm)) if free else None
        return State(jnp.asarray(reduced.direction), jnp.asarray(weights.log_norm), ratio)

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        assert state.log_norm is not None
        # the field depends on u's direction only: an unnormalised u between two stages changes nothing
        return _rows_normalised(state.hidden), state.log_norm, self._ratio(state, constants)

    def _ratio(self, state: State, constants: Constants) -> jax.Array:
        if state.output is not None:
            return state.output
        if self.balanced:
            return constants.output_sign
        assert state.log_norm is not None
        return constants.output_sign * jnp.exp(constants.output_log - state.log_norm)

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        return self.network.outputs(*self.unit(state, constants), constants.data)

    def field(self, state: State, constants: Constants) -> State:
        direction, log_norm, ratio = self.unit(state, constants)
        drift = self.network.drift(direction, log_norm, ratio, constants.data)
        ratio_rate = None if state.output is None else drift.output - ratio * drift.radial
        return State(drift.tangent, drift.radial, ratio_rate)

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        assert error.log_norm is not None
        worst = jnp.maximum(jnp.linalg.norm(error.hidden, axis=1), jnp.abs(error.log_norm))
        if error.output is None or before.output is None or after.output is None:
            return worst
        size = jnp.maximum(jnp.abs(before.output), jnp.abs(after.output))
        return jnp.maximum(worst, jnp.abs(error.output) / jnp.maximum(size, OUTPUT_FLOOR))

    def paces(self, state: State, velocity: State) -> jax.Array:
        assert velocity.log_norm is not None
        rates, turning = self.errors(state, state, velocity), jnp.linalg.norm(velocity.hidden, axis=1)
        if not self.network.keeps_balance:
            return rates
        dies = velocity.log_norm < 0
        if state.output is not None:
            dies &= jnp.abs(state.output) >= 1 - SAME_SIZE
        return jnp.where(dies, jnp.minimum(rates, TURNS_AWAY * turning), rates)

    def products(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        assert state.log_norm is not None
        assert velocity.log_norm is not None
        square, rate = jnp.exp(2 * state.log_norm), velocity.log_norm
        ratio = self._ratio(state, constants) if self.trained_output else jnp.zeros_like(rate)
        change = ratio * rate + (0.0 if velocity.output is None else velocity.output)
        turning = jnp.sum(velocity.hidden**2, axis=1)
        size, along = square * (1 + ratio**2), square * (rate + ratio * change)
        return size.sum(), along.sum(), (square * (turning + rate**2 + change**2)).sum()

    def settle(self, state: State) -> State:
        return state._replace(hidden=_rows_normalised(state.hidden))

    def snapshot(self, time: float, state: State, constants: Constants) -> Snapshot:
        direction, log_norm, ratio = (np.asarray(array) for array in self.unit(state, constants))
        if self.trained_output:
            with np.errstate(divide="ignore"):
                return Snapshot(time, direction, log_norm, np.sign(ratio), np.log(np.abs(ratio)) + log_norm)
        return Snapshot(time, direction, log_norm, np.asarray(constants.output_sign), np.asarray(constants.output_log))


@dataclass(frozen=True)
class Cartesian(OfNeurons):
    """hidden = w, output = v where it is trained."""

    network: Network
    trained_output: bool

    def start(self, reduced: Reduced) -> State:
        weights = reduced.problem.weights
        output = jnp.asarray(weights.output_sign * np.exp(weights.output_log)) if self.trained_output else None
        return State(jnp.asarray(np.exp(weights.log_norm)[:, None] * reduced.direction), None, output)

    def unit(self, state: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        norm = row_norms(state.hidden)
        scale = jnp.where(norm > 0, norm, 1.0)
        return state.hidden / scale[:, None], jnp.log(scale), self._output(state, constants) / scale

    def _output(self, state: State, constants: Constants) -> jax.Array:
        return constants.output_sign * jnp.exp(constants.output_log) if state.output is None else state.output

    def outputs(self, state: State, constants: Constants) -> jax.Array:
        return self.network.outputs(*self.unit(state, constants), constants.data)

    def field(self, state: State, constants: Constants) -> State:
        direction, log_norm, ratio = self.unit(state, constants)
        drift = self.network.drift(direction, log_norm, ratio, constants.data)
        scale = jnp.exp(log_norm)
        hidden = scale[:, None] * (drift.tangent + drift.radial[:, None] * direction)
        return State(hidden, None, None if state.output is None else scale * drift.output)

    def errors(self, before: State, after: State, error: State) -> jax.Array:
        size = jnp.maximum(row_norms(before.hidden), row_norms(after.hidden))
        worst = row_norms(error.hidden) / jnp.where(size > 0, size, 1.0)
        if error.output is None or before.output is None or after.output is None:
            return worst
        output = jnp.maximum(jnp.abs(before.output), jnp.abs(after.output))
        output = jnp.maximum(output, OUTPUT_FLOOR * size)
        return jnp.maximum(worst, jnp.abs(error.output) / jnp.where(output > 0, output, 1.0))

    def paces(self, state: State, velocity: State) -> jax.Array:
        rates = self.errors(state, state, velocity)
        if not self.network.keeps_balance or state.output is None:
            return rates
        size = row_norms(state.hidden)
        unit = state.hidden / jnp.where(size > 0, size, 1.0)[:, None]
        growth = jnp.sum(unit * velocity.hidden, axis=1)
        turning = row_norms(velocity.hidden - growth[:, None] * unit) / jnp.where(size > 0, size, 1.0)
        dies = (size > 0) & (growth < 0) & (jnp.abs(state.output) >= (1 - SAME_SIZE) * size)
        return jnp.where(dies, jnp.minimum(rates, TURNS_AWAY * turning), rates)

    def products(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        pairs = [(state.hidden, velocity.hidden)]
        if state.output is not None and velocity.output is not None:
            pairs.append((state.output, velocity.output))
        return (
            sum((jnp.sum(where**2) for where, _ in pairs), jnp.zeros(())),
            sum((jnp.sum(where * rate) for where, rate in pairs), jnp.zeros(())),
            sum((jnp.sum(rate**2) for _, rate in pairs), jnp.zeros(())),
        )

    def settle(self, state: State) -> State:
        return state

    def snapshot(self, time: float, state: State, constants: Constants) -> Snapshot:
        direction, log_norm, _ = (np.asarray(array) for array in self.unit(state, constants))
        output = np.asarray(self._output(state, constants))
        with np.errstate(divide="ignore"):
            return Snapshot(time, direction, log_norm, np.sign(output), np.log(np.abs(output)))


def _rows_normalised(rows: jax.Array) -> jax.Array:
    return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)


def row_norms(rows: jax.Array) -> jax.Array:
    """Norms of rows whose squares may underflow."""
    largest = jnp.max(jnp.abs(rows), axis=1)
    scale = jnp.where(largest > 0, largest, 1.0)
    return scale * jnp.linalg.norm(rows / scale[:, None], axis=1)
