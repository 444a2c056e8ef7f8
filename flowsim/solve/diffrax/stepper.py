"""Adaptive stepping with a diffrax solver, compiled once and driven in chunks from the host."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

from ..constants import FIRST_MOTION, LONG_STEP, LOSS_ERROR, PIECES, SMALLEST_STEP
from ..goals import Goals, Watch
from .chebyshev import Chebyshev
from .clock import LOG_10, LossClock, Times, log_time_inside, part_at
from .coordinates import Constants, Coordinates, State
from .switching import Switching

#: Any later time counts as this one.
LARGEST = sys.float_info.max
#: Solvers that count what their steps evaluate, and that look inside these themselves.
Uneven = Chebyshev | Switching


class Carry(NamedTuple):
    """Everything between two steps. `dense` is the interpolant of the last accepted step, from `previous` to `time`.
    separated: all samples are on their own side, and the loss clock is to run from here. spent: evaluations of the steps so
    far, where they are not the same for each."""

    time: jax.Array
    step: jax.Array
    state: State
    solver_state: Any
    controller_state: Any
    previous: jax.Array
    dense: Any
    accepted: jax.Array
    rejected: jax.Array
    stalled: jax.Array
    finite: jax.Array
    reached: jax.Array
    times: Times | None
    unseparated: jax.Array
    separated: jax.Array
    spent: jax.Array


@dataclass(frozen=True)
class Stepper:
    """One solver on one set of coordinates. watch_loss, watch_alignment: whether a goal needs them at every step;
    until_separated: whether to stop there. reading: what instants are named by. clock: where the loss clock runs; what is
    named `time` here is then the clock."""

    solver: Any  # a diffrax Runge–Kutta solver; diffrax gives its tableau no common type
    coordinates: Coordinates
    watch_loss: bool = False
    watch_alignment: bool = False
    until_separated: bool = False
    reading: str = "time"
    clock: LossClock | None = None

    @cached_property
    def _term(self) -> Any:
        return diffrax.ODETerm(lambda time, state, constants: self.coordinates.field(state, constants))

    @cached_property
    def _controller(self) -> Any:
        # it is handed one error per neuron in units of the tolerance, hence atol = 1 and the largest one as norm
        return diffrax.PIDController(rtol=0.0, atol=1.0, norm=jnp.max, pcoeff=0.2, icoeff=0.5)

    @partial(jax.jit, static_argnums=0)
    def begin(self, state: State, constants: Constants) -> Carry:
        """The carry at time 0. The trial step is a fraction of the fastest neuron's time scale."""
        velocity = self.coordinates.field(state, constants)
        rate = jnp.max(self.coordinates.errors(state, state, velocity))
        step = jnp.where(rate > 0, FIRST_MOTION / rate, 1.0)
        return self.resume(jnp.zeros(()), step, state, constants, 0.0, rate)

    @partial(jax.jit, static_argnums=0)
    def go_over(self, carry: Carry, constants: Constants) -> Carry:
        """A carry that goes on by the loss clock, which this stepper has, from where another has come by time."""
        state = carry.state
        rate = jnp.max(self.coordinates.errors(state, state, self.coordinates.field(state, constants)))
        later = self.resume(jnp.zeros(()), carry.step, state, constants, carry.time, rate)
        assert later.times is not None
        return later._replace(
            step=carry.step * jnp.exp(-later.times.log_speed[-1]),
            accepted=carry.accepted,
            rejected=carry.rejected,
            controller_state=carry.controller_state,
            spent=carry.spent + later.spent,
        )

    @partial(jax.jit, static_argnums=0)
    def resume(
        self, time: jax.Array, step: jax.Array, state: State, constants: Constants, origin: Any, rate: Any
    ) -> Carry:
        """A carry that goes on from a saved state. origin, rate: as in :class:`Times`."""
        solver_state = self.solver.init(self._term, time, time + step, state, constants)
        _, controller_state = self._controller.init(
            self._term, time, time + step, state, step, constants, self._term.vf, None
        )
        # any field tells what a step leaves to interpolate by, and this one is soon traced
        at_rest = diffrax.ODETerm(lambda time, state, constants: state)
        first = eqx.filter_eval_shape(self.solver.step, at_rest, time, time, state, constants, solver_state, False)
        return Carry(
            time=time,
            step=step,
            state=state,
            solver_state=solver_state,
            controller_state=jax.tree.map(jnp.asarray, controller_state),
            previous=time,
            dense=jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), first[2]),
            accepted=jnp.zeros((), int),
            rejected=jnp.zeros((), int),
            stalled=jnp.array(False),
            finite=jnp.array(True),
            reached=jnp.array(False),
            times=self.clock.start(jnp.asarray(origin, float), jnp.asarray(rate, float), state, constants)
            if self.clock
            else None,
            unseparated=jnp.array(False),
            separated=self._separated(state, constants),
            spent=jnp.zeros((), int),
        )

    @partial(jax.jit, static_argnums=0, donate_argnames="carry")
    def advance(
        self,
        carry: Carry,
        constants: Constants,
        watch: Watch,
        goals: Goals,
        rtol: jax.Array,
        stop: jax.Array,
        steps: jax.Array,
    ) -> Carry:
        """Step until the time reaches `stop` or goals.end, `steps` were tried, a goal is met or stepping fails. The carry's
        memory is taken for what comes out: it can be used no more. Steps of many stages count as several. rtol: the largest
        error of a neuron in a step, relative to the neuron."""
        last, most = carry.accepted + carry.rejected + steps, carry.spent + steps * LONG_STEP

        def goes_on(carry: Carry) -> jax.Array:
            waiting = (self.reads(carry) < stop) & (self._elapsed(carry) < goals.end) & ~carry.separated
            waiting = waiting & (carry.spent < most)
            return waiting & (carry.accepted + carry.rejected < last) & ~carry.reached & ~carry.stalled

        return jax.lax.while_loop(goes_on, lambda carry: self._step(carry, constants, watch, goals, rtol), carry)

    def reads(self, carry: Carry) -> jax.Array:
        """The reading of the present instant."""
        if self.reading == "log10_time":
            return jnp.log10(carry.time) if carry.times is None else carry.times.log_time / LOG_10
        return carry.time if self.reading == "clock" else self._elapsed(carry)

    def _elapsed(self, carry: Carry) -> jax.Array:
        """Flow time, or LARGEST where it is more."""
        if carry.times is None:
            return carry.time
        return jnp.minimum(jnp.exp(carry.times.log_time), LARGEST)

    @partial(jax.jit, static_argnums=0)
    def locate(self, carry: Carry, reading: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(`time` here, log of flow time) at a reading within the last accepted step."""
        log_time = jnp.log(reading) if self.reading == "time" else reading * LOG_10
        if carry.times is None:
            return reading if self.reading == "time" else jnp.exp(log_time), log_time
        length = carry.time - carry.previous
        if self.reading == "clock":
            return reading, log_time_inside((reading - carry.previous) / length, length, carry.times)
        return carry.previous + part_at(log_time, length, carry.times) * length, log_time

    @partial(jax.jit, static_argnums=0)
    def place(self, carry: Carry, part: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(`time` here, log of flow time) at a part of the last accepted step."""
        length = carry.time - carry.previous
        clock = carry.previous + part * length
        return clock, jnp.log(clock) if carry.times is None else log_time_inside(part, length, carry.times)

    @partial(jax.jit, static_argnums=0)
    def interpolate(self, carry: Carry, constants: Constants, time: jax.Array) -> State:
        """The state within the last accepted step."""
        if isinstance(self.solver, Uneven):
            step = (self._term, carry.previous, carry.time, constants, carry.dense, carry.solver_state)
            return self.coordinates.settle(self.solver.inside(*step, time))
        inside = self.solver.interpolation_cls(t0=carry.previous, t1=carry.time, **carry.dense).evaluate(time)
        return self.coordinates.settle(inside)

    def _step(self, carry: Carry, constants: Constants, watch: Watch, goals: Goals, rtol: jax.Array) -> Carry:
        begin, before = carry.time, carry.state
        # the end is met exactly, without a sliver of a step before it
        goal = goals.end if self.clock is None else jnp.inf
        end = jnp.where(begin + 1.01 * carry.step >= goal, goal, begin + carry.step)
        after, error, dense, solver_state, result = self.solver.step(
            self._term, begin, end, before, constants, carry.solver_state, made_jump=False
        )
        errors = self.coordinates.step_errors(before, after, error, end - begin, rtol, constants)
        if self.clock is not None:
            errors = jnp.maximum(errors, self._loss_error(after, error, constants))
        errors = jnp.where(jnp.isfinite(errors) & (result == diffrax.RESULTS.successful), errors, jnp.inf)
        nothing = jnp.zeros_like(errors)
        keep, time, next_end, _, controller_state, _ = self._controller.adapt_step_size(
            begin, end, nothing, nothing, constants, errors / rtol, self._order(solver_state), carry.controller_state
        )
        step = next_end - time
        after = self.coordinates.settle(after)
        spent = carry.spent + solver_state.spent if isinstance(self.solver, Uneven) else carry.spent
        kept = carry.solver_state
        if isinstance(self.solver, Switching):
            kept = self.solver.refused(kept, solver_state)
        made, (state, solver_state) = solver_state, _where(keep, (after, solver_state), (before, kept))
        times, unseparated = carry.times, jnp.array(False)
        if self.clock is not None and carry.times is not None:
            later, rests, looked = self._time_after(carry.times, begin, end, dense, made, state, constants)
            times, unseparated, spent = _where(keep, later, carry.times), keep & rests, spent + looked
        return Carry(
            time=time,
            step=step,
            state=state,
            solver_state=solver_state,
            controller_state=controller_state,
            times=times,
            unseparated=unseparated,
            previous=begin,
            dense=dense,
            accepted=carry.accepted + keep,
            rejected=carry.rejected + ~keep,
            stalled=(step <= SMALLEST_STEP * jnp.spacing(time)) | ~jnp.isfinite(next_end) | unseparated,
            finite=jnp.all(jnp.isfinite(errors)),
            reached=keep & self._reached(state, constants, watch, goals),
            separated=keep & self._separated(state, constants),
            spent=spent,
        )

    def _loss_error(self, state: State, error: State, constants: Constants) -> jax.Array:
        """What an error of the state is to the log of the loss, relative to that: see LOSS_ERROR."""
        there = self.log_loss(state, constants)
        beside = self.log_loss(jax.tree.map(jnp.subtract, state, error), constants)
        return jnp.abs(there - beside) / (LOSS_ERROR * jnp.maximum(1.0, jnp.abs(there)))

    def _time_after(
        self, times: Times, begin: Any, end: Any, dense: Any, made: Any, state: State, constants: Constants
    ) -> tuple[Times, jax.Array, jax.Array]:
        """The loss clock's times after a step, whether the loss will fall no further, and what that has evaluated."""
        assert self.clock is not None
        solver, clock = self.solver, self.clock

        def look(inside: Callable[[jax.Array], State] | None) -> tuple[Times, jax.Array, jax.Array]:
            taken = jnp.asarray(1 if inside is None else PIECES)
            return *clock.after(times, end - begin, inside, state, constants), taken

        def by_pair(part: jax.Array) -> State:
            time = begin + part * (end - begin)
            if isinstance(solver, Switching):
                return self.coordinates.settle(solver.by_pair(begin, end, dense, time))
            return self.coordinates.settle(solver.interpolation_cls(t0=begin, t1=end, **dense).evaluate(time))

        if isinstance(solver, Switching):
            return jax.lax.cond(made.late, lambda: look(None), lambda: look(by_pair))
        return look(None if isinstance(solver, Chebyshev) else by_pair)

    def _separated(self, state: State, constants: Constants) -> jax.Array:
        if not self.until_separated:
            return jnp.array(False)
        return self.coordinates.network.all_right(self.coordinates.outputs(state, constants), constants.data)

    def _reached(self, state: State, constants: Constants, watch: Watch, goals: Goals) -> jax.Array:
        reached = jnp.array(False)
        if self.watch_loss:
            reached = self.log_loss(state, constants) <= goals.log_loss
        if self.watch_alignment:
            direction, _, _ = self.coordinates.unit(state, constants)
            size = jnp.linalg.norm(direction * watch.feature, axis=1)
            cosine = jnp.sum(direction * watch.center, axis=1) / jnp.where(size > 0, size, 1.0)
            aligned = jnp.all((cosine >= goals.alignment) | ~watch.targeted) & jnp.any(watch.targeted)
            reached = reached | aligned
        return reached

    @partial(jax.jit, static_argnums=0)
    def log_loss(self, state: State, constants: Constants) -> jax.Array:
        """log of the training loss."""
        network = self.coordinates.network
        return network.log_loss(self.coordinates.outputs(state, constants), constants.data)

    def evaluations(self, carry: Carry) -> int:
        """Evaluations of the field so far: one to choose the first step, and the stages of each. An implicit stage counts
        as one, its iterations do not; a solver whose last stage is the next one's first evaluates that once. The steps on
        the loss clock take some more."""
        if isinstance(self.solver, Uneven):
            return 2 + int(carry.spent)
        attempts, tableau = int(carry.accepted) + int(carry.rejected), self.solver.tableau
        of_clock = 0 if carry.times is None else 1 + int(carry.spent)
        return 1 + attempts * int(tableau.num_stages) - max(attempts - 1, 0) * int(tableau.fsal) + of_clock

    def _order(self, solver_state: Any) -> Any:
        """Of the error of the step that has left this state of the solver."""
        if isinstance(self.solver, Switching):
            return self.solver.order_after(self._term, solver_state)
        return float(self.solver.error_order(self._term))


def _where(condition: jax.Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
