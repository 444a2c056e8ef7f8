"""How the cost of a flow grows: evaluations, and processor time of one, over sizes, initial scale and loss, with exponents.

    python benchmarks/growth.py [--seeds 3] [--rounds 3] [--quick] [--markdown FILE]

Each quantity is changed alone, about a small problem, and cost = factor x quantity^exponent is fitted to all seeds by least
squares in logarithms; the intervals are Student's, of 95 %. Evaluations are those until the loss is down to half its first
value, with dopri5, and do not depend on the machine. The time of one is the least of some rounds, in processor seconds of
the engine diffrax, at sizes at which products dominate. A minute or two; `--quick`: fewer values, for a smoke test.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from tables import claim, machine, say, text_table, write_markdown

import flowsim
from flowsim.problem import reduce
from flowsim.solve import choose
from flowsim.solve.diffrax.integrator import DiffraxIntegrator

COLUMNS = ("cost", "over", "from", "to", "exponent", "95 % interval", "expected", "because")
#: About which quantities are changed.
SMALL = {
    "data": {"samples": 320, "dimension": 40, "positive": 2, "negative": 2, "noise": {"total": 0.1}},
    "model": {"width": 40},
    "init": {"scale": 1e-6},
    "flow": {"engine": "numba", "solver": "dopri5", "until": {"loss": 0.25, "steps": 20_000}},
    "observe": {"times": 2, "variables": ["loss"], "snapshots": "none"},
}
LOGISTIC = {"loss.kind": "logistic", "init.scale": 1e-2, "flow.clock": "loss", "flow.solver": "rkc2"}
LARGE = {"data.samples": 4000, "data.dimension": 400, "model.width": 100, "flow.engine": "diffrax"}
CONFIDENCE = 0.95
#: Steps whose time is taken, after one that is not.
STEPS = 4


@dataclass(frozen=True)
class Law:
    """over: what is changed, a key of CHANGED, to each of the values. expected: the exponent, for the reason in `because`;
    why_not: what makes for another one. timed: whether the cost is the time of an evaluation, and not how many there are.
    more: other keys that the problem has. beside: whether the cost is what comes on top of that at the first value, and
    goes by how much more the value is."""

    over: str
    values: tuple[float, ...]
    expected: float
    because: str
    why_not: str = ""
    timed: bool = False
    more: dict[str, Any] | None = None
    beside: bool = False

    def changes(self, value: float) -> dict[str, Any]:
        return {**(self.more or {}), **CHANGED[self.over](value)}


def clusters(count: float) -> dict[str, Any]:
    return {"data.positive": int(count) // 2, "data.negative": int(count) // 2}


CHANGED: dict[str, Any] = {
    "n": lambda value: {"data.samples": int(value)},
    "D": lambda value: {"data.dimension": int(value)},
    "m": lambda value: {"model.width": int(value)},
    "K": clusters,
    "log 1/eps": lambda value: {"init.scale": 10.0**-value},
    "log 1/loss": lambda value: {"flow.until": {"log10_loss": -value, "steps": 10**6}},
}
SAME = "steps go with the flow's own times"
LAWS = (
    Law("n", (80, 160, 320, 640, 1280), 0.0, f"{SAME}, which more samples of the same clusters do not change"),
    Law(
        "D",
        (10, 20, 40, 80, 160),
        0.0,
        SAME,
        "the first cosines fall like 1/sqrt D, which alignment has to make up for",
    ),
    Law("m", (20, 40, 80, 160, 320), 0.0, SAME, "the fastest of more neurons is a little faster"),
    Law("K", (2, 4, 8, 16), 0.0, f"{SAME}, and all rates are 1/K"),
    Law(
        "log 1/eps",
        (40, 80, 120, 160, 230, 300),
        1.0,
        "aligned neurons grow at a rate, and steps stay at their stability limit",
        beside=True,
    ),
    Law(
        "log 1/loss",
        (30, 100, 300, 1000, 3000, 10000),
        0.5,
        "margins become equal at a rate like the weights' square, of which s stages of rkc2 cover s^2",
        more=LOGISTIC,
        beside=True,
    ),
    Law("n", (2000, 4000, 8000, 16000), 1.0, "two products of n x D and D x m", timed=True),
    Law("D", (200, 400, 800), 1.0, "the same", "powers of n x m numbers do not grow with D", timed=True),
    Law("m", (50, 100, 200, 400), 1.0, "the same", "narrow products run at a lower rate", timed=True),
    Law(
        "D",
        (800, 1600, 3200, 6400),
        0.0,
        "with n < D, neurons have n + 1 coordinates in the span of the samples",
        timed=True,
        more={"data.samples": 600},
    ),
)
#: What stands beside the leading term may make an exponent differ by so much from the expected one.
NEAR = 0.15


def evaluations(law: Law, value: float, seed: int) -> float | None:
    """How many a run needs; None where it does not come to its goal."""
    tree = flowsim.run(flowsim.Scenario(SMALL).replace({**law.changes(value), "seed": seed}), progress=False)
    return float(tree["numerics"]["evaluations"].values[-1]) if tree.attrs["status"] == "done" else None


def seconds(law: Law, value: float, rounds: int) -> float:
    """Processor seconds of one evaluation."""
    scenario = flowsim.Scenario(SMALL).replace({**LARGE, **law.changes(value)})
    reduced = reduce(flowsim.build(scenario))
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    carry, found = integrator.advance(integrator.begin(), np.inf, 1), np.inf
    for _ in range(rounds):
        before, begun = integrator.report(carry).evaluations, time.process_time()
        carry = integrator.advance(carry, np.inf, STEPS)
        spent = time.process_time() - begun
        found = min(found, spent / (integrator.report(carry).evaluations - before))
    return found


def fitted(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float, float]:
    """(exponent, and the ends of its interval)"""
    x, y = np.log(sizes), np.log(costs)
    away = x - x.mean()
    exponent = float(away @ y / (away @ away))
    left = y - y.mean() - exponent * away
    half = student.ppf(0.5 + CONFIDENCE / 2, len(x) - 2) * np.sqrt(left @ left / (len(x) - 2) / (away @ away))
    return exponent, exponent - half, exponent + half


def measured(law: Law, seeds: int, rounds: int, quick: bool) -> tuple[list[float], list[float]]:
    """(values, costs)"""
    values = law.values[:3] if quick else law.values
    if law.timed:
        return list(values), [seconds(law, value, rounds) for value in values]
    found = [[evaluations(law, value, seed) for value in values] for seed in range(seeds)]
    first = [counts[0] if law.beside else 0.0 for counts in found]
    kept = [
        (value - law.beside * values[0], count - own)
        for counts, own in zip(found, first, strict=True)
        for value, count in zip(values, counts, strict=True)
        if count is not None and own is not None and count > own
    ]
    return [value for value, _ in kept], [count for _, count in kept]


def rows(seeds: int, rounds: int, quick: bool) -> Iterator[tuple[tuple[str, ...], bool]]:
    """(a row of the table, whether the exponent is as expected) for each law"""
    for law in LAWS:
        cost = "time of one" if law.timed else "evaluations"
        say(f"{cost} over {law.over}")
        sizes, costs = measured(law, seeds, rounds, quick)
        exponent, low, high = fitted(sizes, costs)
        inside = low <= law.expected <= high
        told = (
            law.because
            if inside
            else f"{law.because}; but {law.why_not or 'nothing is known that makes for another one'}"
        )
        cells = f"{min(sizes):g}", f"{max(sizes):g}", f"{exponent:.2f}", f"{low:.2f} to {high:.2f}", f"{law.expected:g}"
        explained = bool(law.why_not) and abs(exponent - law.expected) <= NEAR
        yield (cost, law.over, *cells, told), inside or explained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer values")
    parser.add_argument("--markdown", type=Path, help="write the table there, too")
    asked = parser.parse_args()
    found = list(rows(asked.seeds, asked.rounds, asked.quick))
    for line in (
        *machine(("flowsim", "numpy", "jax", "jaxlib", "diffrax")),
        *text_table(COLUMNS, [row for row, _ in found]),
    ):
        print(line)
    for row, holds in found:
        print(claim(f"{row[0]} over {row[1]}: {row[4]}, expected {row[6]}", holds))
    if asked.markdown:
        write_markdown(asked.markdown, COLUMNS, [row for row, _ in found])
    return 0 if all(holds for _, holds in found) else 1


if __name__ == "__main__":
    sys.exit(main())
