"""How well a sweep uses the cores: 200 small points on 2 workers.

In flight: the share of the workers' time, from their start to the last point, in which they ran points; finish: wall time
over (wall time of all points / workers). Both suffer where other programs have the cores. What does not is processor time:
that of the points, of the workers (with import, files, Dask) and of the command itself (scheduler, manifest).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import psutil

import flowsim
from flowsim.sweep import sweep
from flowsim.sweep.store import lines

POINTS = """
[data]
dimension = 100
samples = 400
[model]
width = 40
[init]
scale = 1e-5
[flow]
until = { time = 200.0 }
[sweep.grid]
"data.noise.total" = { from = 0.05, to = 0.3, count = %d }
seed = { from = 0, to = 9, count = 10 }
"""


class Clock:
    """From when there are workers to when the last point has ended."""

    def __init__(self) -> None:
        self.begun = self.ended = 0.0
        self._first = self.workers = self.command = 0.0

    def begin(self, dashboard: str) -> None:
        self.begun, self._first = time.monotonic(), time.process_time()

    def show(self, done: int, failed: int, running: int, points: int) -> None:
        self.ended, self.command = time.monotonic(), time.process_time() - self._first
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        self.workers = max(sum(time.user + time.system for time in times), self.workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--points", type=int, default=200)
    options = parser.parse_args()
    flowsim.run(flowsim.loads(POINTS % 2, overrides={"flow.until.time": 1.0}))  # compiles, where nothing is compiled
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        scenario = flowsim.loads(POINTS % (options.points // 10))
        result = sweep(scenario, Path(folder) / "out", workers=options.workers, watch=clock)
        records = [line.record for line in lines(result.folder)]
    wall = clock.ended - clock.begun
    work, processor = sum(record.seconds for record in records), sum(record.cpu_seconds for record in records)
    print(f"{result.done} of {result.points} points on {options.workers} workers; load {os.getloadavg()[0]:.1f}")
    print(
        f"wall time {wall:.1f} s, of the points {work:.1f} s: in flight {work / (options.workers * wall):.2f} of the time,"
    )
    print(f"  finish {wall / (work / options.workers):.2f} x (work / workers)")
    print(f"processor time of the points {processor:.1f} s")
    print(
        f"  of the workers {clock.workers / processor:.2f} x that, of the command {clock.command / processor:.2f} x that"
    )


if __name__ == "__main__":
    main()
