"""What a command answers, and what that takes: in this process, or in others, which may crash."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from flowsim.cli import main
from flowsim.markup import UNSEEN

#: Processor seconds after which a command hangs.
PATIENCE = 30
#: Seconds by the clock after which a command waits for something that never comes.
LONGEST = 180
#: What the system counts memory in.
KIBIBYTE = 1024 if sys.platform == "linux" else 1
#: Address space of a process that reads what is torn.
ROOM = 4 * 2**30
#: Bounds under which everything that is not refused ends soon.
BOUNDS = "memory=256MiB,kept=64MiB,disk=256MiB,seconds=60,arrays=20,points=50"


@dataclass(frozen=True)
class Took:
    """What a command took: processor seconds; bytes that its process had taken at most when it ended."""

    words: tuple[str, ...]
    seconds: float
    peak: int


#: Of every command that was answered in this process, and in those that it started to answer some.
TALLY: list[Took] = []


class Hangs(BaseException):
    """Nothing in flowsim catches it."""


@dataclass(frozen=True)
class Answer:
    """What a command has said."""

    code: int
    out: str
    err: str

    def is_clean(self) -> bool:
        """Whether it is a true answer: a known exit code, sentences, nothing that a terminal would obey."""
        return (
            self.code in (0, 2, 3, 4)
            and "Traceback" not in self.err
            and not UNSEEN.search(self.out + self.err)
            and (self.code != 2 or bool(self.err.strip()))
        )


@contextmanager
def watched() -> Iterator[None]:
    """Raise Hangs after PATIENCE, and after LONGEST."""

    def end(*_: object) -> None:
        raise Hangs

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, PATIENCE),
        (signal.SIGALRM, signal.ITIMER_REAL, LONGEST),
    )
    before = [signal.signal(number, end) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def answer(*words: str) -> Answer:
    """Of a command, in this process, in which the points of a sweep are run, too."""
    out, err = io.StringIO(), io.StringIO()
    begun = time.process_time()
    with redirect_stdout(out), redirect_stderr(err), alone() if words[0] == "sweep" else nullcontext(), watched():
        try:
            code = main(words)
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        finally:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE
            TALLY.append(Took(words, time.process_time() - begun, peak))
    return Answer(code, out.getvalue(), err.getvalue())


class Here:
    """A client of Dask's that has no workers: what is submitted has run."""

    status = "running"

    def submit(self, function: Any, *given: Any, **_: Any) -> Ran:
        return Ran(function(*given))

    def nthreads(self) -> dict[str, int]:
        return {"here": 1}


class Ran:
    """A future of Dask's that has come."""

    status = "finished"

    def __init__(self, found: Any):
        self.result = lambda: found

    def add_done_callback(self, call: Any) -> None:
        call(self)

    def release(self) -> None:
        pass


@contextmanager
def alone() -> Iterator[None]:
    """Sweeps run in this process, and start no cluster."""
    with patch("flowsim.sweep.run.cluster", lambda workers, scheduler: nullcontext((Here(), "nowhere"))):
        yield


def apart(cases: list[tuple[str, ...]], folder: Path) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with the answers to these commands, in processes of their own, which may crash: (command, why)."""
    wrong, begin = [], 0
    while begin < len(cases):
        (folder / "told.jsonl").unlink(missing_ok=True)
        (folder / "cases.json").write_text(json.dumps(cases[begin:]), encoding="utf-8")
        child = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, "cases.json"], cwd=folder, capture_output=True, text=True
        )
        told = [json.loads(line) for line in (folder / "told.jsonl").read_text(encoding="utf-8").splitlines()]
        TALLY.extend(Took(tuple(words), seconds, peak) for words, seconds, peak, _ in told)
        wrong += [(tuple(words), why) for words, _, _, why in told if why]
        begin += len(told)
        if child.returncode and begin < len(cases):
            wrong.append((cases[begin], f"exit code {child.returncode}: {child.stderr[-500:]}"))
            begin += 1
    return wrong


def answers(cases: list[list[str]], out: Path) -> None:
    """Answer each of these commands, and write a line about it before the next one."""
    with out.open("w", encoding="utf-8") as told:
        for words in cases:
            try:
                found = answer(*words)
                why = "" if found.is_clean() else str(found)
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"
            told.write(json.dumps([words, TALLY[-1].seconds, TALLY[-1].peak, why]) + "\n")
            told.flush()


if __name__ == "__main__":
    os.environ["FLOWSIM_LIMITS"] = BOUNDS
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    answers(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path("told.jsonl"))
