"""One member of a run, and its stages: each begins where the one before ended. Most runs have one stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import xarray as xr

from ..arrays import Booleans
from ..observe import Recorder, Trajectory
from ..problem import Problem, redrawn
from ..results import layout
from ..results.gathered import Outcome
from ..scenario import Scenario
from ..solve import Integrator, Report, Snapshot, going_on, make
from ..solve.advance import Course
from ..solve.compiling import Clock
from ..solve.equilibrium import Rest
from ..solve.integrator import COUNTS
from ..solve.schedule import Schedule
from ..solve.status import Status
from . import checkpoint
from .checkpoint import Begun
from .drive import Run, drive
from .prepare import Prepared
from .progress import Standing

#: Counts of the solver that go on from stage to stage.
ADDED = tuple(name for name in COUNTS if name != "step_size")


class Member:
    """A member under way.

    integrator, run, recorder: of the stage under way, in the stage's own time. begun: how that stage began. loose: whether
    the last kept instant is not one of the schedule's, but where the member stopped.
    """

    def __init__(self, prepared: Prepared, whole: Scenario, clock: Clock):
        """whole: the scenario of all members; they keep the same instants."""
        # the first member of several was prepared with the scenario of all
        self.prepared, self.parts, self.loose = prepared, prepared.scenario.member(0).stages, False
        self.begun: Begun
        self.recorder: Recorder
        self._whole, self._clock = whole.stages, clock
        self._earlier: Trajectory | None = None
        self._names: list[str] = []
        self._make(Begun())

    @cached_property
    def run(self) -> Run:
        """The stage under way. It begins when this is first read."""
        return self._first_run()

    def begin(self) -> Report:
        """Prepare the first step, which may compile. Returns the report before it."""
        return self.report

    def resume(self, tree: xr.DataTree) -> None:
        """Take over the state that an unfinished run of the same scenario has left."""
        kept = layout.trajectory_of(tree)
        if self.prepared.scenario.stage:
            begun = checkpoint.restore_begun(tree)
            if begun.stage > 0:
                self._earlier, kept = kept.parted(begun.instants)
                self._names = [str(name) for name in tree["stage"].to_numpy()[: begun.instants]]
            self._make(begun)
        rest = Rest.of(self.parts[self.begun.stage], self.prepared.reduced, math.nan)
        self.run = checkpoint.restore(tree, self.integrator, self._clock, rest)
        self.recorder.restore(kept, drop_last=self.run.loose)
        self.run.loose = False

    def drive(self, progress: Callable[[Report], None], save: Callable[[], None], stopped: Booleans) -> Status:
        """Run the stages that are left, until one of them fails. Returns how the last one ended.

        progress, save, stopped: as for :func:`flowsim.run.drive.drive`.
        """
        if self.prepared.scenario.stage and self.begun.start is None:
            self.begun = self._begin(0, 0.0, dict.fromkeys(ADDED, 0), 1)
        while True:
            index = self.begun.stage
            status = drive(self.parts[index], self.run, self.recorder, progress, save, stopped)
            self.loose = self.run.loose
            if self.prepared.scenario.stage:
                name = self.prepared.scenario.stage[index].name
                status = replace(status, cause=f"stage {name}: {status.cause}")
            if status.exit_code or index + 1 == len(self.parts):
                return status
            self._next(index + 1)

    def outcome(self, status: Status) -> Outcome:
        """How it ended, and what integrated it."""
        plan = self.prepared.plan
        return Outcome(status, self.recorder.stop_time, plan.engine, plan.solver, plan.coordinates, plan.warnings)

    def groups(self, scenario: Scenario, problem: Problem, outcomes: Sequence[Outcome]) -> dict[str, xr.Dataset]:
        """All groups of the result, for a run of one member; as :class:`flowsim.results.gathered.Gathered` has them."""
        trajectory = self.trajectory(complete=not outcomes[0].status.exit_code)
        known = layout.coordinates(self.prepared.setting)
        if scenario.stage:
            known["stage"] = np.array(self._stage_names(len(trajectory.time)))
        groups = layout.groups(scenario, problem, trajectory, known)
        anew = {stage.name: redrawn(part, problem) for stage, part in zip(scenario.stage, self.parts, strict=False)}
        if drawn := {name: arrays for name, arrays in anew.items() if arrays}:
            groups["/redrawn"] = layout.redrawn(drawn)
        if self.report.loss_clock_from is not None:
            groups["/"].attrs["loss_clock_from"] = self.report.loss_clock_from
        return groups

    def standing(self, report: Report) -> Standing:
        """How far a run of one member is. report: of the stage under way."""
        in_run = replace(report, time=self.begun.time + report.time)
        return Standing(1, 0, 1, in_run, self.recorder.log_loss, self.recorder.phase)

    def trajectory(self, complete: bool) -> Trajectory:
        kept = self.recorder.trajectory(complete)
        return kept if self._earlier is None else self._earlier + kept

    def save(self) -> xr.Dataset:
        """The state for a checkpoint."""
        return checkpoint.save(self.run, self.begun)

    @property
    def report(self) -> Report:
        """Of the stage under way."""
        return self.run.course.report

    def _stage_names(self, instants: int) -> list[str]:
        now = self.prepared.scenario.stage[self.begun.stage].name
        return self._names + [now] * (instants - len(self._names))

    def _next(self, index: int) -> None:
        report = self.report
        self._earlier = self.trajectory(complete=True)
        self._names = self._stage_names(len(self._earlier.time))
        counts = {name: getattr(report, name) + self.begun.counts[name] for name in ADDED}
        self._make(self._begin(index, self.begun.time + report.time, counts, len(self._earlier.time)))
        self.run = self._first_run()

    def _begin(self, index: int, time: float, counts: dict[str, int], instants: int) -> Begun:
        return Begun(index, time, counts, instants, self.run.course.now)

    def _make(self, begun: Begun) -> None:
        """Make the integrator and the recorder of a stage."""
        self.begun = begun
        prepared, part = self.prepared, self.parts[begun.stage]
        plan = replace(prepared.plans[begun.stage], origin=begun.time, iterations=begun.counts.get("steps", 0))
        reduced = prepared.reduced
        if begun.stage > 0:
            assert begun.start is not None, "a later stage begins where the one before ended"
            reduced = going_on(reduced, self._anew(begun.start))
        self.integrator: Integrator = make(part, reduced, plan)
        self.recorder = self._recorder(begun)

    def _attacked(self) -> dict[str, float]:
        """Observables of no dims, by name: what they were where the first adversarial training ended; none before."""
        last = self.prepared.scenario.last_attacked
        if self._earlier is None or last not in self._names:
            return {}
        end = len(self._names) - 1 - self._names[::-1].index(last)
        return {name: float(values[end]) for name, values in self._earlier.variables.items() if values.ndim == 1}

    def _recorder(self, begun: Begun) -> Recorder:
        setting, selection, attacked = self.prepared.setting, self.prepared.selection, self._attacked()
        return Recorder(self._whole[begun.stage], setting, selection, begun.time, begun.counts, attacked)

    def _anew(self, start: Snapshot) -> Snapshot:
        """The weights, with the arrays that the stage under way draws anew."""
        drawn, network = redrawn(self.parts[self.begun.stage], self.prepared.problem), self.prepared.problem.network
        if network is None or not drawn:
            return start
        pairs = zip(network.leaves, start.leaves, strict=True)
        return replace(start, leaves=tuple(drawn.get(leaf.name, array) for leaf, array in pairs))

    def _first_run(self) -> Run:
        """The stage under way at its beginning."""
        index, carry = self.begun.stage, self.integrator.begin()
        first_step = self.integrator.report(carry).step_size
        schedule = Schedule.of(self._whole[index], first_step, self.prepared.plans[index].reading)
        rest = Rest.of(self.parts[index], self.prepared.reduced, first_step)
        return Run(Course(self.integrator, carry, schedule), self._clock, rest=rest)
