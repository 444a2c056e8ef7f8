"""What a run costs before it computes anything: first runs ever, with an empty cache, and the same runs again.

    python benchmarks/start.py [--rounds 3]

Processor seconds of whole processes beyond those of a bare Python, which is measured in the same run; of warm runs the
least counts. The ensemble's cache has what a single run of its scenario has left there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tables import claim, machine, say, text_table

SCENARIOS = Path(__file__).parents[1] / "scenarios"
LIBRARIES = ("flowsim", "numba", "jax", "diffrax")
COLUMNS = ("run", "first run ever, s", "warm run, s", "ratio")


class Case(NamedTuple):
    """after: the case whose cache it begins with, "" for an empty one."""

    scenario: str
    settings: tuple[str, ...]
    after: str = ""


SLIDING = ('model.activation="relu"', "model.degree=1", "flow.until.time=20.0")
CASES = {
    "quickstart, diffrax": Case("quickstart", ("flow.engine=diffrax",)),
    "quickstart, numba": Case("quickstart", ("flow.engine=numba",)),
    "ensemble": Case("quickstart", ("flow.engine=numba", "seed=[0, 1]"), "quickstart, numba"),
    "ReLU, sliding": Case("quickstart", SLIDING),
    "loss clock": Case("limits/prelu_mixture", ("flow.until={ log10_loss = -10.0 }",)),
    "loss clock, sliding": Case("limits/relu_clusters", ("flow.until={ log10_loss = -10.0 }",)),
}
#: Of first runs: times the quickstart on diffrax; seconds; seconds beyond a single run.
MOST_TIMES, MOST_SECONDS, MOST_MORE = 2.5, 40.0, 15.0


def main() -> int:
    parser = argparse.ArgumentParser(description="what a run costs before it computes anything")
    parser.add_argument("--rounds", type=int, default=3, help="warm runs of each case (default: 3)")
    rounds = parser.parse_args().rounds
    first: dict[str, float] = {}
    warm: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        bare = min(seconds(["-c", ""], dict(os.environ)) for _ in range(rounds))
        for number, (name, case) in enumerate(CASES.items()):
            say(name)
            cache = Path(folder, str(list(CASES).index(case.after) if case.after else number))
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
            sets = [part for setting in case.settings for part in ("--set", setting)]
            output = ["-o", str(Path(folder, "run.nc")), "--overwrite"]
            command = ["-m", "flowsim", "run", str(SCENARIOS / f"{case.scenario}.toml"), *output, *sets]
            first[name] = seconds(command, environment) - bare
            warm[name] = min(seconds(command, environment) for _ in range(rounds)) - bare
    rows = [(name, f"{first[name]:.2f}", f"{warm[name]:.2f}", f"{first[name] / warm[name]:.2f}") for name in CASES]
    print(*machine(LIBRARIES), f"a bare Python takes {bare:.3f} s", "", *text_table(COLUMNS, rows), sep="\n")
    times = first["quickstart, numba"] / first["quickstart, diffrax"]
    more = first["ensemble"] - warm["ensemble"]
    slowest = max(first[name] for name in ("ReLU, sliding", "loss clock", "loss clock, sliding"))
    claims = [
        (f"the first quickstart costs {times:.2f} times what it costs on diffrax", times <= MOST_TIMES),
        (f"the first ensemble after a single run compiles for {more:.1f} s", more <= MOST_MORE),
        (f"first runs with sliding and on the loss clock cost {slowest:.1f} s at most", slowest <= MOST_SECONDS),
    ]
    print(*(claim(words, holds) for words, holds in claims), sep="\n")
    return 0 if all(holds for _, holds in claims) else 1


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
