"""What a kink costs: a ReLU network that slides along many boundaries, followed event by event and without events.

    python benchmarks/clarke.py [--quick] [--budget 20] [--markdown FILE]

See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.integrate
from cartesian import Array, Data, Floats, pack, unpack
from tables import claim, machine, say, short, text_table, write_markdown

import flowsim
from flowsim.run.prepare import Prepared
from flowsim.scenario.shipped import find
from flowsim.solve import make

#: ReLU neurons that slide: six clusters of noisy samples.
SCENARIO = "limits/relu_clusters"
SETTING = {"flow": {"coordinates": "polar", "until": {"time": 5.0}}, "observe": {}, "evaluate": {}}
EVENTS_RTOL = (1e-4, 1e-6, 1e-8)
#: What the solvers without events are asked for; the weights start at a norm of 0.1.
RTOL, ATOL = 1e-6, 1e-9
REFERENCE_RTOL = 1e-12
#: Of the reference that shares nothing with flowsim: mean gates over fixed steps (tests/support/clarke_reference.py).
MEAN_GATES = {"step": 2.5e-3, "refine": 128}
#: A solver without events may use so many times the evaluations of flowsim at the same tolerance.
BUDGET, QUICK_BUDGET = 20, 11
#: Evaluations that a step of dopri5 takes which an event ends, and what is left of them where most end no step.
WHOLE_EVENT, LONE_EVENT = 7, 2
ATTEMPTS = 500
LIBRARIES = ("flowsim", "numpy", "numba", "scipy", "jax", "diffrax", "torch", "torchdiffeq", "scikit-sundae")
COLUMNS = ("solver", "evaluations", "ratio", "steps", "events", "seconds", "time reached", "error")


@dataclass(frozen=True)
class Case:
    """A flow of the problem up to a time, in Cartesian coordinates, the bias being one more of them."""

    problem: flowsim.Problem
    data: Data
    start: Floats
    end: float

    @classmethod
    def of(cls, scenario: flowsim.Scenario) -> Case:
        problem = flowsim.build(scenario)
        inputs = np.column_stack([problem.inputs, np.ones(len(problem.inputs))])
        hidden = np.column_stack([problem.hidden, problem.hidden_bias])
        data = Data(inputs, problem.targets, problem.sample_weight)
        return cls(problem, data, pack(hidden, problem.output), scenario.flow.until.goals["time"])


@dataclass(frozen=True)
class Outcome:
    """Where a solver got, by how much work: the state (m (d + 2),) at `time`."""

    state: Floats
    time: float
    evaluations: int
    steps: int
    seconds: float
    events: int | None = None


class Spent(Exception):
    """The budget of evaluations is used up."""


class Field:
    """The plain right-hand side, counting its calls; raises Spent past the budget."""

    callback_accept_step: Callable[..., None] = staticmethod(lambda *arguments: None)  # torchdiffeq's

    def __init__(self, data: Data, budget: float, xp: ModuleType = np):
        self.data, self.budget, self.xp = data, budget, xp
        self.calls = 0

    def __call__(self, t: Any, state: Array) -> Array:
        if self.calls >= self.budget:
            raise Spent
        self.calls += 1
        return velocity(state, self.data, self.xp)


@dataclass(frozen=True)
class Contender:
    """needs: the module without which it is skipped."""

    name: str
    needs: str
    solve: Callable[[Case, float], Outcome]


def velocity(state: Array, data: Data, xp: ModuleType) -> Array:
    """-∇L of ReLU neurons under the exponential loss, by automatic differentiation's convention: derivative 0 at 0."""
    hidden, output = unpack(state, data)
    projection = hidden @ data.inputs.T
    active = projection > 0
    response = xp.where(active, projection, 0.0)
    pull = data.weight * data.targets * xp.exp(-data.targets * (output @ response))
    return xp.concatenate([(output[:, None] * ((active * pull) @ data.inputs)).reshape(-1), response @ pull])


