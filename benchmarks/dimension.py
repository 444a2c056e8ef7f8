"""What a run costs over the dimension of its data: all features, or coordinates in the span of all that it knows.

    python benchmarks/dimension.py [--samples 340] [--rounds 3]

Means uniform on the sphere and noise as long as they are (Frei et al. 2023, Example 1), as `frei_vardi_2023/sphere` has
them. Drawing and running: the least processor seconds of some rounds. Evaluations are the same for the same numbers only;
they differ from seed to seed, and between dimensions, in which samples are more or less orthogonal.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from tables import claim, machine, text_table

import flowsim
from flowsim.scenario.shipped import find

CASES = (("features", 10**4), ("span", 10**4), ("span", 10**6), ("span", 10**8), ("span", 10**9))
COLUMNS = ("coordinates, D", "numbers a sample has", "drawing, s", "running, s", "evaluations")
#: Of processor seconds of two runs, of other draws, that should cost the same.
ALIKE = 2.0


def least(rounds: int, do: Callable[[], Any]) -> tuple[float, Any]:
    """(the least processor seconds of some rounds, what the last of them gave)"""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        given = do()
        found.append(time.process_time() - begun)
    return min(found), given


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=340)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    base = flowsim.load(find("frei_vardi_2023/sphere")).replace(
        {"evaluate": {}, "flow.until": {"log10_loss": -1000.0, "steps": 100000}, "data.samples": arguments.samples}
    )
    rows, seconds = [], {}
    for coordinates, dimension in CASES:
        scenario = base.replace({"data.coordinates": coordinates, "data.dimension": dimension})
        drawing, problem = least(arguments.rounds, lambda: flowsim.build(scenario))  # noqa: B023, called at once
        running, tree = least(arguments.rounds, lambda: flowsim.run(scenario, progress=False))  # noqa: B023
        seconds[coordinates, dimension] = drawing + running
        evaluations = int(tree["numerics"]["evaluations"].values[-1])
        numbers = (f"{drawing:.2f}", f"{running:.2f}", str(evaluations))
        rows.append((f"{coordinates}, {dimension:.0e}", str(problem.features), *numbers))
    for line in (*machine(("flowsim", "numpy", "numba")), *text_table(COLUMNS, rows)):
        print(line)
    ratio = seconds["span", 10**8] / seconds["span", 10**4]
    print(claim(f"10^8 dimensions take {ratio:.2f} of the time of 10^4, at most {ALIKE:g}", ratio <= ALIKE))
    return 0 if ratio <= ALIKE else 1


if __name__ == "__main__":
    raise SystemExit(main())
