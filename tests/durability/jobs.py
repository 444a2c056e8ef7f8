"""What the kill tool does again and again until it is complete: runs, sweeps, pages, pictures, features, compiling."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import flowsim
from flowsim.cli import main as command
from flowsim.evaluate.requested import wanted
from flowsim.results import open_point
from flowsim.sweep.collect import request
from flowsim.sweep.plan import plan
from flowsim.sweep.store import lines

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
#: What is not the same in two results of one scenario.
OWN = {"wall_time", "compile_time", "created_at", "seconds", "cpu_seconds"}


class Job(ABC):
    """Something that ends in one file, or folder, of a place of its own."""

    #: Whether it writes by what the tool can listen to.
    writes = True
    has_workers = False

    def __init__(self, place: Path, name: str):
        self.place, self.output = place, place / name
        self.clear()

    def clear(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()

    @abstractmethod
    def go_on(self) -> int:
        """Do what is left; the exit code."""

    def complete(self) -> bool:
        return self.output.exists()

    def wrong(self) -> Iterator[str]:
        """What the output says that is not so."""
        yield from ()

    def differences(self, whole: Path) -> Iterator[str]:
        """Bit by bit, from an output that nobody has disturbed."""
        if self.output.read_bytes() != whole.read_bytes():
            yield "other bytes"

    def left(self) -> list[str]:
        """What is there beside the output. The lock of a job that was killed after its end does not count: nobody comes who
        would clear it away."""
        return sorted({*os.listdir(self.place)} - {self.output.name, f".{self.output.name}.lock"})


class Run(Job):
    """A run of SCENARIO with these overrides."""

    def __init__(self, place: Path, overrides: dict[str, Any]):
        super().__init__(place, "run.nc")
        self.scenario = flowsim.loads(SCENARIO, overrides=overrides)

    def go_on(self) -> int:
        resume = self.output.exists()
        flowsim.run(self.scenario, self.output, resume=resume, checkpoint_every=0.0, warn=lambda message: None)
        return 0

    def complete(self) -> bool:
        if not self.output.exists():
            return False
        with flowsim.open(self.output) as tree:
            return bool(tree.attrs["status"] == "done")

    def wrong(self) -> Iterator[str]:
        if not self.output.exists():
            return
        with flowsim.open(self.output) as tree:
            status, ended = tree.attrs["status"], "checkpoint" not in tree.children
            if status not in ("running", "evaluating", "done"):
                yield f"has the status {status}"
            if (status == "done") != ended:
                yield f"has the status {status}, and {'nothing' if ended else 'something'} to go on from"
            if status == "done" and (absent := {*wanted(self.scenario)} - {*tree.children}):
                yield f"is done without {absent}"

    def differences(self, whole: Path) -> Iterator[str]:
        with xr.open_datatree(self.output) as left, xr.open_datatree(whole) as right:
            if {*left.groups} != {*right.groups}:
                yield f"groups {set(left.groups) ^ set(right.groups)}"
                return
            for path in left.groups:
                yield from unequal(path, left[path].to_dataset(inherit=False), right[path].to_dataset(inherit=False))


class Sweep(Job):
    """A sweep of twelve points, some of them members of ensembles, by two workers."""

    has_workers = True

    def __init__(self, place: Path):
        super().__init__(place, "sweep")
        swept = {
            "grid": {"data.noise.total": [0.1, 0.2, 0.3], "seed": [0, 1, 2, 3]},
            "trajectories": ["loss", "cosine"],
        }
        self.scenario = flowsim.loads(SCENARIO, overrides={"sweep": swept})
        self.points = [point.sha256 for point in plan(self.scenario).points]

    def go_on(self) -> int:
        begun = (self.output / "sweep.toml").exists()
        return flowsim.sweep(self.scenario, self.output, workers=2, resume=begun).exit_code

    def complete(self) -> bool:
        return (self.output / "sweep.nc").exists()

    def wrong(self) -> Iterator[str]:
        if not (self.output / "manifest.jsonl").exists():
            return
        ended = [line.record for line in lines(self.output)]
        yield from (f"has a point that is {point.status}: {point.cause}" for point in ended if point.status != "done")
        for point in ended:
            open_point(self.output, point.sha256)
        if self.complete():
            with flowsim.open_sweep(self.output) as dataset:
                if dataset.attrs["request"] != request(plan(self.scenario)) or len(ended) != len(self.points):
                    yield "has a dataset before all points are done"

    def differences(self, whole: Path) -> Iterator[str]:
        with flowsim.open_sweep(self.output) as mine, flowsim.open_sweep(whole) as its:
            yield from unequal("the dataset", mine, its)
        for point in self.points:
            yield from unequal(point, alone(self.output, point), alone(whole, point))

    def left(self) -> list[str]:
        known = {"sweep.nc", "sweep.toml", "manifest.jsonl", "runs"}
        unknown = {*os.listdir(self.output)} - known
        unnamed = {*os.listdir(self.output / "runs")} - {line.file for line in lines(self.output)}
        return [*super().left(), *sorted(unknown | unnamed)]


class Shown(Job):
    """What a command makes of a result."""

    def __init__(self, place: Path, name: str, *words: str):
        super().__init__(place, name)
        self.words = words

    def go_on(self) -> int:
        return command([*self.words, "-o", str(self.output), *(["--overwrite"] if self.output.exists() else [])])


class Warm(Job):
    """A kernel that is compiled ahead."""

    writes = False
    KERNEL = "descend smooth"
    COMPILE = f"from flowsim.run.compile_ahead import warm; warm(['{KERNEL}'], lambda *_: None)"
    IS_THERE = (
        "from flowsim.run import compile_ahead, estimate, prepare;"
        f"parts = estimate.integrators(prepare.Prepared(compile_ahead.tiny('{KERNEL}')));"
        "raise SystemExit(any(part.to_compile() for part in parts))"
    )
    USE = f"import flowsim, sys; from flowsim.run.compile_ahead import tiny; flowsim.run(tiny('{KERNEL}'), sys.argv[1])"

    def __init__(self, place: Path):
        super().__init__(place, "cache")

    def go_on(self) -> int:
        os.execve(sys.executable, [sys.executable, "-c", self.COMPILE], self.environment(self.output))

    def complete(self) -> bool:
        return self.asked(self.output, self.IS_THERE)

    def differences(self, whole: Path) -> Iterator[str]:
        """Of runs that use it."""
        files = [self.place / "mine.nc", self.place / "its.nc"]
        for cache, file in zip((self.output, whole), files, strict=True):
            if not self.asked(cache, self.USE, str(file)):
                yield "cannot be used"
                return
        with xr.open_dataset(files[0]) as mine, xr.open_dataset(files[1]) as its:
            yield from unequal("a run", mine, its)
        for file in files:
            file.unlink()

    def left(self) -> list[str]:
        known = (".nbi", ".nbc", ".json", ".lock")
        inside = [path for path in self.output.rglob("*") if path.is_file() and path.suffix not in known]
        return [*super().left(), *sorted(path.name for path in inside)]

    def asked(self, cache: Path, code: str, *words: str) -> bool:
        said = subprocess.run(
            [sys.executable, "-c", code, *words], env=self.environment(cache), capture_output=True, check=False
        )
        return said.returncode == 0

    @staticmethod
    def environment(cache: Path) -> dict[str, str]:
        return {**os.environ, "FLOWSIM_CACHE": str(cache)}


def alone(folder: Path, point: str) -> xr.Dataset:
    """The trajectory of a point, which its family may have been cut from, without what else its result says."""
    run = open_point(folder, point).to_dataset().drop_attrs(deep=False)
    return run.squeeze("seed", drop=True) if "seed" in run.dims else run


def unequal(what: str, mine: xr.Dataset, its: xr.Dataset) -> Iterator[str]:
    """What is not the same, to the last bit."""
    if {*mine.variables} != {*its.variables}:
        yield f"{what}: variables {set(mine.variables) ^ set(its.variables)}"
        return
    for name in {*mine.variables} - OWN:
        if not np.array_equal(mine[name], its[name], equal_nan=mine[name].dtype.kind == "f"):
            yield f"{what}: {name}"
    for name in ({*mine.attrs} | {*its.attrs}) - OWN:
        if not np.array_equal(mine.attrs.get(name), its.attrs.get(name)):
            yield f"{what}: attribute {name}: {mine.attrs.get(name)} and {its.attrs.get(name)}"