def main() -> None:
    options = _options()
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    case = Case.of(flowsim.load(find(SCENARIO), SETTING))
    _check_velocity(case)
    for line in _heading(case, options.budget):
        print(line)
    with_flowsim(case, math.inf, rtol=1e-3)  # whatever has to be compiled, is
    outcomes = {}
    for rtol in EVENTS_RTOL:
        say(_with_events(rtol))
        outcomes[_with_events(rtol)] = with_flowsim(case, math.inf, rtol=rtol)
    evaluations = [outcome.evaluations for outcome in outcomes.values()]
    events = [outcome.events or 0 for outcome in outcomes.values()]
    base = outcomes[_with_events(RTOL)]
    for contender in CONTENDERS:
        if find_spec(contender.needs):
            say(contender.name)
            outcomes[contender.name] = contender.solve(case, options.budget * base.evaluations)
        else:
            say(f'skipped: {contender.name}: {contender.needs} is not installed; pip install "flowsim[bench]"')
    rows = [_row(name, outcome, case, base.evaluations) for name, outcome in outcomes.items()]
    print("", *text_table(COLUMNS, rows), "", sep="\n")
    if not options.quick:
        say("reference: mean gates over fixed steps")
        print(f"flowsim at {short(REFERENCE_RTOL)} and mean gates over fixed steps differ by {short(_check(case))}")
    print(
        claim(
            f"{evaluations[-1]} evaluations at {short(EVENTS_RTOL[-1])} are at most {WHOLE_EVENT} for each of "
            f"{events[-1]} events",
            evaluations[-1] <= WHOLE_EVENT * events[-1],
        )
    )
    print(
        claim(
            f"{evaluations[0]} evaluations at {short(EVENTS_RTOL[0])} are at most {LONE_EVENT} for each of "
            f"{events[0]} events",
            evaluations[0] <= LONE_EVENT * events[0],
        )
    )
    fewest = min(outcome.evaluations for outcome in list(outcomes.values())[len(EVENTS_RTOL) :])
    print(
        claim(
            f"every solver without events needs at least 10 times the evaluations at {short(RTOL)}",
            fewest >= 10 * base.evaluations,
        )
    )
    if options.markdown:
        write_markdown(options.markdown, COLUMNS, rows)


def with_flowsim(
    case: Case, budget: float, rtol: float, engine: str = "numba", solver: str = "dopri5", end: float | None = None
) -> Outcome:
    """flowsim's own integration, in polar coordinates; one step of it beforehand, so that compilation is not counted."""
    overrides = {"flow.engine": engine, "flow.solver": solver, "flow.rtol": rtol, "flow.until.time": end or case.end}
    scenario = flowsim.load(find(SCENARIO), {**SETTING, **overrides})
    prepared = Prepared(scenario)
    integrator = make(scenario, prepared.reduced, prepared.plan)
    integrator.advance(integrator.begin(), case.end, 1)
    begun = time.perf_counter()
    carry = integrator.begin()
    report = integrator.report(carry)
    while report.time < scenario.flow.until.goals["time"] and report.evaluations < budget:
        carry = integrator.advance(carry, math.inf, ATTEMPTS)
        report = integrator.report(carry)
    seconds = time.perf_counter() - begun
    snapshot = integrator.now(carry)
    direction, bias = prepared.reduced.lift(snapshot.direction)
    hidden = np.exp(snapshot.log_norm)[:, None] * np.column_stack([direction, bias])
    state = pack(hidden, snapshot.output_sign * np.exp(snapshot.output_log))
    events = report.events if prepared.plan.follows_sliding else None
    return Outcome(state, report.time, report.evaluations, report.steps, seconds, events)


def with_scipy(case: Case, budget: float, method: str, rtol: float = RTOL, atol: float = ATOL) -> Outcome:
    field = Field(case.data, budget)
    solver_class = getattr(scipy.integrate, method)
    return _stepped(field, _scipy_steps(solver_class(field, 0.0, case.start, case.end, rtol=rtol, atol=atol)))


def _scipy_steps(solver: scipy.integrate.OdeSolver) -> Iterator[tuple[float, Floats]]:
    while True:
        yield solver.t, solver.y
        if solver.status != "running":
            return
        solver.step()


def with_cvode(case: Case, budget: float) -> Outcome:
    """BDF with matrix-free GMRES. What it evaluates past the budget within its last step counts, too."""
    from sksundae.cvode import CVODE

    field = Field(case.data, math.inf)

    def write_velocity(t: float, state: Floats, rate: Floats) -> None:
        rate[:] = field(t, state)

    solver = CVODE(write_velocity, method="BDF", rtol=RTOL, atol=ATOL, linsolver="gmres", max_num_steps=10**9)

    def steps() -> Iterator[tuple[float, Floats]]:
        reached = solver.init_step(0.0, case.start)
        while reached.t < case.end and field.calls < budget:
            yield reached.t, reached.y
            reached = solver.step(case.end, method="onestep", tstop=case.end)
        yield reached.t, reached.y

    return _stepped(field, steps())


