"""Many small flows: a flowsim ensemble beside one vmapped diffrax solve and beside a run for each member.

    python benchmarks/ensembles.py [--members 1000] [--runs 20] [--quick] [--markdown FILE]

See README.md beside this file for what the rows are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from cartesian import Floats
from solvers import MANY_STEPS, cores
from tables import claim, machine, say, short, text_table, write_markdown

import flowsim
from flowsim.run.prepare import Prepared
from flowsim.scenario import Scenario
from flowsim.solve import Report, make
from flowsim.solve.advance import MOST_ATTEMPTS
from flowsim.solve.integrator import Flying
from flowsim.solve.schedule import Schedule
from flowsim.threads import one_blas_thread

SCENARIO = """
title = "pReLU on an orthonormal mixture without noise"
seed = 0

[data]
dimension = 50
positive = 5
negative = 5
centers = "orthonormal"
noise = { total = 0.0 }
samples = 100

[model]
activation = "prelu"
degree = 3
width = 50

[init]
scale = 1e-7

[loss]
kind = "square"

[flow]
engine = "numba"
coordinates = "polar"
until = { time = 300.0 }

[observe]
times = 200
"""
QUICK_MEMBERS, QUICK_RUNS = 100, 3
State = tuple[jax.Array, jax.Array]  # u (m, r), log|w| (m,)


def worst_neuron(error: State) -> jax.Array:
    """flowsim's error norm: the largest over neurons of the errors in u, an angle, and in log|w|."""
    angle, log_norm = error
    return jnp.maximum(jnp.linalg.norm(angle, axis=1), jnp.abs(log_norm)).max()


SOLVERS = {"Tsit5": diffrax.Tsit5(), "Dopri8": diffrax.Dopri8()}
RTOL = 1e-6
#: At which flowsim is no less accurate than a vmapped solve that is judged by the mean error at RTOL.
LOOSE = 1e-5
#: What a vmapped solve may take for the error of a step: diffrax's own, a mean over all entries, or flowsim's.
CONTROLLERS = {
    "mean error": diffrax.PIDController(rtol=RTOL, atol=RTOL),
    "worst neuron's error": diffrax.PIDController(rtol=0.0, atol=RTOL, norm=worst_neuron),
}
#: Another solver, at another tolerance, from which the errors are counted.
REFERENCE = {"flow.solver": "dopri5", "flow.rtol": 1e-10}
REFERENCE_MEMBERS = 20
#: What the ensemble is to be faster by.
FASTER_THAN_VMAP, FASTER_THAN_RUNS = 3, 50
LIBRARIES = ("flowsim", "numpy", "numba", "jax", "diffrax", "xarray", "netCDF4")
COLUMNS = ("seconds", "ms a member", "ratio", "processor s", "ratio", "compile s")


class Members(NamedTuple):
    """The reduced problems of all members M, and where they start.

    inputs (M, n, r), targets, weight (M, n); sign (M, m), of the output weights; direction (M, m, r), log_norm (M, m).
    """

    inputs: jax.Array
    targets: jax.Array
    weight: jax.Array
    sign: jax.Array
    direction: jax.Array
    log_norm: jax.Array

    @classmethod
    def of(cls, scenario: Scenario) -> Members:
        prepared = [Prepared(member) for member in scenario.members]
        columns = (
            [
                one.reduced.inputs,
                one.reduced.targets,
                one.reduced.sample_weight,
                one.problem.weights.output_sign,
                one.reduced.direction,
                one.problem.weights.log_norm,
            ]
            for one in prepared
        )
        return cls(*(jnp.asarray(np.stack(column), dtype=float) for column in zip(*columns, strict=True)))


@dataclass(frozen=True)
class Cost:
    """Wall seconds, and processor seconds of all threads: those other programs on the machine change little."""

    seconds: float
    processor: float

    def __mul__(self, factor: float) -> Cost:
        return Cost(factor * self.seconds, factor * self.processor)


@dataclass(frozen=True)
class States:
    """log_norm (M, m): at the end; evaluations (M,)."""

    cost: Cost
    log_norm: Floats
    evaluations: Floats
    compile_seconds: float = 0.0


@dataclass(frozen=True)
class Flown:
    cost: Cost
    tree: xr.DataTree


