"""Runge-Kutta-Chebyshev steps of order 2 as a diffrax solver: what the numba engine's `chebyshev` does, in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..constants import DAMPING, INTERVAL, ITERATIONS, LINEAR, MOST_STAGES, PERTURBATION, SAFE, SETTLED_RADIUS

#: Of the velocities at both ends and of the mean one (Sommeijer, Shampine & Verwer 1998).
ENDS, MEAN = 0.4, 0.8


class Memory(NamedTuple):
    """Between two steps: the velocity, and the spectral radius with its mode, as the last power iterations have left them.
    spent: evaluations of the last step, accepted or not."""

    velocity: jax.Array
    mode: jax.Array
    radius: jax.Array
    spent: jax.Array


Field = Callable[[jax.Array], jax.Array]


class Chebyshev(diffrax.AbstractSolver[Memory]):
    """For fields that do not depend on time and whose fast modes decay. polar: whether a state's entries are angles and
    logarithms, all of a size of 1. perturbation: of power iterations, beside the state's size; far
    above the rounding of the field."""

    polar: bool = False
    perturbation: float = PERTURBATION

    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar[Any] = diffrax.ThirdOrderHermitePolynomialInterpolation

    def order(self, terms: Any) -> int:
        return 2

    def error_order(self, terms: Any) -> int:
        return 3

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return terms.vf(t0, y0, args)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Memory:
        state, velocity = ravel_pytree(y0)[0], ravel_pytree(terms.vf(t0, y0, args))[0]
        return Memory(velocity, jnp.zeros_like(state), jnp.zeros(()), jnp.ones((), int))

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Memory, made_jump: Any
    ) -> tuple[Any, Any, dict[str, Any], Memory, Any]:
        del made_jump
        memory, looking = self.look(terms, t0, y0, args, solver_state)
        y1, error, dense, later = self.walk(terms, t0, t1, y0, args, memory)
        return y1, error, dense, later._replace(spent=later.spent + looking), diffrax.RESULTS.successful

    def walk(
        self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, memory: Memory
    ) -> tuple[Any, Any, dict[str, Any], Memory]:
        """A step by the spectral radius in the memory: end, error, dense output, memory."""
        begin, whole = ravel_pytree(y0)
        length, velocity, field = t1 - t0, memory.velocity, _flat(terms, t0, args, whole)
        bound = SAFE * memory.radius
        # a step that would need more stages is refused
        possible = length * bound <= INTERVAL * (MOST_STAGES**2 - 1)
        stages = jnp.where(possible, _stages(length, bound), 2)
        end = _recur(field, begin, velocity, stages, length)
        last = field(end)
        error = ENDS * length * (velocity + last) - MEAN * (end - begin)
        error = jnp.where(possible, error, jnp.inf)
        dense = {"y0": y0, "y1": whole(end), "k0": whole(length * velocity), "k1": whole(length * last)}
        return whole(end), whole(error), dense, memory._replace(velocity=last, spent=stages)

    def inside(self, terms: Any, t0: Any, t1: Any, args: Any, dense: Any, memory: Memory, time: Any) -> Any:
        """The state within the step from t0 to t1 that has left these, by a step of its own: differences of margins have to
        be good to less than 1 where margins are 10^5, and no polynomial over a stiff step gives that."""
        begin, whole = ravel_pytree(dense["y0"])
        velocity, part = ravel_pytree(dense["k0"])[0] / (t1 - t0), time - t0
        field = _flat(terms, t0, args, whole)
        return whole(_recur(field, begin, velocity, _stages(part, SAFE * memory.radius), part))

    def look(self, terms: Any, t0: Any, y0: Any, args: Any, memory: Memory) -> tuple[Memory, jax.Array]:
        """The spectral radius at a state whose velocity is the memory's, and what that has evaluated: power iterations with
        differences, from the mode that the last ones have found."""
        begin, whole = ravel_pytree(y0)
        field = _flat(terms, t0, args, whole)
        scale = 1.0 if self.polar else jnp.maximum(jnp.linalg.norm(begin), 1e-300)

        def goes_on(walk: Any) -> jax.Array:
            count, _, radius, before = walk
            return (count < ITERATIONS) & ((count == 0) | (jnp.abs(radius - before) > SETTLED_RADIUS * radius))

        def iterate(walk: Any) -> Any:
            count, mode, radius, _ = walk
            mode = jnp.where(jnp.linalg.norm(mode) > 0, mode, jnp.asarray(_spread(mode.size)))
            length = jnp.linalg.norm(mode)
            shift = scale * jnp.minimum(self.perturbation, LINEAR / jnp.maximum(radius, 1.0)) / length
            mode = (field(begin + shift * mode) - memory.velocity) / (shift * length)
            return count + 1, mode, jnp.linalg.norm(mode), radius

        first = (jnp.zeros((), int), memory.mode, memory.radius, memory.radius)
        count, mode, radius, _ = jax.lax.while_loop(goes_on, iterate, first)
        return memory._replace(radius=radius, mode=mode), count


def _flat(terms: Any, t0: Any, args: Any, whole: Callable[[jax.Array], Any]) -> Field:
    return lambda state: ravel_pytree(terms.vf(t0, whole(state), args))[0]


def _stages(length: Any, radius: Any) -> jax.Array:
    return jnp.maximum(2, 1 + jnp.floor(jnp.sqrt(length * radius / INTERVAL + 1.0)).astype(int))


def _recur(field: Field, begin: jax.Array, velocity: jax.Array, stages: jax.Array, length: Any) -> jax.Array:
    """The state after a step of so many stages: the three-term recursion of Chebyshev's polynomials."""
    w0 = 1.0 + DAMPING / (stages * stages)
    one, none = jnp.ones(()), jnp.zeros(())
    # T_j(w0), T_j'(w0), T_j''(w0) and those before them
    first = ((w0 * one, one, none), (one, none, none))
    (_, slope, curve), _ = jax.lax.fori_loop(1, stages, lambda _, both: (_next(w0, both), both[0]), first)
    w1 = slope / curve
    b = jnp.broadcast_to(1.0 / (4.0 * w0 * w0), ())

    def advance(_: Any, walk: Any) -> Any:
        both, (b1, b2), (latest, older) = walk
        upcoming = _next(w0, both)
        b0 = upcoming[2] / upcoming[1] ** 2
        mu, nu, push = 2.0 * b0 * w0 / b1, -b0 / b2, 2.0 * b0 * w1 / b1
        drift = field(latest) - (1.0 - b1 * both[0][0]) * velocity
        state = (1.0 - mu - nu) * begin + mu * latest + nu * older + push * length * drift
        return (upcoming, both[0]), (b0, b1), (state, latest)

    start = (first, (b, b), (begin + b * w1 * length * velocity, begin))
    return jax.lax.fori_loop(1, stages, advance, start)[2][0]


def _next(w0: jax.Array, both: Any) -> Any:
    """The next Chebyshev polynomial with its derivatives at w0, from the last two."""
    (t1, d1, c1), (t2, d2, c2) = both
    return 2.0 * w0 * t1 - t2, 2.0 * t1 + 2.0 * w0 * d1 - d2, 4.0 * d1 + 2.0 * w0 * c1 - c2


def _spread(size: int) -> Any:
    """A direction to begin with, with a part along every other."""
    places = np.arange(size)
    return (1.0 + ((places * 7919) % 101) / 101.0) * np.where((places * 31) % 3 == 0, -1.0, 1.0)