def with_torchdiffeq(case: Case, budget: float) -> Outcome:
    import torch
    from torchdiffeq import odeint

    field = Field(Data(*map(torch.from_numpy, case.data)), budget, torch)
    start, times = torch.from_numpy(case.start), torch.tensor([0.0, case.end], dtype=torch.float64)
    reached, count = (0.0, start), 0

    def note(t: Any, state: Array, length: Any) -> None:
        """Called before each accepted step, with where it starts."""
        nonlocal reached, count
        reached, count = (float(t), state), count + 1

    field.callback_accept_step = note
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the products are small
    begun = time.perf_counter()
    with torch.no_grad(), suppress(Spent):
        reached = case.end, odeint(field, start, times, rtol=RTOL, atol=ATOL, method="dopri5")[-1]
    seconds = time.perf_counter() - begun
    torch.set_num_threads(threads)
    return Outcome(reached[1].numpy(), reached[0], field.calls, count, seconds)


def _stepped(field: Field, steps: Iterator[tuple[float, Floats]]) -> Outcome:
    """The last of the steps that the budget allows; the first item is the start."""
    count, begun = -1, time.perf_counter()
    t, state = math.nan, np.empty(0)
    with suppress(Spent):
        for t, state in steps:  # noqa: B007
            count += 1
    return Outcome(np.array(state), float(t), field.calls, count, time.perf_counter() - begun)


PLAIN = f"Cartesian, {short(RTOL)}, {short(ATOL)}"
CONTENDERS = (
    Contender(
        f"flowsim tsit5 (diffrax), no events, {short(RTOL)}",
        "diffrax",
        partial(with_flowsim, rtol=RTOL, engine="diffrax", solver="tsit5"),
    ),
    Contender(f"SciPy RK45, {PLAIN}", "scipy", partial(with_scipy, method="RK45")),
    Contender(f"torchdiffeq dopri5, {PLAIN}", "torchdiffeq", with_torchdiffeq),
    Contender(f"CVODE BDF, matrix-free, {PLAIN}", "sksundae", with_cvode),
    Contender(f"SciPy LSODA, {PLAIN}", "scipy", partial(with_scipy, method="LSODA")),
)


def _with_events(rtol: float) -> str:
    return f"flowsim dopri5 (numba), {short(rtol)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="what a kink costs, with events and without")
    parser.add_argument("--quick", action="store_true", help="a smaller budget, and no independent reference")
    parser.add_argument(
        "--budget",
        type=float,
        help=f"evaluations of a solver without events, in those of flowsim (default: {BUDGET}; --quick: {QUICK_BUDGET})",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as markdown, too")
    options = parser.parse_args()
    if options.budget is None:
        options.budget = QUICK_BUDGET if options.quick else BUDGET
    return options


def _check_velocity(case: Case) -> None:
    """Compare `velocity` at the start with differences of the loss by its definition."""
    from support.reference import Plain

    by_hidden, by_output = Plain(case.problem).gradient(*unpack(case.start, case.data))
    slope = -velocity(case.start, case.data, np)
    np.testing.assert_allclose(slope, pack(by_hidden, by_output), rtol=0, atol=1e-7 * np.abs(slope).max())


def _check(case: Case) -> float:
    """The distance at the end between flowsim's tightest run and the reference of the tests."""
    from support.clarke_reference import averaged

    path = averaged(case.problem, np.array([case.end]), **MEAN_GATES)
    return distance(pack(path.hidden[0], path.output[0]), _reference(case, case.end), case)


def _reference(case: Case, end: float) -> Floats:
    return with_flowsim(case, math.inf, rtol=REFERENCE_RTOL, end=end).state


def distance(state: Floats, reference: Floats, case: Case) -> float:
    """|(w_j, v_j) - (w'_j, v'_j)| / |w'_j| of the neuron where it is largest."""
    (hidden, output), (hidden_there, output_there) = unpack(state, case.data), unpack(reference, case.data)
    moved = np.sqrt(np.sum((hidden - hidden_there) ** 2, axis=1) + (output - output_there) ** 2)
    return float((moved / np.linalg.norm(hidden_there, axis=1)).max())


def _heading(case: Case, budget: float) -> Iterator[str]:
    samples, features = case.data.inputs.shape
    neurons = len(case.problem.output)
    yield f"{samples} samples, {features} features with the bias, {neurons} ReLU neurons, flow time {case.end:g}"
    yield f"error: of the worst neuron at the time reached, from flowsim at {short(REFERENCE_RTOL)}"
    yield f"solvers without events stop at {budget:g} times the evaluations of {_with_events(RTOL)}"
    yield from machine(LIBRARIES)


def _row(name: str, outcome: Outcome, case: Case, base: int) -> tuple[str, ...]:
    done = outcome.time >= case.end
    return (
        name,
        str(outcome.evaluations),
        f"{'' if done else '> '}{outcome.evaluations / base:.2f}",
        str(outcome.steps),
        "" if outcome.events is None else str(outcome.events),
        f"{outcome.seconds:.2f}",
        f"{outcome.time:.3g}",
        short(distance(outcome.state, _reference(case, outcome.time), case)),
    )


if __name__ == "__main__":
    main()
