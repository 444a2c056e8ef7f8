"""What a run costs before it computes anything: first runs ever, with an empty cache, and the same runs again.

    python benchmarks/start.py [--rounds 3]

Processor seconds of whole processes beyond those of a bare Python, which is measured in the same run; of warm runs the
median counts. Integration: the least of the wall seconds that warm results give for it. The ensemble's cache has what a
single run of its scenario has left there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tables import claim, machine, say, text_table

import flowsim

SCENARIOS = Path(__file__).parents[1] / "scenarios"
LIBRARIES = ("flowsim", "numba", "jax", "diffrax")
COLUMNS = ("run", "first run ever, s", "warm run, s", "ratio", "integration, s")


class Case(NamedTuple):
    """after: the case whose cache it begins with, "" for an empty one."""

    scenario: str
    settings: tuple[str, ...]
    after: str = ""


SLIDING = ("model.activation=relu", "flow.until.time=20.0")
FAR = ("flow.engine=numba", "flow.until={ log10_loss = -10.0 }")
CASES = {
    "quickstart, diffrax": Case("quickstart", ("flow.engine=diffrax",)),
    "quickstart, numba": Case("quickstart", ("flow.engine=numba",)),
    "ensemble": Case("quickstart", ("flow.engine=numba", "seed=[0, 1]"), "quickstart, numba"),
    "ReLU, sliding": Case("quickstart", SLIDING),
    "loss clock": Case("limits/prelu_mixture", FAR),
    "loss clock, sliding": Case("limits/relu_clusters", FAR),
}
#: Of first runs: times the quickstart on diffrax; seconds; seconds beyond a single run.
MOST_TIMES, MOST_SECONDS, MOST_MORE = 2.5, 40.0, 15.0
#: Of the quickstart, warm.
MOST_WARM = 2.0


class Cost(NamedTuple):
    """processor: seconds of the whole process, beyond a bare Python; integration: wall seconds."""

    processor: float
    integration: float


def main() -> int:
    parser = argparse.ArgumentParser(description="what a run costs before it computes anything")
    parser.add_argument("--rounds", type=int, default=5, help="warm runs of each case (default: 5)")
    rounds = parser.parse_args().rounds
    first: dict[str, Cost] = {}
    warm: dict[str, list[Cost]] = {name: [] for name in CASES}
    with TemporaryDirectory() as folder:
        bare = median(seconds(["-c", ""], dict(os.environ)) for _ in range(rounds))
        for name in CASES:
            say(f"first run: {name}")
            first[name] = cost(name, Path(folder), bare)
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            for name, costs in warm.items():
                costs.append(cost(name, Path(folder), bare))
    usual = {name: median(one.processor for one in costs) for name, costs in warm.items()}
    rows = [
        (
            name,
            f"{first[name].processor:.2f}",
            f"{usual[name]:.2f}",
            f"{first[name].processor / usual[name]:.2f}",
            f"{min(one.integration for one in warm[name]):.2f}",
        )
        for name in CASES
    ]
    print(*machine(LIBRARIES), f"a bare Python takes {bare:.3f} s", "", *text_table(COLUMNS, rows), sep="\n")
    times = first["quickstart, numba"].processor / first["quickstart, diffrax"].processor
    more = first["ensemble"].processor - usual["ensemble"]
    slowest = max(first[name].processor for name in ("ReLU, sliding", "loss clock", "loss clock, sliding"))
    quick = usual["quickstart, numba"] + bare
    claims = [
        (f"the first quickstart costs {times:.2f} times what it costs on diffrax", times <= MOST_TIMES),
        (f"the first ensemble after a single run compiles for {more:.1f} s", more <= MOST_MORE),
        (f"the quickstart costs {quick:.2f} s warm, with Python's own start", quick <= MOST_WARM),
        (f"first runs with sliding and on the loss clock cost {slowest:.1f} s at most", slowest <= MOST_SECONDS),
    ]
    print(*(claim(words, holds) for words, holds in claims), sep="\n")
    return 0 if all(holds for _, holds in claims) else 1


def cost(name: str, folder: Path, bare: float) -> Cost:
    """Of a case, with what earlier runs have left in its cache."""
    case, output = CASES[name], folder / "run.nc"
    environment = {**os.environ, "FLOWSIM_CACHE": str(folder / (case.after or name))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode
    sets = [part for setting in case.settings for part in ("--set", setting)]
    command = [
        "-m",
        "flowsim",
        "run",
        str(SCENARIOS / f"{case.scenario}.toml"),
        "-o",
        str(output),
        "--overwrite",
        *sets,
    ]
    processor = seconds(command, environment) - bare
    with flowsim.open(output) as tree:
        return Cost(processor, float(tree.attrs["wall_time"]))


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Processor seconds of a Python process."""
    begun = _children()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
    return _children() - begun


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
