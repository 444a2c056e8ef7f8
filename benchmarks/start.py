"""What a short run costs before it computes anything: `flowsim run` of the quickstart on both engines, cold and warm.

    python benchmarks/start.py [--rounds 7]

Wall seconds beyond the start of a bare Python, which is measured in the same run; of warm ones the fastest counts.
Processor seconds: the median of warm runs, from the start of Python to its end. Integration: the wall seconds that results
give for the flow, the least of warm runs; they are part of the others.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tables import machine, say, text_table

import flowsim

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.toml"
ENGINES = ("numba", "diffrax")
LIBRARIES = ("flowsim", "numba", "jax", "diffrax")
COLUMNS = ("quickstart on", "first run ever, s", "warm run, s", "ratio", "processor, s", "integration, s")


class Cost(NamedTuple):
    """Seconds of a run. integration: wall seconds."""

    wall: float
    processor: float
    integration: float


def main() -> None:
    parser = argparse.ArgumentParser(description="what a short run costs before it computes anything")
    parser.add_argument("--rounds", type=int, default=7, help="warm runs of each engine (default: 7)")
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder:
        output = Path(folder, "run.nc")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder, "cache"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode

        def run(engine: str) -> Cost:
            arguments = ["-m", "flowsim", "run", str(QUICKSTART), "-o", str(output), "--overwrite"]
            wall, processor = seconds([*arguments, "--set", f"flow.engine={engine}"], environment)
            with flowsim.open(output) as tree:
                return Cost(wall, processor, float(tree.attrs["wall_time"]))

        say("first runs")
        first = {engine: run(engine).wall for engine in ENGINES}
        warm: dict[str, list[Cost]] = {engine: [] for engine in ENGINES}
        bare = []
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            bare.append(seconds(["-c", ""], environment)[0])
            for engine in ENGINES:
                warm[engine].append(run(engine))
    start = min(bare)
    best = {engine: min(cost.wall for cost in costs) - start for engine, costs in warm.items()}
    rows = [
        (
            engine,
            f"{first[engine] - start:.2f}",
            f"{best[engine]:.2f}",
            f"{best[engine] / best[ENGINES[0]]:.2f}",
            f"{median(cost.processor for cost in warm[engine]):.2f}",
            f"{min(cost.integration for cost in warm[engine]):.2f}",
        )
        for engine in ENGINES
    ]
    print(*machine(LIBRARIES), f"a bare Python starts in {start:.3f} s", "", *text_table(COLUMNS, rows), sep="\n")


def seconds(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """(wall, processor) seconds of a Python process, user's and system's."""
    begun, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    wall, after = time.perf_counter() - begun, os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return wall, user + system


if __name__ == "__main__":
    main()