def main() -> None:
    options = _options()
    scenario = flowsim.loads(SCENARIO, overrides={"flow.rtol": RTOL, "seed": list(range(options.members))})
    for line in _heading(scenario):
        print(line)
    with TemporaryDirectory() as folder:
        flowsim.run_ensemble(scenario, range(2), Path(folder, "warm.nc"))  # nothing is left to be compiled or imported
        say("ensemble")
        ensemble = with_ensemble(scenario)
        written = with_ensemble(scenario, Path(folder, "ensemble.nc"))
        flights = with_flights(scenario)
        say("flights as accurate as a mean error makes them")
        loose = with_flights(
            flowsim.loads(SCENARIO, overrides={"flow.rtol": LOOSE, "seed": list(range(options.members))})
        )
        separate = with_runs(options.runs, Path(folder)) * options.members
    members = _in_float64(Members.of, scenario)
    vmapped = {
        f"{name}, {norm}": _in_float64(with_vmap, members, scenario, solver, controller)
        for norm, controller in CONTROLLERS.items()
        for name, solver in SOLVERS.items()
    }
    rows = [
        _row("flowsim ensemble (numba): drawn, integrated, observed", ensemble.cost, ensemble, options),
        _row("the same, and written to a file", written.cost, ensemble, options),
        _row("its members' states only (numba), already drawn", flights.cost, ensemble, options),
        _row(f"the same at rtol {LOOSE:g}", loose.cost, ensemble, options),
        *(
            _row(f"one vmapped diffrax solve, {name}", each.cost, ensemble, options, each.compile_seconds)
            for name, each in vmapped.items()
        ),
        _row(f"a `flowsim run` for each, extrapolated from {options.runs}", separate, ensemble, options),
    ]
    columns = (f"{options.members} members", *COLUMNS)
    print(
        "",
        *text_table(columns, rows),
        "",
        *_facts(ensemble, {f"flowsim, rtol {RTOL:g}": flights, f"flowsim, rtol {LOOSE:g}": loose, **vmapped}),
        "",
        sep="\n",
    )
    for norm, mine in zip(CONTROLLERS, (loose, flights), strict=True):
        fastest = min(
            (each.cost for name, each in vmapped.items() if name.endswith(norm)), key=lambda cost: cost.seconds
        )
        print(_faster(f"one vmapped solve, {norm}, no more accurate", FASTER_THAN_VMAP, fastest, mine.cost))
    print(_faster("separate runs, both written", FASTER_THAN_RUNS, separate, written.cost))
    if options.markdown:
        write_markdown(options.markdown, columns, rows)


def with_ensemble(scenario: Scenario, file: Path | None = None) -> Flown:
    """All members, the result in memory, or in a file too."""
    begun, busy = time.perf_counter(), time.process_time()
    tree = flowsim.run(scenario, file)
    return Flown(Cost(time.perf_counter() - begun, time.process_time() - busy), tree)


def with_flights(scenario: Scenario) -> States:
    """What the vmapped solves do: members already drawn and reduced, their states at the kept instants."""
    first = Prepared(scenario)
    instants = np.array(Schedule.of(scenario, np.nan).instants)
    prepared = [Prepared(member, first) for member in scenario.members]
    integrators = [cast(Flying, make(each.scenario, each.reduced, each.plan)) for each in prepared]

    def fly(integrator: Flying) -> tuple[Floats, Report]:
        carry = integrator.begin()
        integrator.through(carry, instants, MOST_ATTEMPTS, np.zeros(1, bool))
        return integrator.now(carry).log_norm, integrator.report(carry)

    begun, busy = time.perf_counter(), time.process_time()
    with one_blas_thread(), ThreadPoolExecutor(cores()) as pool:
        log_norm, reports = zip(*pool.map(fly, integrators), strict=True)
    cost = Cost(time.perf_counter() - begun, time.process_time() - busy)
    assert min(report.time for report in reports) == instants[-1]
    return States(cost, np.array(log_norm), np.array([report.evaluations for report in reports]))


def with_runs(count: int, folder: Path) -> Cost:
    """The cost of a `flowsim run` on average, one after another, after one to warm the caches up."""
    file = folder / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    for number in range(count + 1):
        say(f"run {number} of {count}")
        if number == 1:
            begun, busy = time.perf_counter(), _children()
        command = [sys.executable, "-m", "flowsim", "run", str(file), "-o", str(folder / f"{number}.nc")]
        subprocess.run([*command, "--set", f"seed={number}"], check=True, capture_output=True)
    return Cost(time.perf_counter() - begun, _children() - busy) * (1 / count)


