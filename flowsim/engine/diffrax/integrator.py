"""The diffrax engine behind the drive's protocol. float64 is switched on for its own calls only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from ...problem import Problem, Reduced
from ...scenario import Scenario
from ..goals import Goals, Watch, reached_goal
from ..integrator import Report
from ..plan import Plan
from ..snapshot import Snapshot
from .clock import LossClock, Times
from .coordinates import Cartesian, Constants, Coordinates, Polar, State
from .field import Data, Network
from .layers import Layers
from .stepper import Carry, Stepper


def _kvaerno5(rtol: float, smallest: float) -> Any:
    """Stages are solved to a hundredth of the tolerance: of the smallest neuron's, where the state holds weights."""
    root_finder: Any = optimistix.Chord(rtol=0.01 * rtol, atol=0.01 * rtol * smallest)
    return diffrax.Kvaerno5(scan_kind="lax", root_finder=root_finder, root_find_max_steps=30)


#: solver -> function of the tolerance and of the size of the smallest neuron in the state's coordinates
SOLVERS: dict[str, Callable[[float, float], Any]] = {
    "tsit5": lambda rtol, smallest: diffrax.Tsit5(scan_kind="lax"),
    "dopri5": lambda rtol, smallest: diffrax.Dopri5(scan_kind="lax"),
    "dopri8": lambda rtol, smallest: diffrax.Dopri8(scan_kind="lax"),
    "kvaerno5": _kvaerno5,
}

#: What the weights of layer l, above the first, are saved as.
LAYER = "layer_{}"

P = ParamSpec("P")
R = TypeVar("R")


