"""The loss clock in JAX: the same dt/ds as in the numba engine's `clock`. Time is integrated from PIECES cubics a step,
with the values and slopes of log(dt/ds) at their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..constants import A_WHILE, BISECTIONS, NEGLIGIBLE, PIECES, SETTLED_LOSS, SETTLED_MOTION
from .coordinates import Constants, Coordinates, State

#: Steeper cubics than this are not those of a step that is accepted.
STEEPEST = 1e9
_NODES, _WEIGHTS = (0.5 * np.polynomial.legendre.leggauss(5)[0] + 0.5, 0.5 * np.polynomial.legendre.leggauss(5)[1])
LOG_10 = float(np.log(10.0))


class Times(NamedTuple):
    """log of flow time, now and where the last step began; log of dt/ds and its slope (PIECES + 1,) at the ends of the
    pieces of that step. rate: of the fastest neuron at first. origin: flow time at which the loss clock
    began."""

    log_time: jax.Array
    begin_log_time: jax.Array
    log_speed: jax.Array
    slope: jax.Array
    rate: jax.Array
    origin: jax.Array


@dataclass(frozen=True)
class LossClock:
    """endless: whether no time ends the run, so that it must notice if it rests."""

    coordinates: Coordinates
    endless: bool

    def start(self, origin: jax.Array, rate: jax.Array, state: State, constants: Constants) -> Times:
        """Where the clock begins at this flow time, without a step before it."""
        log_speed, slope, _ = self._speed(state, self.coordinates.field(state, constants), constants)
        log_time, ends = jnp.log(origin), PIECES + 1
        return Times(log_time, log_time, jnp.full(ends, log_speed), jnp.full(ends, slope), rate, origin)

    def after(
        self,
        times: Times,
        length: jax.Array,
        inside: Callable[[jax.Array], State] | None,
        state: State,
        constants: Constants,
    ) -> tuple[Times, jax.Array]:
        """The times after a step, and whether the loss will fall no further with a sample on the wrong side.

        inside: the step's dense output, as a function of the part of it; None where it is not good enough for losses. One
        cubic then goes over the whole step.
        """
        velocity = self.coordinates.field(state, constants)
        speed, rising, falling = self._speed(state, velocity, constants)
        ends = (times.log_speed[-1], speed, length * times.slope[-1], length * rising)
        log_speed, slope = [times.log_speed[-1]], [times.slope[-1]]
        for piece in range(1, PIECES):
            part = jnp.asarray(piece / PIECES)
            if inside is None:
                there, climbing = jax.value_and_grad(_cubic)(part, *ends)
                climbing = climbing / length
            else:
                state_there = inside(part)
                drift = self.coordinates.field(state_there, constants)
                there, climbing, _ = self._speed(state_there, drift, constants)
            log_speed.append(there)
            slope.append(climbing)
        log_speed.append(speed)
        slope.append(rising)
        later = times._replace(begin_log_time=times.log_time, log_speed=jnp.array(log_speed), slope=jnp.array(slope))
        log_time = log_time_inside(jnp.ones(()), length, later)
        units = jnp.maximum(jnp.exp(log_time - speed), A_WHILE / times.rate)
        motion = jnp.max(self.coordinates.paces(state, velocity))
        right = self.coordinates.network.all_right(self.coordinates.outputs(state, constants), constants.data)
        rests = self.endless & ~right & (-falling * units <= SETTLED_LOSS) & (units * motion < SETTLED_MOTION)
        return later._replace(log_time=log_time), rests

    def _speed(self, state: State, velocity: State, constants: Constants) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(log of dt/ds, its slope, slope of the log of the loss)"""
        network = self.coordinates.network
        size, along, speed = self.coordinates.products(state, velocity, constants)
        log_loss = network.log_loss(self.coordinates.outputs(state, constants), constants.data)
        falling = -speed * jnp.exp(-network.growth * jnp.log1p(size))
        log_speed = network.growth * jnp.log1p(size) - log_loss
        return log_speed, 2 * network.growth * along / (1 + size) - falling, falling


