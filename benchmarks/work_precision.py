"""Work-precision diagrams: what each solver pays for its error, over a row of tolerances.

    python benchmarks/work_precision.py [--problems start "tiny start" kinks] [-o FILE.png] [--markdown FILE]

General solvers get atol = rtol x the size of the initial weights. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import clarke
import matplotlib
from cartesian import check_velocity
from deviation import Deviation, rows_normalised
from ladder import CONTENDERS
from peers import LIBRARIES, REFERENCE, SCENARIO
from solvers import Case
from tables import machine, say, short, text_table, write_markdown

import flowsim
from flowsim.scenario.shipped import find
from flowsim.solve.plan import MIXED_RTOL

RTOLS = tuple(10.0**-power for power in range(3, 10))
#: Of a tolerance that is a power of ten.
ROUNDING = 1e-9
SIZES = {"data.samples": 400, "data.dimension": 100, "model.width": 20}
#: What the smooth problems are: the initial scale, and the time, in which the neurons align and grow.
SMOOTH = {"start": (1e-7, 300.0), "tiny start": (1e-12, 450.0)}
#: The flow with kinks goes to this time; its weights start at a norm of 0.1. Solvers without events stop at the budget.
KINKS, KINK_END, KINK_SCALE, KINK_BUDGET = "kinks", 0.5, 0.1, 60_000
TITLES = {
    "start": "pReLU of degree 3, 20 neurons from 1e-7",
    "tiny start": "the same from 1e-12",
    KINKS: "ReLU neurons that slide, to time 0.5",
}
#: Okabe and Ito's palette; flowsim's own come first.
COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F", "#999933")
MARKERS = "os^vD<>ph"
COLUMNS = ("problem, solver", "rtol", "evaluations", "processor s", "error")


@dataclass(frozen=True)
class Point:
    """What a solver paid at a tolerance, and its error: the larger one of the largest entry of the weights' difference from
    the reference, relative to their largest, and of the worst neuron's angle; with kinks, of the worst neuron."""

    problem: str
    solver: str
    rtol: float
    evaluations: int
    processor: float
    error: float


def main() -> None:
    options = _options()
    check_velocity()
    for line in machine(LIBRARIES):
        print(line)
    points = [point for problem in options.problems for point in measured(problem)]
    rows = [
        (
            f"{point.problem}: {point.solver}",
            short(point.rtol),
            str(point.evaluations),
            f"{point.processor:.3f}",
            short(point.error),
        )
        for point in points
    ]
    print("", *text_table(COLUMNS, rows), sep="\n")
    if options.markdown:
        write_markdown(options.markdown, COLUMNS, rows)
    if options.output:
        draw(points, options.output)


def measured(problem: str) -> Iterator[Point]:
    """Of every solver that is installed, at every tolerance; one that gets no further than its budget has no point."""
    yield from (_with_kinks() if problem == KINKS else _smooth(problem))


def _smooth(problem: str) -> Iterator[Point]:
    scale, end = SMOOTH[problem]
    overrides = {**SIZES, "init.scale": scale, "flow.until.time": end}
    case = Case.of(SCENARIO, overrides)
    reference = REFERENCE(case).hidden
    centers = rows_normalised(flowsim.build(flowsim.loads(SCENARIO, overrides=overrides)).centers)
    for contender in CONTENDERS:
        if not find_spec(contender.needs) or "float32" in contender.name:
            continue
        for rtol in RTOLS:
            if "mixed" in contender.name and rtol < MIXED_RTOL * (1 - ROUNDING):
                continue  # below that it costs more and is no better
            solution = contender.solve(case, rtol, rtol * scale)
            error = Deviation.of(solution.hidden, reference, centers).worst
            say(f"{problem}: {contender.name}, {short(rtol)}: {solution.evaluations} evaluations, {short(error)}")
            yield Point(problem, contender.name, rtol, solution.evaluations, solution.processor, error)


def _with_kinks() -> Iterator[Point]:
    setting = {**clarke.SETTING, "flow": {"coordinates": "polar", "until": {"time": KINK_END}}}
    case = clarke.Case.of(flowsim.load(find(clarke.SCENARIO), setting))
    reference = clarke.with_flowsim(case, float("inf"), rtol=clarke.REFERENCE_RTOL).state
    solvers: dict[str, Callable[[float], clarke.Outcome]] = {
        "flowsim dopri5, events": lambda rtol: clarke.with_flowsim(case, float("inf"), rtol=rtol),
        **{
            f"SciPy {method}": partial(_scipy, case, method)  # not one of them knows of events
            for method in ("RK45", "DOP853", "LSODA")
        },
    }
    for name, solve in solvers.items():
        for rtol in RTOLS:
            begun = time.process_time()
            outcome = solve(rtol)
            spent = time.process_time() - begun
            if outcome.time < case.end:
                say(f"{KINKS}: {name}, {short(rtol)}: only to time {outcome.time:.3g}")
                break
            error = clarke.distance(outcome.state, reference, case)
            say(f"{KINKS}: {name}, {short(rtol)}: {outcome.evaluations} evaluations, {short(error)}")
            yield Point(KINKS, name, rtol, outcome.evaluations, spent, error)


def _scipy(case: clarke.Case, method: str, rtol: float) -> clarke.Outcome:
    return clarke.with_scipy(case, KINK_BUDGET, method, rtol, rtol * KINK_SCALE)


def draw(points: Sequence[Point], file: Path) -> None:
    """A row for each problem: error over evaluations, and over processor seconds."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    problems, solvers = (list(dict.fromkeys(getattr(point, of) for point in points)) for of in ("problem", "solver"))
    figure, axes = plt.subplots(
        len(problems), 2, figsize=(9, 3.3 * len(problems)), layout="constrained", squeeze=False, sharey="row"
    )
    for problem, row in zip(problems, axes, strict=True):
        for panel, (of, label) in zip(row, (("evaluations",) * 2, ("processor", "processor seconds")), strict=True):
            for solver in solvers:
                mine = [point for point in points if (point.problem, point.solver) == (problem, solver)]
                place, ours = solvers.index(solver), solver.startswith("flowsim")
                panel.plot(
                    [getattr(point, of) for point in mine],
                    [point.error for point in mine],
                    marker=MARKERS[place % len(MARKERS)],
                    color=COLORS[place % len(COLORS)],
                    linestyle="-" if ours else "--",
                    markersize=4,
                    label=solver if of == "evaluations" and mine else None,
                )
            panel.set(xscale="log", yscale="log", xlabel=label, title=TITLES[problem] if of == "evaluations" else "")
            panel.grid(alpha=0.25)
        row[0].set_ylabel("error")
        row[0].legend(fontsize=6, frameon=False)
    figure.savefig(file, dpi=110)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="error against work, over a row of tolerances")
    problems = (*SMOOTH, KINKS)
    parser.add_argument("--problems", nargs="+", choices=problems, default=[*problems])
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.png", help="draw the diagrams")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the numbers as markdown, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
