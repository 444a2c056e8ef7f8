"""flowsim side by side with general ODE solvers: one problem, the same initial arrays, one run.

    python benchmarks/peers.py [--quick] [--check-reference] [--markdown FILE]

The general solvers have tolerances that a user would first try; `ladder.py` has those of an expert. See README.md beside
this file for what the columns mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import diffrax
from cartesian import check_velocity
from deviation import Deviation, rows_normalised
from solvers import (
    ATOL,
    RTOL,
    Case,
    Solution,
    with_cvode,
    with_descent,
    with_diffrax,
    with_flowsim,
    with_scipy,
    with_torchdiffeq,
)
from tables import machine, say, short, text_table, write_markdown

import flowsim

SCENARIO = """
title = "pReLU on an orthonormal mixture, mid-size"
seed = 0

[data]
kind = "gaussian_mixture"
dimension = 500
positive = 5
negative = 5
centers = "orthonormal"
noise = { total = 0.1 }
samples = 2000

[model]
activation = "prelu"
degree = 3
width = 60

[init]
shape = "gaussian"
scale = 1e-7

[loss]
kind = "square"
reduction = "mean"

[flow]
coordinates = "polar"
until = { time = 600.0 }
"""
QUICK = {"data.samples": 400, "data.dimension": 100, "flow.until.time": 300.0}
DESCENT_STEP = 0.2
REFERENCE_RTOL = 1e-11
#: The second is relative to the initial scale, and far below it, so that nothing hides.
CHECK_RTOL, CHECK_ATOL = 1e-12, 1e-15
#: Every solver runs so many times, in turn; its fastest run counts.
ROUNDS = 2
BASE = "flowsim dopri8, polar, 1e-6"
LIBRARIES = ("flowsim", "numpy", "scipy", "jax", "diffrax", "torch", "torchdiffeq", "scikit-sundae")
COLUMNS = ("solver", "evaluations", "seconds", "ratio", "compile s", "error of W", "worst angle", "astray")


@dataclass(frozen=True)
class Contender:
    """needs: the module without which it is skipped."""

    name: str
    needs: str
    solve: Callable[[Case], Solution]


CARTESIAN = f"Cartesian, {short(RTOL)}, {short(ATOL)}"
CONTENDERS = (
    Contender("flowsim dopri8, polar, 1e-3", "flowsim", partial(with_flowsim, solver="dopri8", rtol=1e-3)),
    Contender(BASE, "flowsim", partial(with_flowsim, solver="dopri8", rtol=1e-6)),
    Contender("flowsim tsit5, polar, 1e-6", "flowsim", partial(with_flowsim, solver="tsit5", rtol=1e-6)),
    Contender(f"diffrax Tsit5, {CARTESIAN}", "diffrax", partial(with_diffrax, solver=diffrax.Tsit5())),
    Contender(f"torchdiffeq dopri5, {CARTESIAN}", "torchdiffeq", with_torchdiffeq),
    Contender(f"CVODE BDF, {CARTESIAN}", "sksundae", partial(with_cvode, method="BDF")),
    Contender(f"CVODE Adams, {CARTESIAN}", "sksundae", partial(with_cvode, method="Adams")),
    Contender(f"SciPy DOP853, {CARTESIAN}", "scipy", with_scipy),
    Contender(f"gradient descent, step {DESCENT_STEP:g}", "numpy", partial(with_descent, step=DESCENT_STEP)),
)
REFERENCE = partial(with_flowsim, solver="dopri8", rtol=REFERENCE_RTOL)


def main() -> None:
    options = _options()
    check_velocity()
    overrides = (QUICK if options.quick else {}) | {"init.scale": options.scale}
    if options.time is not None:
        overrides["flow.until.time"] = options.time
    case = Case.of(SCENARIO, overrides)
    centers = rows_normalised(flowsim.build(flowsim.loads(SCENARIO, overrides=overrides)).centers)
    for line in (*_heading(case, options.scale), *_skipped()):
        print(line)
    contenders = [contender for contender in CONTENDERS if find_spec(contender.needs)]
    say(f"reference: flowsim dopri8, polar, {short(REFERENCE_RTOL)}")
    reference = REFERENCE(case)
    rounds = _solve_all(contenders, case)
    solutions = {name: _fastest(each) for name, each in rounds.items()}
    if options.check_reference:
        check = f"reference check: SciPy DOP853, Cartesian, {short(CHECK_RTOL)}, {short(CHECK_ATOL * options.scale)}"
        say(check)
        solutions[check] = with_scipy(case, rtol=CHECK_RTOL, atol=CHECK_ATOL * options.scale)
    rows = [
        _row(name, solution, solutions[BASE], Deviation.of(solution.hidden, reference.hidden, centers))
        for name, solution in solutions.items()
    ]
    print("", *text_table(COLUMNS, rows), "", _unrest(rounds), sep="\n")
    if options.markdown:
        write_markdown(options.markdown, COLUMNS, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="flowsim side by side with general ODE solvers")
    parser.add_argument("--quick", action="store_true", help="a smaller problem, for a smoke test")
    parser.add_argument("--scale", type=float, default=1e-7, help="initial scale (default: 1e-7)")
    parser.add_argument("--time", type=float, help="flow time (default: 600, with --quick 300)")
    parser.add_argument(
        "--check-reference", action="store_true", help="also solve by SciPy at 1e-12, to check the reference"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as markdown, too")
    return parser.parse_args()


def _solve_all(contenders: list[Contender], case: Case) -> dict[str, list[Solution]]:
    """Each contender's solutions, one a round, by name; the rounds alternate so that a busy moment hits all alike."""
    solutions: dict[str, list[Solution]] = {contender.name: [] for contender in contenders}
    for number in range(ROUNDS):
        for contender in contenders:
            say(f"round {number + 1} of {ROUNDS}: {contender.name}")
            solutions[contender.name].append(contender.solve(case))
    return solutions


