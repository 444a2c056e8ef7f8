"""Who moves samples while a network is trained by descent in JAX: as the compiled field does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ...kinds.losses import Loss
from ...kinds.network import Network
from ...scenario import Scenario
from ...scenario.flow import Attack, Stage
from ..numba.layout import PGD_LENGTH


class Attacker(NamedTuple):
    """So many steps of a length, each back within the radius of where the sample started. warmup: iterations in which
    radius and length rise from 0 to what they are."""

    norm: str
    radius: float
    steps: int
    length: float
    warmup: int = 0

    @classmethod
    def of(cls, scenario: Scenario) -> Attacker | None:
        """None where nobody attacks."""
        attack = scenario.flow.attack if isinstance(scenario.flow, Stage) else None
        return None if attack is None else cls.made(attack)

    @classmethod
    def made(cls, attack: Attack) -> Attacker:
        length = attack.radius if attack.kind == "fgm" else PGD_LENGTH * attack.radius / attack.iterations
        return cls(attack.norm, attack.radius, attack.iterations, length, attack.warmup or 0)

    def moved(
        self, inputs: jax.Array, ascent: Callable[[jax.Array], jax.Array], part: jax.Array | float = 1.0
    ) -> jax.Array:
        """Samples (n, r) where their loss is larger; ascent: (n, r) -> the directions in which it rises. part: of the
        radius."""
        part = jnp.asarray(part, inputs.dtype)

        def step(_: int, moved: jax.Array) -> jax.Array:
            there = moved - inputs + part * self.length * self._steepest(ascent(moved))
            return inputs + self._within(there, part * self.radius)

        return jax.lax.fori_loop(0, self.steps, step, inputs)

    def part(self, iteration: jax.Array) -> jax.Array | float:
        """Of the radius, after so many iterations."""
        return jnp.minimum(iteration / self.warmup, 1.0) if self.warmup else 1.0

    def _steepest(self, ascent: jax.Array) -> jax.Array:
        if self.norm == "linf":
            return jnp.sign(ascent)
        largest = jnp.abs(ascent).max(axis=1, keepdims=True)  # squares of tiny entries would underflow
        row = ascent / jnp.where(largest > 0, largest, 1.0)
        return row / jnp.where(largest > 0, jnp.linalg.norm(row, axis=1, keepdims=True), 1.0)

    def _within(self, move: jax.Array, radius: jax.Array | float) -> jax.Array:
        if self.norm == "linf":
            return jnp.clip(move, -radius, radius)
        size = jnp.linalg.norm(move, axis=1, keepdims=True)
        return move * jnp.minimum(radius / jnp.where(size > 0, size, 1.0), 1.0)


@partial(jax.jit, static_argnums=(0, 1, 2))
def attacked(
    network: Network, loss: Loss, attacker: Attacker, arrays: tuple[jax.Array, ...], inputs: Any, targets: Any
) -> jax.Array:
    """Inputs (n, d) where the loss of each, with targets (n,) or (k, n), is larger for the network as it stands."""

    def ascent(moved: jax.Array) -> jax.Array:
        outputs, pull_back = jax.vjp(lambda at: network.of_features(arrays, at), moved)
        return pull_back(loss.derivative(outputs, targets, jnp))[0]

    return attacker.moved(jnp.asarray(inputs), ascent)