def log_time_inside(part: jax.Array, length: jax.Array, times: Times) -> jax.Array:
    """log of flow time at a part of the last step."""
    covered = jnp.clip(PIECES * part - jnp.arange(PIECES), 0.0, 1.0)
    slope = length / PIECES * times.slope
    gone = jax.vmap(_log_integral)(covered, times.log_speed[:-1], times.log_speed[1:], slope[:-1], slope[1:])
    return jnp.logaddexp(times.begin_log_time, jnp.log(length / PIECES) + jax.scipy.special.logsumexp(gone))


def part_at(log_time: jax.Array, length: jax.Array, times: Times) -> jax.Array:
    """The inverse."""

    def halve(_: int, bracket: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        early = log_time_inside(middle, length, times) < log_time
        return jnp.where(early, middle, low), jnp.where(early, high, middle)

    return jax.lax.fori_loop(0, BISECTIONS, halve, (jnp.zeros(()), jnp.ones(())))[1]


def _log_integral(part: jax.Array, begin: jax.Array, end: jax.Array, first: jax.Array, last: jax.Array) -> jax.Array:
    """log of the integral of e^H from 0 to `part`, H the cubic on [0, 1] with these values and slopes at its ends: pieces
    over which it changes by about 1, from `part` down, until nothing is left."""

    def cubic(x: jax.Array) -> jax.Array:
        return _cubic(x, begin, end, first, last)

    def highest(x: jax.Array) -> jax.Array:
        """On [0, x]"""
        over = hill < x
        inside = jnp.where(over, cubic(jnp.where(over, hill, 0.0)), -jnp.inf)
        return jnp.maximum(jnp.maximum(cubic(x), begin), inside)

    def steepness(x: jax.Array) -> jax.Array:
        """The inverse of how far from there it changes by about 1, by each of its derivatives"""
        by_slope, by_bend, by_twist = jnp.abs(slope(x)), jnp.abs(bend(x)), jnp.abs(twist(x))
        return jnp.maximum(by_slope, jnp.maximum(jnp.sqrt(by_bend), jnp.cbrt(by_twist)))

    slope = jax.grad(cubic)
    bend = jax.grad(slope)
    twist = jax.grad(bend)
    hill = _hill(begin, end, first, last)
    top = highest(part)

    def goes_on(walk: tuple[jax.Array, jax.Array]) -> jax.Array:
        right, _ = walk
        return (right > 0) & ((right == part) | (highest(right) >= top - NEGLIGIBLE))

    def piece(walk: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        right, total = walk
        width = jnp.minimum(right, 0.5 / jnp.clip(steepness(right), 1.0, STEEPEST))
        heights = cubic(right - width + width * _NODES)
        return right - width, total + width * jnp.sum(_WEIGHTS * jnp.exp(heights - top))

    _, total = jax.lax.while_loop(goes_on, piece, (part, jnp.zeros(())))
    return top + jnp.log(total)


def _hill(begin: jax.Array, end: jax.Array, first: jax.Array, last: jax.Array) -> jax.Array:
    """Where in (0, 1) the cubic has a local maximum; inf where it has none."""
    rise = end - begin
    # its slope is first + 2 bend x + 3 twist x^2
    bend, twist = 3 * rise - 2 * first - last, first + last - 2 * rise
    square = bend * bend - 3 * twist * first
    root = jnp.sqrt(jnp.maximum(square, 0.0))
    # of the two roots, where the slope falls, in the form that does not cancel
    above, below = jnp.where(bend < 0, first, -(bend + root)), jnp.where(bend < 0, root - bend, 3 * twist)
    place = above / jnp.where(below == 0, 1.0, below)
    return jnp.where((square > 0) & (below != 0) & (place > 0) & (place < 1), place, jnp.inf)


def _cubic(x: jax.Array, begin: jax.Array, end: jax.Array, first: jax.Array, last: jax.Array) -> jax.Array:
    """On [0, 1], by its values and slopes at the ends."""
    rise = end - begin
    return begin + x * (first + x * (3 * rise - 2 * first - last + x * (first + last - 2 * rise)))