def _fastest(rounds: list[Solution]) -> Solution:
    return min(rounds, key=lambda solution: solution.seconds)


def _unrest(solutions: dict[str, list[Solution]]) -> str:
    """How far the rounds differ, in a sentence: a sign of whether the seconds can be trusted."""
    ratio, name = max(
        (max(solution.seconds for solution in rounds) / _fastest(rounds).seconds, name)
        for name, rounds in solutions.items()
    )
    return (
        f"slowest round over fastest: at most {ratio:.1f} ({name}); far above 1, other programs disturbed the seconds"
    )


def _heading(case: Case, scale: float) -> Iterator[str]:
    samples, features = case.data.inputs.shape
    neurons = len(case.start) // (features + 1)
    yield f"{samples} samples, {features} features, {neurons} neurons, pReLU p = 3"
    yield f"initial scale {scale:g}, flow time {case.end:g}"
    yield f"reference: flowsim dopri8, polar, {short(REFERENCE_RTOL)}; every solver run {ROUNDS} times, its fastest counts"
    yield from machine(LIBRARIES)


def _skipped() -> Iterator[str]:
    for contender in CONTENDERS:
        if not find_spec(contender.needs):
            yield f'skipped: {contender.name}: {contender.needs} is not installed; pip install "flowsim[bench]"'


def _row(name: str, solution: Solution, base: Solution, deviation: Deviation) -> tuple[str, ...]:
    compile_seconds = "" if solution.compile_seconds is None else f"{solution.compile_seconds:.1f}"
    return (
        name,
        str(solution.evaluations),
        f"{solution.seconds:.2f}",
        f"{solution.seconds / base.seconds:.2f}",
        compile_seconds,
        short(deviation.weights),
        short(deviation.angle),
        str(deviation.astray),
    )


if __name__ == "__main__":
    main()
