"""The diffrax engine behind the drive's protocol. float64 is switched on for its own calls only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from ...kinds.trees import in_float64
from ...problem import Problem, Reduced
from ...scenario import Scenario
from ..compiling import compiling, foreseen, took
from ..constants import MIXED_PERTURBATION, PERTURBATION
from ..function import network_of
from ..goals import Goals, Watch, lacking, reached_goal
from ..integrator import Inside, Report
from ..plan import GOING_OVER, THEN_STIFF, Plan
from ..snapshot import Snapshot
from .chebyshev import Chebyshev
from .clock import LossClock, Times
from .coordinates import Cartesian, Constants, Coordinates, Polar, State
from .field import Data, Network
from .spread import Spread
from .stepper import LARGEST, Carry, Stepper
from .switching import Switching
from .tree import Objective, Tree


def _kvaerno5(rtol: float, smallest: float | None) -> Any:
    """Stages are solved to a hundredth of the tolerance: of the smallest neuron's, where the state holds weights."""
    smallest = 1.0 if smallest is None else smallest
    root_finder: Any = optimistix.Chord(rtol=0.01 * rtol, atol=0.01 * rtol * smallest)
    return diffrax.Kvaerno5(scan_kind="lax", root_finder=root_finder, root_find_max_steps=30)


PAIRS = {"tsit5": diffrax.Tsit5, "dopri5": diffrax.Dopri5, "dopri8": diffrax.Dopri8}

#: The name under which is remembered how long compiling took, about how many processor seconds that is for each trained
#: array where it was never measured, and how many are more than what is compiled already takes.
NAME, SECONDS, WORTH_NOTING = "diffrax", 2.0, 1.0
#: Arrays of two layers.
TWO_LAYERS = 2
#: What a trained array of an ordinary network is saved as, by its place.
LEAF = "leaf_{}"


def _coordinates(
    problem: Problem, plan: Plan, rates: Mapping[str, float] | None, loss_clock: bool, spread: Spread
) -> Coordinates:
    if not problem.two_layers or rates is not None:
        of, objective = network_of(problem), Objective(problem.loss, loss_clock, _growth(problem, loss_clock))
        return Tree(of, objective, of.rates(rates or {}), problem.two_layers, spread)
    network = _network(problem, loss_clock, spread)
    if plan.coordinates == "polar":
        return Polar(network, problem.balanced, problem.trained_output)
    return Cartesian(network, problem.trained_output)


def _network(problem: Problem, loss_clock: bool, spread: Spread) -> Network:
    return Network(
        problem.activation,
        problem.loss,
        problem.outputs,
        square_decay=problem.square_decay,
        cubic_decay=problem.cubic_decay,
        trained_output=problem.trained_output,
        loss_clock=loss_clock,
        growth=_growth(problem, loss_clock),
        spread=spread,
    )


def _growth(problem: Problem, loss_clock: bool) -> float:
    """1 - L/2 for a network of degree L in what is trained."""
    return 1.0 - 0.5 * problem.total_degree if loss_clock else 0.0


def _solver(name: str, rtol: float, smallest: float | None, precision: str) -> Any:
    """smallest: the size of the smallest neuron, None in polar coordinates."""
    if name == "kvaerno5":
        return _kvaerno5(rtol, smallest)
    late = Chebyshev(smallest is None, MIXED_PERTURBATION if precision == "mixed" else PERTURBATION)
    if name == "rkc2":
        return late
    pair = PAIRS[name.removesuffix(THEN_STIFF)](scan_kind="lax")
    return Switching(pair, late) if name.endswith(THEN_STIFF) else pair


