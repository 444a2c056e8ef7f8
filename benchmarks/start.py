"""What a short run costs before it computes anything: `flowsim run` of the quickstart on both engines, cold and warm.

    python benchmarks/start.py [--rounds 7]

Seconds beyond the start of a bare Python, which is measured in the same run; of warm ones the fastest counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tables import machine, say, text_table

QUICKSTART = Path(__file__).parents[1] / "scenarios" / "quickstart.toml"
ENGINES = ("numba", "diffrax")
LIBRARIES = ("flowsim", "numba", "jax", "diffrax")
COLUMNS = ("quickstart on", "first run ever, s", "warm run, s", "ratio")


def main() -> None:
    parser = argparse.ArgumentParser(description="what a short run costs before it computes anything")
    parser.add_argument("--rounds", type=int, default=7, help="warm runs of each engine (default: 7)")
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder:
        output = Path(folder, "run.nc")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder, "cache"))}

        def run(engine: str) -> float:
            arguments = ["-m", "flowsim", "run", str(QUICKSTART), "-o", str(output), "--overwrite"]
            return seconds([*arguments, "--set", f"flow.engine={engine}"], environment)

        say("first runs")
        first = {engine: run(engine) for engine in ENGINES}
        warm: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        bare = []
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            bare.append(seconds(["-c", ""], environment))
            for engine in ENGINES:
                warm[engine].append(run(engine))
    start = min(bare)
    best = {engine: min(times) - start for engine, times in warm.items()}
    rows = [
        (engine, f"{first[engine] - start:.2f}", f"{best[engine]:.2f}", f"{best[engine] / best[ENGINES[0]]:.2f}")
        for engine in ENGINES
    ]
    print(*machine(LIBRARIES), f"a bare Python starts in {start:.3f} s", "", *text_table(COLUMNS, rows), sep="\n")


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Wall seconds of a Python process."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
