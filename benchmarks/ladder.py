"""How long each solver takes to a given accuracy, where every one is used as an expert would use it.

    python benchmarks/ladder.py [--problem mid wide] [--goal 1e-5] [--seed 0] [--rounds 3] [--quick] [--markdown FOLDER]

General solvers get atol = rtol x initial scale. Each solver climbs a ladder of tolerances until its solution is within the
goal at two rungs in a row; the first of the two counts. One that takes far more than another general
solver has taken gives up. See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import diffrax
from cartesian import Floats, check_velocity
from deviation import Deviation, rows_normalised
from peers import LIBRARIES, REFERENCE, SCENARIO
from solvers import Case, Solution, with_cvode, with_diffrax, with_flowsim, with_scipy, with_torchdiffeq
from tables import claim, machine, say, short, text_table, write_markdown

import flowsim

#: A general solver gives up at a rung that takes so many times the processor seconds of the cheapest one that has arrived.
HOPELESS = 2.0
#: How much less than the best general solver flowsim is to take, and what makes each problem of the common one.
PROBLEMS = {
    "mid": (1.7, {}),
    "wide": (20.0, {"data.samples": 300, "data.dimension": 3000, "flow.until.time": 1200.0}),
}
QUICK = {"data.samples": 100, "data.dimension": 200, "flow.until.time": 300.0, "model.width": 20}
RUNGS = tuple(digit * 10.0**-power for power in range(3, 10) for digit in (1.0, 0.3))
OURS = "flowsim"
COLUMNS = ("solver", "rtol", "evaluations", "seconds", "processor s", "ratio", "error of W", "worst angle")


@dataclass(frozen=True)
class Contender:
    """needs: the module without which it is skipped. solve: of a case, at an rtol and an atol. tuned: whether it is among
    those that flowsim is measured against."""

    name: str
    needs: str
    solve: Callable[[Case, float, float], Solution]
    tuned: bool = True


def _flowsim(precision: str) -> Contender:
    def solve(case: Case, rtol: float, atol: float) -> Solution:
        return with_flowsim(case, "auto", rtol, precision)

    return Contender(f"{OURS}, precision {precision}", "flowsim", solve, tuned=False)


def _peer(name: str, needs: str, solve: Callable[..., Solution], tuned: bool = True, **options: object) -> Contender:
    return Contender(name, needs, lambda case, rtol, atol: solve(case, rtol=rtol, atol=atol, **options), tuned)


CONTENDERS = (
    _flowsim("float64"),
    _flowsim("mixed"),
    _peer("diffrax Tsit5", "diffrax", with_diffrax, solver=diffrax.Tsit5()),
    _peer("diffrax Dopri8", "diffrax", with_diffrax, solver=diffrax.Dopri8()),
    _peer("diffrax Tsit5, all in float32", "diffrax", with_diffrax, tuned=False, solver=diffrax.Tsit5(), single=True),
    _peer("torchdiffeq dopri5", "torchdiffeq", with_torchdiffeq),
    _peer("SciPy DOP853", "scipy", with_scipy),
    _peer("CVODE Adams", "sksundae", with_cvode, method="Adams"),
    _peer("CVODE BDF", "sksundae", with_cvode, method="BDF"),
)


@dataclass(frozen=True)
class Arrived:
    """A contender at the rung that is within the goal."""

    rtol: float
    deviation: Deviation
    solution: Solution


def main() -> None:
    options = _options()
    check_velocity()
    for name in options.problem:
        factor, changes = PROBLEMS[name]
        overrides = {**changes, **(QUICK if options.quick else {}), "init.scale": options.scale, "seed": options.seed}
        case = Case.of(SCENARIO, overrides)
        print(*_heading(name, case, options), "", sep="\n")
        arrived = _climbed(case, overrides, options)
        rows = [_row(each, found, arrived) for each, found in arrived.items()]
        print(*text_table(COLUMNS, rows), "", *_claims(arrived, factor), "", sep="\n")
        if options.markdown:
            write_markdown(options.markdown / f"ladder_{name}.md", COLUMNS, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="time to a given accuracy, every solver as an expert would use it")
    parser.add_argument("--problem", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--goal", type=float, default=1e-5, help="error of W, and of the worst angle (default: 1e-5)")
    parser.add_argument("--scale", type=float, default=1e-7, help="initial scale (default: 1e-7)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts (default: 3)")
    parser.add_argument("--quick", action="store_true", help="a smaller problem, for a smoke test")
    parser.add_argument("--markdown", type=Path, metavar="FOLDER", help="write the tables as markdown, too")
    return parser.parse_args()


def _heading(name: str, case: Case, options: argparse.Namespace) -> Iterator[str]:
    samples, features = case.data.inputs.shape
    yield f"{name}: {samples} samples, {features} features, {len(case.start) // (features + 1)} neurons"
    yield f"flow time {case.end:g}, seed {options.seed}; to {short(options.goal)}; atol = rtol x {options.scale:g}"
    yield from machine(LIBRARIES)
    for contender in CONTENDERS:
        if not find_spec(contender.needs):
            yield f'skipped: {contender.name}: {contender.needs} is not installed; pip install "flowsim[bench]"'


def _climbed(case: Case, overrides: dict[str, object], options: argparse.Namespace) -> dict[str, Arrived | None]:
    """name of a contender -> what took it to the goal, the fastest of rounds that alternate; None where no rung did."""
    say("reference")
    reference = REFERENCE(case).hidden
    centers = rows_normalised(flowsim.build(flowsim.loads(SCENARIO, overrides=overrides)).centers)
    contenders = [contender for contender in CONTENDERS if find_spec(contender.needs)]
    arrived: dict[str, Arrived | None] = {}
    for each in contenders:
        there = [found.solution.processor for other, found in arrived.items() if found and not other.startswith(OURS)]
        most = HOPELESS * min(there, default=math.inf)
        arrived[each.name] = _climb(each, case, reference, centers, options, most)
    for _ in range(options.rounds - 1):
        for contender in contenders:
            found = arrived[contender.name]
            if found is not None:
                say(f"{contender.name} once more")
                again = contender.solve(case, found.rtol, found.rtol * options.scale)
                if again.processor < found.solution.processor:
                    arrived[contender.name] = Arrived(found.rtol, found.deviation, again)
    return arrived


def _climb(
    contender: Contender, case: Case, reference: Floats, centers: Floats, options: argparse.Namespace, most: float
) -> Arrived | None:
    """most: processor seconds beyond which a rung is the last one."""
    first = None
    for rtol in RUNGS:
        solution = contender.solve(case, rtol, rtol * options.scale)
        deviation = Deviation.of(solution.hidden, reference, centers)
        say(f"{contender.name}, {short(rtol)}: {solution.evaluations} evaluations, {short(deviation.worst)}")
        within = deviation.worst <= options.goal
        if within and first is not None:
            return first
        first = Arrived(rtol, deviation, solution) if within else None
        if solution.processor > most:
            break
    return first


def _best(arrived: dict[str, Arrived | None], names: set[str]) -> tuple[str, Arrived]:
    found = {name: each for name, each in arrived.items() if name in names and each is not None}
    return min(found.items(), key=lambda item: item[1].solution.processor)


def _ours(arrived: dict[str, Arrived | None]) -> tuple[str, Arrived]:
    return _best(arrived, {name for name in arrived if name.startswith(OURS)})


def _row(name: str, found: Arrived | None, arrived: dict[str, Arrived | None]) -> tuple[str, ...]:
    if found is None:
        return (name, "gave up", *[""] * (len(COLUMNS) - 2))
    base, solution = _ours(arrived)[1].solution, found.solution
    return (
        name,
        short(found.rtol),
        str(solution.evaluations),
        f"{solution.seconds:.2f}",
        f"{solution.processor:.2f}",
        f"{solution.processor / base.processor:.2f}",
        short(found.deviation.weights),
        short(found.deviation.angle),
    )


def _claims(arrived: dict[str, Arrived | None], factor: float) -> Iterator[str]:
    name, mine = _ours(arrived)
    peer, other = _best(arrived, {contender.name for contender in CONTENDERS if contender.tuned})
    times = other.solution.processor / mine.solution.processor
    words = f"at least {factor:g} times less processor time than the best tuned general solver in float64"
    yield claim(f"{words}: {name} takes {times:.1f} times less than {peer}", times >= factor)


if __name__ == "__main__":
    main()
