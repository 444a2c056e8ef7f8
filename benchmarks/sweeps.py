"""How well a sweep uses the cores: 200 small points on 2 workers.

The work is what a plain loop of flowsim.run takes for these points, reckoned from some of them that are spread evenly.
In use: the workers' processor time over that of their cores, from when there are workers to the last point; in flight:
the share of this time in which they ran points, without the files of results; finish: wall time over (work / workers),
from then on, and with the start of the workers and the dataset at the end. All of these suffer where other programs have
the cores. What does so less is processor time, of the points, of the workers (with import, files, Dask) and of the command
itself (scheduler, manifest), over that of the loop.
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
from flowsim.threads import one_core

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
"""
GRID = """
[sweep.grid]
"data.noise.total" = { from = 0.05, to = 0.3, count = %d }
seed = { from = 0, to = 9, count = 10 }
"""
#: One point of so many is run in the plain loop.
SAMPLED = 10
#: Wall seconds between two looks at the workers, which take processor time themselves.
LOOK_SECONDS = 0.5


class Clock:
    """From when there are workers to when the last point has ended."""

    def __init__(self) -> None:
        self.begun = self.ended = 0.0
        self.started = self.workers = self.own = 0.0

    def begin(self, dashboard: str) -> None:
        self.begun = time.monotonic()
        self.started = self._of_workers()

    def show(self, done: int, failed: int, running: int, points: int) -> None:
        now = time.monotonic()
        if now - self.ended < LOOK_SECONDS and done < points:
            return
        self.ended = now
        begun = time.thread_time()
        self.workers = max(self._of_workers(), self.workers)
        self.own += time.thread_time() - begun

    @staticmethod
    def _of_workers() -> float:
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        return sum(spent.user + spent.system for spent in times)


def loop(points: int) -> tuple[float, float]:
    """Wall time and processor time of so many points, one after the other on one core."""
    noises = points // SAMPLED
    with one_core():
        wall, processor = time.monotonic(), time.process_time()
        for index in range(noises):
            noise = 0.05 + 0.25 * index / max(noises - 1, 1)
            flowsim.run(flowsim.loads(POINTS, overrides={"data.noise.total": noise, "seed": index % SAMPLED}))
    return SAMPLED * (time.monotonic() - wall), SAMPLED * (time.process_time() - processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--points", type=int, default=200)
    options = parser.parse_args()
    flowsim.run(flowsim.loads(POINTS, overrides={"flow.until.time": 1.0}))  # compiles, where nothing is compiled
    flowsim.run_ensemble(flowsim.loads(POINTS, overrides={"flow.until.time": 1.0}), [0, 1])
    work, processor = loop(options.points)
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        scenario = flowsim.loads((POINTS + GRID) % (options.points // 10))
        first, own = time.monotonic(), time.process_time()
        result = sweep(scenario, Path(folder) / "out", workers=options.workers, watch=clock)
        whole, own = time.monotonic() - first, time.process_time() - own - clock.own
        records = [line.record for line in lines(result.folder)]
    wall = clock.ended - clock.begun
    points, of_points = sum(record.seconds for record in records), sum(record.cpu_seconds for record in records)
    print(f"{result.done} of {result.points} points on {options.workers} workers; load {os.getloadavg()[0]:.1f}")
    print(f"wall time {wall:.1f} s, {whole:.1f} s with start and dataset; a plain loop {work:.1f} s")
    cores = options.workers * wall
    print(
        f"  cores in use {(clock.workers - clock.started) / cores:.2f} of the time, points in flight {points / cores:.2f}"
    )
    print(f"  finish {wall / work * options.workers:.2f} x (work / workers), {whole / work * options.workers:.2f} x")
    print("  with start and dataset")
    print(f"processor time of the plain loop {processor:.1f} s; of the points {of_points / processor:.2f} x that,")
    print(f"  of the workers {clock.workers / processor:.2f} x, of the command {own / processor:.2f} x")


if __name__ == "__main__":
    main()