def _children() -> float:
    """Processor seconds of all processes that were started and have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system


def with_vmap(
    members: Members, scenario: Scenario, solver: diffrax.AbstractERK, controller: diffrax.PIDController
) -> States:
    """The states of all members at the same instants by one diffeqsolve under vmap, as one would write it in JAX."""
    say(f"vmapped {type(solver).__name__}")
    end = scenario.flow.until.goals["time"]
    instants = jnp.linspace(0.0, end, scenario.observe.times)

    def solve(member: Members) -> tuple[State, jax.Array]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(velocity),
            solver,
            t0=0.0,
            t1=end,
            dt0=None,
            y0=(member.direction, member.log_norm),
            args=member,
            saveat=diffrax.SaveAt(ts=instants),
            stepsize_controller=controller,
            max_steps=MANY_STEPS,
        )
        return solution.ys, solution.stats["num_steps"]

    begun = time.perf_counter()
    compiled = jax.jit(jax.vmap(solve)).lower(members).compile()
    compile_seconds = time.perf_counter() - begun
    begun, busy = time.perf_counter(), time.process_time()
    (_, log_norm), steps = jax.block_until_ready(compiled(members))
    cost = Cost(time.perf_counter() - begun, time.process_time() - busy)
    per_step = solver.tableau.num_stages - solver.tableau.fsal
    return States(cost, np.asarray(log_norm[:, -1]), 1 + per_step * np.asarray(steps), compile_seconds)


def velocity(t: jax.Array, state: State, member: Members) -> State:
    """Balanced pReLU neurons, p = 3, under the square loss in polar coordinates: rates of u (m, r) and log|w| (m,)."""
    direction, log_norm = state
    direction = direction / jnp.linalg.norm(direction, axis=1, keepdims=True)
    positive = jnp.maximum(direction @ member.inputs.T, 0.0)
    square = positive * positive
    cube = square * positive
    pull = member.weight * (member.targets - (member.sign * jnp.exp(2 * log_norm)) @ cube)
    force = 3 * (square * pull) @ member.inputs
    along = (force * direction).sum(axis=1)
    return member.sign[:, None] * (force - along[:, None] * direction), member.sign * (cube @ pull)


def _in_float64(function: Callable[..., Any], *arguments: Any) -> Any:
    with jax.enable_x64(True):
        return function(*arguments)


def _facts(ensemble: Flown, solved: dict[str, States]) -> Iterator[str]:
    """What the solvers did, what it was good for, and whether the ensemble had the cores to itself."""
    some = min(REFERENCE_MEMBERS, ensemble.tree.sizes["seed"])
    say(f"reference of {some} members")
    tight = flowsim.run_ensemble(flowsim.loads(SCENARIO, overrides=REFERENCE), range(some))
    reference = tight["final/log_norm"].values
    yield f"evaluations of a member: median, most; error of its worst log norm at the end: median, most of {some}"
    for name, states in solved.items():
        error = np.abs(states.log_norm[:some] - reference).max(axis=1)
        counts = states.evaluations
        yield (
            f"  {name}: {np.median(counts):.0f}, {counts.max():.0f}; {short(np.median(error))}, {short(error.max())}"
        )
    busy = ensemble.cost.processor / ensemble.cost.seconds
    yield f"the ensemble kept {busy:.2f} of {cores()} cores busy"


def _faster(than: str, factor: float, other: Cost, mine: Cost) -> str:
    times = other.seconds / mine.seconds
    work = mine.processor / other.processor
    return claim(
        f"at least {factor} times as fast as {than}: {times:.1f} times, with {work:.2f} of its processor seconds",
        times >= factor,
    )


def _heading(scenario: Scenario) -> Iterator[str]:
    prepared = Prepared(scenario)
    rows, coordinates = prepared.reduced.inputs.shape
    yield (
        f"{len(prepared.reduced.direction)} pReLU neurons on {len(prepared.problem.targets)} samples in "
        f"{prepared.problem.inputs.shape[1]} dimensions, reduced to {rows} in {coordinates}"
    )
    goal, observe = scenario.flow.until.goals["time"], scenario.observe
    yield f"flow time {goal:g}, {observe.times} kept instants, rtol {scenario.flow.rtol:g}"
    yield from machine(LIBRARIES)


def _row(
    name: str, cost: Cost, base: Flown, options: argparse.Namespace, compile_seconds: float | None = None
) -> tuple[str, ...]:
    return (
        name,
        f"{cost.seconds:.1f}",
        f"{1e3 * cost.seconds / options.members:.1f}",
        f"{cost.seconds / base.cost.seconds:.2f}",
        f"{cost.processor:.1f}",
        f"{cost.processor / base.cost.processor:.2f}",
        "" if compile_seconds is None else f"{compile_seconds:.1f}",
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a flowsim ensemble beside other ways to run many small flows")
    parser.add_argument("--members", type=int, help="members of the ensemble (default: 1000)")
    parser.add_argument("--runs", type=int, help="separate runs to extrapolate from (default: 20)")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_MEMBERS} members and {QUICK_RUNS} runs, for a smoke test"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as markdown, too")
    options = parser.parse_args()
    options.members = options.members or (QUICK_MEMBERS if options.quick else 1000)
    options.runs = options.runs or (QUICK_RUNS if options.quick else 20)
    return options


if __name__ == "__main__":
    main()