class DiffraxIntegrator:
    """Implements :class:`flowsim.solve.integrator.Dense`."""

    @in_float64
    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        problem, flow = reduced.problem, scenario.flow
        self._until, self._goals = flow.until, Goals.of(flow.until)
        self._reduced, self._rtol = reduced, flow.rtol
        self._arrays = TWO_LAYERS if problem.network is None else len(problem.network.leaves)
        polar = plan.coordinates == "polar"
        smallest = None if polar else min(float(np.exp(problem.weights.log_norm.min(initial=0.0))), 1.0)
        solver = _solver(plan.solver, flow.rtol, smallest, plan.precision)

        devices = tuple(jax.devices()[: plan.shares.devices]) if plan.shares.devices > 1 else ()
        self._spread = Spread(devices, plan.shares.block)

        def stepper(loss_clock: bool) -> Stepper:
            coordinates = _coordinates(problem, plan, flow.rates, loss_clock, self._spread)
            return Stepper(
                solver,
                coordinates,
                watch_loss=self._goals.log_loss > -np.inf,
                watch_alignment=self._goals.alignment < np.inf,
                until_separated=plan.clock == GOING_OVER and not loss_clock,
                reading=plan.reading,
                clock=LossClock(coordinates, flow.until.time is None) if loss_clock else None,
            )

        self._stepper = stepper(plan.clock == "loss")
        # what takes over where the loss clock does
        self._later = stepper(True) if plan.clock == GOING_OVER else self._stepper
        weights, everywhere = problem.weights, self._spread.everywhere
        outputs = jnp.asarray(weights.output_sign), jnp.asarray(weights.output_log)
        of_neurons = not isinstance(self._stepper.coordinates, Tree)
        data = Data.of(reduced, plan.precision, self._spread, of_neurons)
        self._constants = Constants(data, *everywhere(outputs))
        self._watch = everywhere(Watch(*(jnp.asarray(array) for array in Watch.of(reduced))))
        self._aims = everywhere((self._goals, self._rtol))
        self._start = everywhere(self._stepper.coordinates.start(reduced))

    @property
    def program(self) -> str:
        return NAME

    def to_compile(self) -> float:
        return foreseen(NAME, self._arrays, SECONDS)

    @in_float64
    def begin(self) -> Carry:
        carry = self._ready(lambda: self._stepper.begin(self._start, self._constants))
        if not self._goals.watched:
            return carry
        log_loss = float(self._stepper.log_loss(carry.state, self._constants))
        met = lacking(self._goals, self._reduced, self.now(carry), log_loss) <= 0
        return carry._replace(reached=jnp.asarray(met))

    @in_float64
    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        if carry.separated:
            before = carry
            carry = self._ready(lambda: self._later.go_over(before, self._constants))
        return self._advance(carry, stop, attempts)

    def _advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        until = self._spread.everywhere((float(stop), int(attempts)))
        carry = self._of(carry).advance(carry, self._constants, self._watch, *self._aims, *until)
        jax.block_until_ready(carry.time)
        return carry

    def _ready(self, make: Callable[[], Carry]) -> Carry:
        """A carry with which stepping can begin: all that its steps need is compiled now."""
        with compiling(self.to_compile(), once=False):
            begun = time.thread_time()
            carry = self._advance(make(), -np.inf, 0)
            seconds = time.thread_time() - begun
        if seconds > WORTH_NOTING:
            took(NAME, self._arrays, seconds)
        return carry

    def _of(self, carry: Carry) -> Stepper:
        """What goes on from a carry."""
        return self._stepper if carry.times is None else self._later

    @in_float64
    def report(self, carry: Carry) -> Report:
        return Report(
            time=self._time(carry),
            step_size=float(carry.step),
            steps=int(carry.accepted),
            rejections=int(carry.rejected),
            evaluations=self._of(carry).evaluations(carry),
            reached=self.goal(float(self._stepper.log_loss(carry.state, self._constants))) if carry.reached else "",
            stalled=bool(carry.stalled),
            finite=bool(carry.finite),
            log10_time=self._log10_time(carry),
            clock=float(self._of(carry).reads(carry)) if self._by_clock else None,
            unseparated=bool(carry.unseparated),
            loss_clock_from=None if carry.times is None else float(carry.times.origin),
        )

    @in_float64
    def at(self, carry: Carry, reading: float) -> Snapshot:
        stepper = self._of(carry)
        clock, log_time = stepper.locate(carry, jnp.asarray(reading))
        time = float(jnp.exp(log_time)) if self._by_clock else reading
        inside = self._snapshot(time, stepper.interpolate(carry, self._constants, clock))
        return replace(inside, log10_time=float(log_time) / np.log(10) if self._has_log10_time else None)

    @in_float64
    def within(self, carry: Carry, part: float) -> Inside:
        stepper = self._of(carry)
        clock, log_time = stepper.place(carry, jnp.asarray(part))
        state = stepper.interpolate(carry, self._constants, clock)
        time = float(clock if carry.times is None else jnp.exp(log_time))
        log10_time = float(log_time) / np.log(10) if self._has_log10_time else None
        snapshot, log_loss = self._snapshot(time, state), float(stepper.log_loss(state, self._constants))
        reading = {"time": min(time, LARGEST), "clock": float(clock), "log10_time": float(log_time) / np.log(10)}
        return Inside(
            replace(snapshot, log10_time=log10_time),
            reading[stepper.reading],
            log_loss,
            lacking(self._goals, self._reduced, snapshot, log_loss),
        )

    def goal(self, log_loss: float) -> str:
        return reached_goal(self._until, log_loss)

    @in_float64
    def cautious(self, carry: Carry, part: float) -> Carry:
        return carry._replace(step=carry.step * part)

    @in_float64
    def now(self, carry: Carry) -> Snapshot:
        if carry.times is not None and float(jnp.exp(carry.times.log_time)) > self._goals.end:
            return self.at(carry, self._goals.end)
        return replace(self._snapshot(self._time(carry), carry.state), log10_time=self._log10_time(carry))

    @property
    def _by_clock(self) -> bool:
        """Whether instants are named by something else than the time."""
        return self._stepper.reading != "time"

    @property
    def _has_log10_time(self) -> bool:
        """Whether the loss clock runs, now or later."""
        return self._later.clock is not None

    def _time(self, carry: Carry) -> float:
        time = carry.time if carry.times is None else jnp.exp(carry.times.log_time)
        return min(float(time), self._goals.end)

    def _log10_time(self, carry: Carry) -> float | None:
        if not self._has_log10_time:
            return None
        log_time = jnp.log(carry.time) if carry.times is None else carry.times.log_time
        return min(float(log_time), float(np.log(self._goals.end))) / np.log(10)

    def _snapshot(self, time: float, state: State) -> Snapshot:
        constants = Constants(self._constants.data, *self._spread.here(self._constants[1:]))
        return self._stepper.coordinates.snapshot(time, self._spread.here(state), constants)

    def save(self, carry: Carry) -> dict[str, Any]:
        *rows, leaves = carry.state
        state = {
            name: np.asarray(leaf) for name, leaf in zip(State._fields[:-1], rows, strict=True) if leaf is not None
        }
        state |= {LEAF.format(place): np.asarray(leaf) for place, leaf in enumerate(leaves or ())}
        controller = np.array([float(leaf) for leaf in carry.controller_state])
        counts = np.array([int(carry.accepted), int(carry.rejected), int(carry.spent)])
        clock = np.array([float(carry.time), float(carry.step)])
        # the last stage of the step before, which the next one starts from
        stages = {f"stage_{index}": np.asarray(leaf) for index, leaf in enumerate(jax.tree.leaves(carry.solver_state))}
        times = (
            {}
            if carry.times is None
            else {f"times_{name}": np.asarray(leaf) for name, leaf in carry.times._asdict().items()}
        )
        return {**state, **stages, **times, "controller": controller, "counts": counts, "clock": clock}

    @in_float64
    def restore(self, saved: dict[str, Any]) -> Carry:
        log_norm, output = (jnp.asarray(saved[name]) if name in saved else None for name in ("log_norm", "output"))
        there = None if self._start.leaves is None else range(len(self._start.leaves))
        leaves = None if there is None else tuple(jnp.asarray(saved[LEAF.format(place)]) for place in there)
        state = self._spread.everywhere(State(jnp.asarray(saved["hidden"]), log_norm, output, leaves))
        begun, step = saved["clock"]
        timed = {name: f"times_{name}" for name in Times._fields}
        times = None
        if saved.keys() >= set(timed.values()):
            times = Times(**{name: jnp.asarray(saved[key]) for name, key in timed.items()})
        stepper = self._stepper if times is None else self._later
        carry = self._ready(
            lambda: stepper.resume(jnp.asarray(begun), jnp.asarray(step), state, self._constants, 0.0, 1.0)
        )
        first, second, at_smallest = saved["controller"]
        accepted, rejected, spent = saved["counts"]
        fresh, structure = jax.tree.flatten(carry.solver_state)
        stages = [jnp.asarray(saved[f"stage_{index}"]) for index in range(len(fresh))]
        return carry._replace(
            times=times,
            solver_state=jax.tree.unflatten(structure, stages),
            controller_state=(jnp.asarray(first), jnp.asarray(second), jnp.asarray(bool(at_smallest))),
            accepted=jnp.asarray(accepted),
            rejected=jnp.asarray(rejected),
            spent=jnp.asarray(spent),
        )