def _in_float64(method: Callable[P, R]) -> Callable[P, R]:
    """The method with JAX in float64 while it runs."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return method(*args, **kwargs)

    return call


def _coordinates(problem: Problem, network: Network, plan: Plan) -> Coordinates:
    if problem.upper:
        return Layers(network)
    if plan.coordinates == "polar":
        return Polar(network, problem.balanced, problem.trained_output)
    return Cartesian(network, problem.trained_output)


class DiffraxIntegrator:
    """Implements :class:`flowsim.engine.integrator.Integrator`."""

    @_in_float64
    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        problem, flow = reduced.problem, scenario.flow
        loss_clock = plan.clock == "loss"
        network = Network(
            problem.activation,
            problem.loss,
            problem.outputs,
            square_decay=problem.square_decay,
            cubic_decay=problem.cubic_decay,
            trained_output=problem.trained_output,
            loss_clock=loss_clock,
            growth=1.0 - 0.5 * problem.total_degree if loss_clock else 0.0,
        )
        coordinates = _coordinates(problem, network, plan)
        self._until = until = flow.until
        self._goals = Goals.of(until)
        smallest = 1.0 if plan.coordinates == "polar" else min(float(np.exp(problem.weights.log_norm.min())), 1.0)
        self._stepper = Stepper(
            SOLVERS[plan.solver](flow.rtol, smallest),
            coordinates,
            flow.rtol,
            watch_loss=self._goals.log_loss > -np.inf,
            watch_alignment=until.alignment is not None,
            clock=LossClock(coordinates, plan.reading, until.time is None) if loss_clock else None,
        )
        weights = problem.weights
        self._constants = Constants(
            Data.of(reduced, flow.precision), jnp.asarray(weights.output_sign), jnp.asarray(weights.output_log)
        )
        self._watch = Watch(*(jnp.asarray(array) for array in Watch.of(reduced)))
        self._start = coordinates.start(reduced)

    @_in_float64
    def begin(self) -> Carry:
        return self._stepper.begin(self._start, self._constants)

    @_in_float64
    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        carry = self._stepper.advance(carry, self._constants, self._watch, self._goals, stop, attempts)
        jax.block_until_ready(carry.time)
        return carry

    @_in_float64
    def report(self, carry: Carry) -> Report:
        attempts = int(carry.accepted) + int(carry.rejected)
        return Report(
            time=self._time(carry),
            step_size=float(carry.step),
            steps=int(carry.accepted),
            rejections=int(carry.rejected),
            evaluations=self._stepper.evaluations(attempts),
            reached=self._goal(carry) if carry.reached else "",
            stalled=bool(carry.stalled),
            finite=bool(carry.finite),
            log10_time=self._log10_time(carry),
            clock=float(self._stepper.reading(carry)) if self._by_clock else None,
            unseparated=bool(carry.unseparated),
        )

    @_in_float64
    def at(self, carry: Carry, reading: float) -> Snapshot:
        if carry.times is None:
            return self._snapshot(reading, self._stepper.interpolate(carry, jnp.asarray(reading)))
        clock, log_time = self._stepper.locate(carry, jnp.asarray(reading))
        time = float(jnp.exp(log_time)) if self._by_clock else reading
        inside = self._snapshot(time, self._stepper.interpolate(carry, clock))
        return replace(inside, log10_time=float(log_time) / np.log(10))

    @_in_float64
    def now(self, carry: Carry) -> Snapshot:
        if carry.times is not None and float(jnp.exp(carry.times.log_time)) > self._goals.end:
            return self.at(carry, self._goals.end)
        return replace(self._snapshot(self._time(carry), carry.state), log10_time=self._log10_time(carry))

    @property
    def _by_clock(self) -> bool:
        """Whether instants are named by something else than the time."""
        return self._stepper.clock is not None and self._stepper.clock.reading != "time"

    def _time(self, carry: Carry) -> float:
        time = carry.time if carry.times is None else jnp.exp(carry.times.log_time)
        return min(float(time), self._goals.end)

    def _log10_time(self, carry: Carry) -> float | None:
        if carry.times is None:
            return None
        return min(float(carry.times.log_time), float(np.log(self._goals.end))) / np.log(10)

    def _goal(self, carry: Carry) -> str:
        """The goal that the carry has reached, in words."""
        return reached_goal(self._until, float(self._stepper.log_loss(carry.state, self._constants)))

    def _snapshot(self, time: float, state: State) -> Snapshot:
        return self._stepper.coordinates.snapshot(time, state, self._constants)

    def save(self, carry: Carry) -> dict[str, Any]:
        *rows, upper = carry.state
        state = {
            name: np.asarray(leaf) for name, leaf in zip(State._fields[:-1], rows, strict=True) if leaf is not None
        }
        state |= {LAYER.format(layer): np.asarray(matrix) for layer, matrix in enumerate(upper or (), start=2)}
        controller = np.array([float(leaf) for leaf in carry.controller_state])
        counts = np.array([int(carry.accepted), int(carry.rejected)])
        clock = np.array([float(carry.time), float(carry.step)])
        # the last stage of the step before, which the next one starts from
        stages = {f"stage_{index}": np.asarray(leaf) for index, leaf in enumerate(jax.tree.leaves(carry.solver_state))}
        times = (
            {}
            if carry.times is None
            else {f"times_{name}": np.asarray(leaf) for name, leaf in carry.times._asdict().items()}
        )
        return {**state, **stages, **times, "controller": controller, "counts": counts, "clock": clock}

    @_in_float64
    def restore(self, saved: dict[str, Any]) -> Carry:
        log_norm, output = (jnp.asarray(saved[name]) if name in saved else None for name in ("log_norm", "output"))
        layers = range(2, len(self._start.upper or ()) + 2)
        upper = tuple(jnp.asarray(saved[LAYER.format(layer)]) for layer in layers) if self._start.upper else None
        state = State(jnp.asarray(saved["hidden"]), log_norm, output, upper)
        time, step = saved["clock"]
        carry = self._stepper.resume(jnp.asarray(time), jnp.asarray(step), state, self._constants, 0.0, 1.0)
        times = (
            Times(*(jnp.asarray(saved[f"times_{name}"]) for name in Times._fields)) if carry.times is not None else None
        )
        first, second, at_smallest = saved["controller"]
        accepted, rejected = saved["counts"]
        fresh, structure = jax.tree.flatten(carry.solver_state)
        stages = [jnp.asarray(saved[f"stage_{index}"]) for index in range(len(fresh))]
        return carry._replace(
            times=times,
            solver_state=jax.tree.unflatten(structure, stages),
            controller_state=(jnp.asarray(first), jnp.asarray(second), jnp.asarray(bool(at_smallest))),
            accepted=jnp.asarray(accepted),
            rejected=jnp.asarray(rejected),
        )
