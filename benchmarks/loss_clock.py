"""What it costs to follow a flow on the loss clock, as the loss falls by powers of powers of ten.

    python benchmarks/loss_clock.py [--quick] [--markdown FILE]

See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import xarray as xr
from tables import claim, machine, text_table, write_markdown

import flowsim
from flowsim.scenario.shipped import find

PROBLEMS = {"pReLU": "limits/prelu_mixture", "ReLU, sliding": "limits/relu_clusters"}
SETTING = {
    "flow": {"clock": "loss", "engine": "numba", "rtol": 1e-4},
    "observe": {"times": 10, "variables": ["log10_loss"]},
    "evaluate": {},
}
BETWEEN = -4e4
GOALS, QUICK_GOALS = (-1e2, -1e3, -1e4, BETWEEN, -1e5, -1e6), (-1e2, -1e3, -1e4)
COLUMNS = ("problem", "log10_loss", "evaluations", "steps", "events", "wall s")
#: What a cost that grows like a square root is multiplied with from one power of ten to the next, with room for chance.
GROWTH, ROOM = 10**0.5, 1.6


def to(name: str, goal: float) -> xr.DataTree:
    return flowsim.run(flowsim.load(find(PROBLEMS[name]), {**SETTING, "flow.until": {"log10_loss": goal}}))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--markdown", type=Path)
    asked = options.parse_args()
    goals, rows, found = QUICK_GOALS if asked.quick else GOALS, [], {}
    to("pReLU", -1.0)  # compiles
    for name in PROBLEMS:
        for goal in goals:
            tree = to(name, goal)
            counts = {key: int(tree[f"numerics/{key}"][-1]) for key in ("evaluations", "steps", "events")}
            found[name, goal] = counts["evaluations"]
            rows.append((name, f"{goal:g}", *map(str, counts.values()), f"{tree.attrs['wall_time']:.2f}"))
    print("\n".join([*machine(("flowsim", "numpy", "numba")), "", *text_table(COLUMNS, rows)]))
    if asked.markdown:
        write_markdown(asked.markdown, COLUMNS, rows)
    first, before, last = [goal for goal in goals if goal != BETWEEN][-3:]
    growth = (found["pReLU", last] - found["pReLU", before]) / (found["pReLU", before] - found["pReLU", first])
    holds = growth < ROOM * GROWTH
    words = f"pReLU: the last power of ten costs {growth:.2f} times the one before; {GROWTH:.2f} is a square root"
    print(claim(words, holds))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
