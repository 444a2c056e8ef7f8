"""The stages of a run one after the other, each from where the one before ended; most runs have a single one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from os import PathLike

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..observe import Recorder, Trajectory
from ..results import layout, open
from ..solve import Integrator, Report, going_on, make
from ..solve.compiling import spent
from ..solve.integrator import COUNTS
from ..solve.rest import Rest
from ..solve.schedule import Schedule
from ..solve.status import Status
from . import checkpoint
from .checkpoint import Begun
from .drive import Run, drive, interrupts
from .prepare import Prepared

#: Counts of the solver that go on from stage to stage.
ADDED = tuple(name for name in COUNTS if name != "step_size")


class Stages:
    """A run under way. integrator, run, recorder: of the stage that is under way, whose times are its own; begun: what it
    began with, None of a run without stages."""

    def __init__(self, prepared: Prepared):
        self.prepared, self.parts = prepared, prepared.scenario.stages
        self.begun: Begun | None = None
        self._spent = spent()
        self._earlier: Trajectory | None = None
        self._names: list[str] = []
        self._make(None)
        carry = self.integrator.begin()
        self.run = self._run(carry)
        self.begun = self._begun(0, 0.0, dict.fromkeys(ADDED, 0), 1) if prepared.scenario.stage else None

    def resume(self, output: str | PathLike[str]) -> None:
        """Go on from the file that an unfinished run of the same scenario has left."""
        with open(output) as tree:
            checkpoint.check_same(tree, self.prepared.scenario, self.prepared.problem, str(output))
            kept = layout.trajectory_of(tree)
            if self.prepared.scenario.stage:
                begun = checkpoint.restore_begun(tree)
                if begun.stage > 0:
                    self._earlier, kept = kept.parted(begun.instants)
                    self._names = [str(name) for name in tree["stage"].to_numpy()[: begun.instants]]
                self._make(begun)
            stage = self.begun.stage if self.begun is not None else 0
            rest = Rest.of(self.parts[stage], self.prepared.reduced, math.nan)
            self.run = checkpoint.restore(tree, self.integrator, rest)
        self.recorder.restore(kept, drop_last=self.run.loose)
        self.run.loose = False

    def drive(self, progress: Callable[[Report], None], checkpoint_run: Callable[[], None]) -> Status:
        """Go through all stages that are left, or until one of them cannot be finished; how the last one of them ended."""
        with interrupts() as interrupted:
            return self._drive(progress, checkpoint_run, interrupted)

    def _drive(
        self,
        progress: Callable[[Report], None],
        checkpoint_run: Callable[[], None],
        interrupted: Callable[[], bool],
    ) -> Status:
        while True:
            index = self.begun.stage if self.begun is not None else 0
            part = self.parts[index]
            status = drive(self.integrator, part, self.run, self.recorder, progress, checkpoint_run, interrupted)
            if self.begun is not None:
                name = self.prepared.scenario.stage[index].name
                status = replace(status, cause=f"stage {name}: {status.cause}")
            if status.exit_code or index + 1 == len(self.parts):
                return status
            self._next(index + 1)

    def trajectory(self, complete: bool) -> Trajectory:
        kept = self.recorder.trajectory(complete)
        return kept if self._earlier is None else self._earlier + kept

    def names(self, instants: int) -> NDArray[np.str_] | None:
        """The stage that led to each of so many instants, or None where there are no stages."""
        return np.array(self._stage_names(instants)) if self.begun is not None else None

    def save(self) -> xr.Dataset:
        """What a checkpoint holds."""
        return checkpoint.save(self.run, self.integrator, self.begun)

    @property
    def compile_seconds(self) -> float:
        return spent() - self._spent

    @property
    def report(self) -> Report:
        """Where the stage under way stands, at the time of the whole run."""
        return self.in_run(self.integrator.report(self.run.carry))

    def in_run(self, report: Report) -> Report:
        """A report of the stage under way, at the time of the whole run."""
        return report if self.begun is None else replace(report, time=self.begun.time + report.time)

    def _stage_names(self, instants: int) -> list[str]:
        assert self.begun is not None
        now = self.prepared.scenario.stage[self.begun.stage].name
        return self._names + [now] * (instants - len(self._names))

    def _next(self, index: int) -> None:
        assert self.begun is not None
        report = self.integrator.report(self.run.carry)
        self._earlier = self.trajectory(complete=True)
        self._names = self._stage_names(len(self._earlier.time))
        counts = {name: getattr(report, name) + self.begun.counts[name] for name in ADDED}
        begun = self._begun(index, self.begun.time + report.time, counts, len(self._earlier.time))
        seconds = self.run.seconds
        self._make(begun)
        carry = self.integrator.begin()
        self.run = self._run(carry, seconds)

    def _begun(self, index: int, time: float, counts: dict[str, int], instants: int) -> Begun:
        return Begun(index, time, counts, instants, self.integrator.now(self.run.carry))

    def _make(self, begun: Begun | None) -> None:
        """Integrator and recorder of a stage."""
        self.begun = begun
        index, time, counts = (begun.stage, begun.time, begun.counts) if begun is not None else (0, 0.0, {})
        prepared, part = self.prepared, self.parts[index]
        plan = replace(prepared.plans[index], origin=time, iterations=counts.get("steps", 0))
        reduced = going_on(prepared.reduced, begun.start) if begun is not None and index > 0 else prepared.reduced
        self.integrator: Integrator = make(part, reduced, plan)
        self.recorder = Recorder(part, prepared.setting, prepared.selection, time, counts)

    def _run(self, carry: object, seconds: float = 0.0) -> Run:
        """A stage from its beginning."""
        index = self.begun.stage if self.begun is not None else 0
        part, first_step = self.parts[index], self.integrator.report(carry).step_size
        schedule = Schedule.of(part, first_step, self.prepared.plans[index].reading)
        return Run(carry, schedule, seconds, rest=Rest.of(part, self.prepared.reduced, first_step))
