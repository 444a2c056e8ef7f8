"""Whether limits are found: many random problems of each sort, each from several losses of the same flow.

    python benchmarks/limits.py [--problems 50] [--followed 10] [--sorts relu ...] [--goals -1000 ...] [--wall-time 60]

See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tables import claim, machine, say, short, text_table, write_markdown

import flowsim
from flowsim.errors import UsageError
from flowsim.evaluate.kkt import Limit, find

#: Sort -> keys of [model].
SORTS: dict[str, dict[str, Any]] = {
    "relu": {"activation": "relu"},
    "leaky": {"activation": "leaky_relu", "slope": 0.5},
    "bias": {"activation": "relu", "bias": True},
    "fixed": {"activation": "relu", "output": "fixed", "output_weight": 0.5},
    "prelu": {"activation": "prelu", "degree": 3},
    "prelu fixed": {"activation": "prelu", "degree": 3, "output": "fixed", "output_weight": 0.5},
    "power": {"activation": "relu_power", "degree": 2},
    "power fixed": {"activation": "relu_power", "degree": 2, "output": "fixed", "output_weight": 0.5},
}
#: A flow that has not separated its samples after so many steps is not asked for its limit.
STEPS = 20_000
#: Points at which limits of the same flow are compared, and what they may differ by.
POINTS, SAME = 50, 1e-6
#: What part of the limits are to be the flow's own.
WANTED = 0.95
LIBRARIES = ("flowsim", "numpy", "scipy", "piqp")
QUANTITIES = ("residual", "compared", "margin", "multipliers", "function", "seconds")
COLUMNS = ("sort", "problems", "limits", "own", "isolated", *QUANTITIES)


def scenario(sort: str, seed: int, goal: float, wall_time: float | None = None) -> flowsim.Scenario:
    """A random problem: at most 40 samples and 20 neurons, logistic or exponential loss. wall_time: seconds that its flow
    may take."""
    rng = np.random.default_rng([seed, list(SORTS).index(sort)])
    clusters, balanced = int(rng.integers(1, 4)), bool(rng.integers(2))
    each = max(int(rng.integers(8, 41)) // (2 * clusters), 1)
    init = {"scale": float(rng.choice([1e-3, 0.1, 0.5]))}
    return flowsim.Scenario(
        {
            "seed": seed,
            "data": {
                "dimension": int(rng.integers(3, 13)),
                "positive": clusters,
                "negative": clusters,
                "samples": 2 * clusters * each,
                "centers": "random_sphere",
                "noise": {"total": float(rng.choice([0.3, 0.7, 1.2]))},
            },
            "model": {"width": int(rng.integers(4, 21)), **SORTS[sort]},
            "init": init if SORTS[sort].get("output") == "fixed" else {**init, "balanced": balanced},
            "loss": {"kind": str(rng.choice(["logistic", "exponential"]))},
            "flow": {"until": {"log10_loss": goal, "steps": STEPS}, **({"wall_time": wall_time} if wall_time else {})},
            "observe": {"times": 20, "spacing": "log"},
        }
    )


@dataclass
class Found:
    """What was found of one sort: problems that separated; limits that were looked for, from all losses of their flows;
    those that are the flow's own, and are isolated; pairs that were compared; the worst of each quantity; and reasons of
    the rest."""

    problems: int = 0
    limits: int = 0
    own: int = 0
    isolated: int = 0
    compared: int = 0
    residual: float = 0.0
    apart: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    seconds: float = 0.0
    reasons: list[str] = field(default_factory=list)

    def row(self, sort: str) -> tuple[str, ...]:
        counts = (str(count) for count in (self.problems, self.limits, self.own, self.isolated))
        numbers = (short(value) for value in self.apart)
        return sort, *counts, short(self.residual), str(self.compared), *numbers, f"{self.seconds:.1f}"

    def wrong(self, reason: str) -> None:
        self.reasons.append(reason)
        say(reason)


def limits(sort: str, seed: int, goals: list[float], wall_time: float, found: Found) -> Iterator[Limit]:
    """The limits of a flow, from each of the losses that it gets to."""
    for goal in goals:
        tree = flowsim.run(scenario(sort, seed, goal, wall_time))
        if float(tree["log10_loss"][-1]) > 0.99 * goal:
            if goal != goals[0]:
                found.wrong(f"{sort} {seed}: its flow does not get to {goal:g}: {tree.attrs['status']}")
            return
        case, begun = flowsim.reopen(tree), time.process_time()
        found.problems += goal == goals[0]
        found.limits += 1
        try:
            limit = find(case.setting, case.weights[-1], wall_time)
        except UsageError as error:
            found.wrong(f"{sort} {seed} from {goal:g}: {error}")
            continue
        finally:
            found.seconds = max(found.seconds, time.process_time() - begun)
        if not limit.own:
            found.wrong(f"{sort} {seed} from {goal:g}: {limit.followed.reason}")
            continue
        found.own += 1
        found.isolated += limit.point.freedom == 0
        found.residual = max(found.residual, limit.residual)
        yield limit


def apart(one: Limit, other: Limit) -> list[float]:
    """Between two limits: relative difference of normalised margins; of multipliers, of sum 1; and of the networks'
    values at random points, relative to the largest."""
    values = []
    for limit in (one, other):
        points = np.random.default_rng(0).normal(size=(POINTS, limit.network.hidden.shape[1]))
        norm = np.linalg.norm(limit.network.hidden, axis=1)
        unit = limit.network.hidden / np.where(norm > 0, norm, 1.0)[:, None]
        activation, multiplier = limit.setting.problem.activation, limit.point.multiplier
        response, _ = activation.response(unit @ points.T, 0.0, np)
        strength = limit.network.output * norm**activation.homogeneity
        values.append((limit.margin, multiplier / multiplier.sum(), strength @ response))
    (margin, weight, value), (margin_2, weight_2, value_2) = values
    return [
        abs(margin_2 / margin - 1),
        float(np.abs(weight - weight_2).max()),
        float(np.abs(value - value_2).max() / np.abs(value).max()),
    ]


def measured(sort: str, count: int, followed: int, goals: list[float], wall_time: float) -> Found:
    """Problems with seeds 0, 1, ... until so many have separated their samples; the first few from all of the losses."""
    found, seed = Found(), 0
    while found.problems < count:
        chosen = goals if found.problems < followed else goals[:1]
        first, *others = [*limits(sort, seed, chosen, wall_time, found)] or [None]
        for other in others:
            assert first is not None
            distance = apart(first, other)
            found.compared += 1
            found.apart = [max(pair) for pair in zip(found.apart, distance, strict=True)]
            if max(distance) > SAME:
                found.wrong(f"{sort} {seed}: two limits of its flow differ by {', '.join(map(short, distance))}")
        seed += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=50, help="of each sort, that separate their samples")
    parser.add_argument("--followed", type=int, default=10, help="of these, to all of the losses")
    parser.add_argument("--sorts", nargs="+", choices=list(SORTS), default=list(SORTS))
    parser.add_argument("--goals", nargs="+", type=float, default=[-1e3, -3e4, -1e6], help="log10 losses")
    parser.add_argument("--wall-time", type=float, default=60.0, help="seconds that a flow may take, and a search")
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    for line in machine(LIBRARIES):
        say(line)
    rows, reasons, holds = [], list[str](), True
    for sort in asked.sorts:
        found = measured(sort, asked.problems, asked.followed, asked.goals, asked.wall_time)
        rows.append(found.row(sort))
        reasons += found.reasons
        holds &= found.own >= WANTED * found.limits and max(found.apart) <= SAME
        say("  ".join(rows[-1]))
    for line in (*text_table(COLUMNS, rows), *reasons):
        say(line)
    say(claim(f"{WANTED:.0%} are the flow's own, and from each loss the same to {SAME:g}", holds))
    if asked.markdown:
        write_markdown(asked.markdown, COLUMNS, rows)


if __name__ == "__main__":
    main()
