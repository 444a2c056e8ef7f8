"""A pair of Runge-Kutta's that goes over to Chebyshev steps where stability holds it back, and returns where accuracy does.

A pair at its stability limit shows it for nothing: its last two stages lie at the same instant, and the quotient of their
differences in velocity and in state is about the spectral radius (Hairer & Wanner, IV.2). Power iterations then check it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..constants import HELD_BACK
from ..stability import reach
from .chebyshev import Chebyshev, Memory


class Both(NamedTuple):
    """Between two steps. memory: of the Chebyshev steps, and the velocity for both. late: whether the last step was one of
    these; stiff: whether the next one is to be. signs: steps of the pair in a row that were held back; patience: how many
    it takes to leave it. spent: evaluations of the last step, accepted or not."""

    memory: Memory
    late: jax.Array
    stiff: jax.Array
    signs: jax.Array
    patience: jax.Array
    spent: jax.Array


class Switching(eqx.Module):
    """pair: one whose last stage is the next step's first, and whose last two stages are at the end of the step."""

    pair: Any
    late: Chebyshev

    @property
    def limit(self) -> float:
        """Up to which product of step and spectral radius the pair is stable."""
        tableau = self.pair.tableau
        return reach(_square(tableau), np.asarray(tableau.b_sol))

    @property
    def stages(self) -> int:
        """Evaluations of a step of the pair."""
        return int(self.pair.tableau.num_stages) - 1

    def error_order(self, terms: Any) -> Any:
        return self.pair.error_order(terms)

    def order_after(self, terms: Any, state: Both) -> jax.Array:
        """Of the error of the step that has left this state."""
        return jnp.where(state.late, float(self.late.error_order(terms)), float(self.pair.error_order(terms)))

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any) -> Both:
        memory, none = self.late.init(terms, t0, t1, y0, args), jnp.zeros((), int)
        no = jnp.array(False)
        return Both(memory, no, no, none, none + 1, none)

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, solver_state: Both, made_jump: Any
    ) -> tuple[Any, Any, dict[str, Any], Both, Any]:
        del made_jump
        state, length = solver_state, t1 - t0
        due = ~state.stiff & (state.signs >= state.patience)
        memory, looking = jax.lax.cond(
            state.stiff | due,
            lambda: self.late.look(terms, t0, y0, args, state.memory),
            lambda: (state.memory, jnp.zeros((), int)),
        )
        stiff = jnp.where(due, length * memory.radius > HELD_BACK * self.limit, state.stiff)
        state = state._replace(
            memory=memory,
            stiff=stiff,
            signs=jnp.where(due, 0, state.signs),
            patience=jnp.where(due & ~stiff, 2 * state.patience, state.patience),
            spent=looking,
        )
        step = (terms, t0, t1, y0, args, state)
        made = jax.lax.cond(stiff, lambda: self._late_step(*step), lambda: self._pair_step(*step))
        return *made, diffrax.RESULTS.successful

    def _pair_step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, state: Both) -> Any:
        _, whole = ravel_pytree(y0)
        begun = (jnp.array(False), whole(state.memory.velocity))
        y1, error, dense, (_, velocity), _ = self.pair.step(terms, t0, t1, y0, args, begun, made_jump=False)
        # the stages, as vectors (stages, size)
        k = jax.vmap(lambda stage: ravel_pytree(stage)[0])(dense["k"])
        row = _square(self.pair.tableau)[-2]
        apart = jnp.asarray(np.asarray(self.pair.tableau.b_sol) - row) @ k
        quotient = jnp.linalg.norm(k[-1] - k[-2]) / jnp.maximum(jnp.linalg.norm(apart), 1e-300)
        later = state._replace(
            memory=state.memory._replace(velocity=ravel_pytree(velocity)[0]),
            late=jnp.array(False),
            signs=jnp.where(quotient > HELD_BACK * self.limit, state.signs + 1, 0),
            spent=state.spent + self.stages,
        )
        return y1, error, dense, later

    def _late_step(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Any, state: Both) -> Any:
        _, whole = ravel_pytree(y0)
        velocity = state.memory.velocity
        y1, error, _, memory = self.late.walk(terms, t0, t1, y0, args, state.memory)
        spent = state.spent + memory.spent
        # what the pair would take for as long a time, in steps as long as it is stable for
        dear = spent > self.stages * (t1 - t0) * memory.radius / self.limit
        later = Both(
            memory,
            late=jnp.array(True),
            stiff=~dear,
            signs=jnp.zeros_like(state.signs),
            patience=jnp.where(dear, 2 * state.patience, state.patience),
            spent=spent,
        )
        # of the stages, the first is all that a look inside needs
        stages = jnp.zeros((self.stages + 1, velocity.size)).at[0].set((t1 - t0) * velocity)
        return y1, error, {"y0": y0, "y1": y1, "k": jax.vmap(whole)(stages)}, later

    def refused(self, before: Both, after: Both) -> Both:
        """What is left of a step that was refused: what it has learnt of the spectral radius."""
        memory = after.memory._replace(velocity=before.memory.velocity)
        unchanged = ~after.late & (after.stiff == before.stiff)
        return after._replace(memory=memory, signs=jnp.where(unchanged, before.signs, 0))

    def inside(self, terms: Any, t0: Any, t1: Any, args: Any, dense: Any, state: Both, time: Any) -> Any:
        """The state within the step from t0 to t1 that has left these."""
        first = jax.tree.map(lambda stages: stages[0], dense["k"])
        return jax.lax.cond(
            state.late,
            lambda: self.late.inside(terms, t0, t1, args, {"y0": dense["y0"], "k0": first}, state.memory, time),
            lambda: self.by_pair(t0, t1, dense, time),
        )

    def by_pair(self, t0: Any, t1: Any, dense: Any, time: Any) -> Any:
        """The same, where the pair has made the step."""
        return self.pair.interpolation_cls(t0=t0, t1=t1, **dense).evaluate(time)


def _square(tableau: Any) -> np.ndarray:
    """(stages, stages): a tableau's coefficients."""
    rows = np.zeros((tableau.num_stages, tableau.num_stages))
    for row, coefficients in zip(rows[1:], tableau.a_lower, strict=True):
        row[: len(coefficients)] = coefficients
    return rows
