"""Jobs that are killed without warning at random instants, in writes too, and taken up again: `python kills.py [JOB …]`.

Each kill is that of a process of its own, forked from one that has everything loaded, or of a worker that it has started.
Says what was found wrong, and ends with 1 where anything was.
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
from threading import Thread

import psutil
from jobs import Job, Run, Shown, Sweep, Warm

from flowsim import durable
from flowsim.solve import advance

FLOW = {"until": {"time": 60.0}}
EVALUATE = {
    "claims": ["min_vidal_2025.assumption_2"],
    "distance": {"to": "ideal"},
    "robustness": {"radii": [0.1, 0.3], "attacks": ["pgd"], "samples": 200},
}
RUNS = {
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
#: The others, of a result and in a place.
OTHERS: dict[str, Callable[[Path, str], Job]] = {
    "sweep": lambda place, result: Sweep(place),
    "report": lambda place, result: Shown(place, "page.html", "report", result),
    "plot": lambda place, result: Shown(place, "loss.png", "plot", result, "loss"),
    "embed": lambda place, result: Shown(place, "features.npz", "embed", result, "--layer", "hidden"),
    "warm": lambda place, result: Warm(place),
}
#: A kill comes in a write, rather than at any instant, about so often.
IN_WRITES = 0.5
#: Seconds after the beginning of a write, at most, at which such a kill comes.
WRITING = 0.03
#: One of so many kills is that of a worker, where there are any.
OF_WORKERS = 4
#: Steps between two writes of a run that is to be killed, at most.
FEW = 5
#: Seconds in which workers notice that they work for nobody.
PATIENCE = 60.0


def forked(work: Callable[[], int]) -> int:
    """The exit code of a process that does this work, or minus the signal that has ended it. Ends with all that it has
    started; raises TimeoutError where something stays."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = work()
        finally:
            os._exit(code)
    code, end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), time.monotonic() + PATIENCE
    while staying := [process for process in psutil.process_iter() if is_of(process, child)]:
        if time.monotonic() > end:
            raise TimeoutError(f"its processes stay: {staying}")
        time.sleep(0.05)
    return code


def is_of(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, ProcessLookupError):
        return False


def killed_after(seconds: float) -> None:
    """Kill this process then: no handler of Python's comes in between. Until then it may write often."""
    advance.MOST_ATTEMPTS = FEW
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))


def killed_in_a_write(number: int, seconds: float) -> None:
    """Kill this process so long after its write of this number has begun."""
    advance.MOST_ATTEMPTS = FEW
    writes, ask_for = iter(range(number + 1)), durable._ask_for

    def counted(file: Path, room: int) -> None:
        if next(writes, None) == number:
            killed_after(seconds)
        ask_for(file, room)

    durable._ask_for = counted


def without_a_worker(seconds: float) -> None:
    """Kill one of the processes that this one has started then, if there are any."""

    def kill() -> None:
        time.sleep(seconds)
        workers = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
        for worker in workers[:1]:
            worker.kill()

    Thread(target=kill, daemon=True).start()


def disturbed(job: Job, chance: random.Random, seconds: float) -> bool:
    """Have a job that takes so long killed, or one of its workers; whether that came before its end.

    Raises RuntimeError where it fails otherwise."""
    number, writing, after = chance.choice((0, 0, 1, 2, 5, 9)), chance.uniform(0, WRITING), chance.uniform(0, seconds)
    in_a_write, of_a_worker = chance.random() < IN_WRITES, job.has_workers and chance.randrange(OF_WORKERS) == 0

    def work() -> int:
        if of_a_worker:
            without_a_worker(after)
        elif in_a_write and job.writes:
            killed_in_a_write(number, writing)
        else:
            killed_after(after)
        return job.go_on()

    code = forked(work)
    if code not in (0, -signal.SIGALRM):
        raise RuntimeError(f"ends with {code}")
    return of_a_worker or code != 0


def killed_again_and_again(job: Job, whole: Job, kills: int, chance: random.Random) -> Iterator[str]:
    """What is wrong about jobs that have been killed so often in all. whole: one that is not."""
    for _ in range(2):  # the first time something may be compiled
        whole.clear()
        begun = time.monotonic()
        if forked(whole.go_on) != 0 or not whole.complete():
            yield "is not done at all"
            return
        seconds = time.monotonic() - begun
    while kills > 0:
        for _ in range(min(kills, chance.choice((1, 1, 2, 3)))):
            kills -= disturbed(job, chance, seconds)
            yield from job.wrong()
            if job.complete():
                break
        if not job.complete() and forked(job.go_on) != 0:
            yield "cannot be resumed"
            return
        yield from job.differences(whole.output)
        if left := job.left():
            yield f"leaves {left}"
        job.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*RUNS, *OTHERS]
    parser.add_argument("jobs", nargs="*", metavar="JOB", default=names, help=f"of {', '.join(names)}; all of them")
    parser.add_argument("--kills", type=int, default=8, help="of each job (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import flowsim.run.simulate
    import flowsim.solve.numba  # noqa: F401

    found = 0
    with TemporaryDirectory() as folder:
        shown = Run(Path(folder) / "shown", {"evaluate": EVALUATE})
        if {*options.jobs} & {*OTHERS} and forked(shown.go_on) != 0:
            return 1
        for name in options.jobs:
            job, whole = (made(name, Path(folder) / place, str(shown.output)) for place in ("now", "whole"))
            for wrong in killed_again_and_again(job, whole, options.kills, random.Random(options.seed)):
                print(f"{name}: {wrong}", flush=True)
                found += 1
            print(f"{name}: {options.kills} kills", flush=True)
    return 1 if found else 0


def made(name: str, place: Path, result: str) -> Job:
    """result: a file to show."""
    return OTHERS[name](place, result) if name in OTHERS else Run(place, RUNS[name])


if __name__ == "__main__":
    sys.exit(main())
