"""Runs that are killed without warning at random instants, in writes too, and taken up again: `python kills.py KIND… `.

Each kill is that of a process of its own, forked from one that has everything loaded. Says what was found wrong, and ends
with 1 where anything was.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr

import flowsim
from flowsim import durable
from flowsim.solve import course

SCENARIO = """
[data]
dimension = 16
samples = 40
positive = 2
negative = 2
noise = { total = 0.3 }
[model]
width = 8
[init]
scale = 1e-3
[flow]
engine = "numba"
until = { time = 60.0 }
[observe]
times = 41
snapshots = 5
"""
FLOW = {"until": {"time": 60.0}}
EVALUATE = {
    "claims": ["min_vidal_2025.assumption_2"],
    "distance": {"to": "ideal"},
    "robustness": {"radii": [0.1, 0.3], "attacks": ["pgd"], "samples": 200},
}
KINDS = {
    "flow": {},
    "sliding": {"model.activation": "relu", "observe.spacing": "solver"},
    "loss clock": {"loss.kind": "exponential", "flow.until": {"loss": 1e-30}},
    "descent": {"flow.method": "sgd", "flow.step": 0.05, "flow.batch": 7},
    "stages": {
        "flow": None,
        "stage": [{"name": "a", **FLOW}, {"name": "b", "attack": {"kind": "fgm", "radius": 0.05}, **FLOW}],
    },
    "ensemble": {"seed": [0, 1, 2, 3]},
    "evaluated": {"evaluate": EVALUATE},
    "diffrax": {"flow.engine": "diffrax"},
    "optax": {
        "model": {"kind": "mlp", "activation": "tanh", "widths": [6]},
        "init.scale": 0.5,
        "flow": {"method": "adam", "step": 0.01, "until": {"time": 3.0}},
    },
}
#: A kill comes in a write, rather than at any instant, about so often.
IN_WRITES = 0.5
#: Seconds after the beginning of a write, at most, at which such a kill comes.
WRITING = 0.03
#: Steps between two writes of a run that is to be killed, at most.
FEW = 5
#: What is not the same in two runs of one scenario.
OWN = {"wall_time", "compile_time", "created_at", "seconds"}


def forked(work: Callable[[], None]) -> int:
    """The exit status of a process that does this work."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def killed_after(seconds: float) -> None:
    """Kill this process then: no handler of Python's comes in between. Until then it may write often."""
    course.MOST_ATTEMPTS = FEW
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))


def killed_in_a_write(number: int, seconds: float) -> None:
    """Kill this process so long after its write of this number has begun."""
    course.MOST_ATTEMPTS = FEW
    writes, ask_for = iter(range(number + 1)), durable._ask_for

    def counted(file: Path, room: int) -> None:
        if next(writes, None) == number:
            killed_after(seconds)
        ask_for(file, room)

    durable._ask_for = counted


def go_on(scenario: flowsim.Scenario, file: Path, prepare: Callable[[], None] = lambda: None) -> int:
    def work() -> None:
        prepare()
        flowsim.run(scenario, file, resume=file.exists(), checkpoint_every=0.0, warn=lambda message: None)

    return forked(work)


def wrong_status(file: Path) -> Iterator[str]:
    """What a file of a run that was killed says that is not so."""
    if not file.exists():
        return
    with flowsim.open(file) as tree:
        status, complete = tree.attrs["status"], "checkpoint" not in tree.children
        if status not in ("running", "evaluating", "done"):
            yield f"has the status {status}"
        if (status == "done") != complete:
            yield f"has the status {status}, and {'nothing' if complete else 'something'} to go on from"
        if status == "done" and set(scenario_groups(tree)) - set(tree.children):
            yield f"is done without {set(scenario_groups(tree)) - set(tree.children)}"


def scenario_groups(tree: xr.DataTree) -> list[str]:
    from flowsim.evaluate.asked import wanted

    return wanted(flowsim.loads(str(tree.attrs["scenario"])))


def differences(one: Path, other: Path) -> Iterator[str]:
    """Bit by bit."""
    with xr.open_datatree(one) as left, xr.open_datatree(other) as right:
        if set(left.groups) != set(right.groups):
            yield f"groups {set(left.groups) ^ set(right.groups)}"
            return
        for path in left.groups:
            mine, its = left[path].to_dataset(inherit=False), right[path].to_dataset(inherit=False)
            if set(mine.variables) != set(its.variables):
                yield f"{path}: variables {set(mine.variables) ^ set(its.variables)}"
                continue
            for name in mine.variables:
                if not np.array_equal(mine[name], its[name], equal_nan=mine[name].dtype.kind == "f"):
                    yield f"{path}: {name}"
            for name in (set(mine.attrs) | set(its.attrs)) - OWN:
                if not np.array_equal(mine.attrs.get(name), its.attrs.get(name)):
                    yield f"{path}: attribute {name}: {mine.attrs.get(name)} and {its.attrs.get(name)}"


def killed_again_and_again(kind: str, kills: int, chance: random.Random, folder: Path) -> Iterator[str]:
    """What is wrong about runs of a kind that have been killed so often in all."""
    scenario = flowsim.loads(SCENARIO, overrides=KINDS[kind])
    whole, file = folder / "whole.nc", folder / "run.nc"
    begun = time.monotonic()
    if go_on(scenario, whole) != 0:
        yield "is not run at all"
        return
    seconds = time.monotonic() - begun
    while kills > 0:
        for _ in range(min(kills, chance.choice((1, 1, 2, 3)))):
            if chance.random() < IN_WRITES:
                number, after = chance.choice((0, 0, 1, 2, 5, 9)), chance.uniform(0, WRITING)
                go_on(scenario, file, lambda number=number, after=after: killed_in_a_write(number, after))
            else:
                after = chance.uniform(0, seconds)
                go_on(scenario, file, lambda after=after: killed_after(after))
            kills -= 1
            yield from wrong_status(file)
        if not complete(file) and go_on(scenario, file) != 0:
            yield "cannot be resumed"
            return
        yield from differences(file, whole)
        left = sorted(set(os.listdir(folder)) - {"whole.nc", "run.nc"})
        if left and not complete_before_the_kill(left):
            yield f"leaves {left}"
        file.unlink()
        for name in left:
            (folder / name).unlink()


def complete(file: Path) -> bool:
    if not file.exists():
        return False
    with flowsim.open(file) as tree:
        return tree.attrs["status"] == "done"


def complete_before_the_kill(left: list[str]) -> bool:
    """Whether what is left is the lock of a run that was killed after its end: nobody comes who would clear it away."""
    return left == [".run.nc.lock"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "kinds", nargs="*", metavar="KIND", default=[*KINDS], help=f"of {', '.join(KINDS)}; all of them"
    )
    parser.add_argument("--kills", type=int, default=8, help="of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import flowsim.evaluate.asked
    import flowsim.run.simulate
    import flowsim.solve.numba  # noqa: F401

    found = 0
    for kind in options.kinds:
        with TemporaryDirectory() as folder:
            for wrong in killed_again_and_again(kind, options.kills, random.Random(options.seed), Path(folder)):
                print(f"{kind}: {wrong}", flush=True)
                found += 1
        print(f"{kind}: {options.kills} kills", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
