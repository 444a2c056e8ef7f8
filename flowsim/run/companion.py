"""The companion of a run: the same flow at another tolerance, through the instants that the run has kept. From how far
the two are apart, the errors of the run are estimated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from ..arrays import Booleans, Floats
from ..kinds.streams import stream
from ..observe import Recorder, Trajectory
from ..processes import agreed, alone, in_any
from ..scenario import Scenario
from ..scenario.flow import Flow, Until
from ..solve import Passed, Report, Snapshot
from ..solve.advance import Course
from ..solve.compiling import Clock
from ..solve.integrator import Dense
from ..solve.schedule import Schedule
from ..solve.status import Status, interrupted
from .checkpoint import Begun, seconds_of
from .drive import Run
from .member import ADDED, Member
from .prepare import Prepared

#: The companion's tolerance as a part of the run's: the error of a run goes about like its tolerance, evaluations like
#: its root of the order, so the companion has a quarter of the error for a third more.
TIGHTER = 0.25
#: No companion has a smaller tolerance than a run may have. One of a run with such a tolerance has a larger one.
SMALLEST_RTOL = 1e-13
#: The companion's first step as a part of the run's. While steps only grow they do not depend on the tolerance.
FIRST = 1 / 3
#: Kept states of the companion are moved by this, relative to each of their numbers, so that what the two differ by has
#: in it what rounding does to a variable: of a network whose neurons cancel, far more than to its weights.
ROUNDING = 4 * np.finfo(float).eps
#: Where an end came.
COMPANION = "in the companion run, from which errors are estimated"
#: The name of its status where the companion could not go on.
ENDED = "ended"
#: A number of steps that no flow makes.
NEVER = 2**60


@dataclass(frozen=True)
class Leg:
    """What a run has kept of one of its stages. readings: the instants as the companion's schedule names them, times of
    the stage's own, or log10 of times where these are no floats; held: at which of them weights are kept."""

    readings: tuple[float, ...]
    logarithms: bool
    held: frozenset[int]

    @property
    def schedule(self) -> Schedule:
        kind = "log10_time" if self.logarithms else "linear"
        return Schedule(kind, len(self.readings), math.inf, False, math.nan, listed=[*self.readings])

    def flow(self, flow: Flow) -> Flow:
        """The companion's flow, which ends where the run's did, whatever ended that."""
        end = flow.until.time if flow.descends else self.readings[-1]
        timed = end is not None and end > 0 and not self.logarithms
        until = Until(time=end) if timed else Until(steps=NEVER)
        if flow.descends:
            return flow.model_copy(update={"until": until})
        return flow.model_copy(update={"rtol": rtol_of(flow.rtol), "precision": "float64", "until": until})


def rtol_of(rtol: float) -> float:
    """The tolerance of the companion of a run with this one."""
    return rtol * TIGHTER if rtol * TIGHTER >= SMALLEST_RTOL else rtol / TIGHTER


def rtols(scenario: Scenario) -> tuple[float, ...]:
    """The tolerances of a run's flows, each once."""
    return tuple(dict.fromkeys(part.flow.rtol for part in scenario.stages if not part.flow.descends))


def legs(scenario: Scenario, kept: Trajectory, names: Sequence[str]) -> Iterator[Leg]:
    """The stages of a run. names: of the stage that led to each instant, of a run that has any."""
    begin, logarithms = 0, not math.isfinite(kept.time[-1])
    for stage, part in enumerate(scenario.stages):
        mine = [place for place, name in enumerate(names) if name == scenario.stage[stage].name] if names else []
        end = mine[-1] if mine else begin if names else len(kept.time) - 1
        readings = _readings(part, kept, begin, end, logarithms)
        weights = kept.kept_weights[(kept.kept_weights >= begin) & (kept.kept_weights <= end)]
        yield Leg(readings, logarithms, frozenset((weights - begin).tolist()))
        begin = end


def _readings(part: Scenario, kept: Trajectory, begin: int, end: int, logarithms: bool) -> tuple[float, ...]:
    if logarithms:
        assert kept.log10_time is not None, "only the loss clock goes beyond all floats"
        return tuple(kept.log10_time[begin : end + 1].tolist())
    times = kept.time[begin : end + 1] - kept.time[begin]
    if part.flow.step is not None:
        times = np.rint(times / part.flow.step) * part.flow.step
    return tuple(times.tolist())


def closer(prepared: Prepared, member: Scenario, parts: Sequence[Leg]) -> Prepared:
    """The same with the companion's flows."""
    found = copy(prepared)
    flows = tuple(leg.flow(flow) for leg, (_, flow) in zip(parts, member.flows(), strict=True))
    found.scenario = member.model_copy(update={"stage": flows} if member.stage else {"flow": flows[0]})
    reading = "log10_time" if parts[0].logarithms else "time"
    found.plans = tuple(replace(plan, reading=reading) for plan in prepared.plans)
    return found


class Companion(Member):
    """The companion of a member, under way. kept: what that has kept."""

    def __init__(self, prepared: Prepared, kept: Trajectory, names: Sequence[str] = ()):
        member = prepared.scenario.member(0)
        self._legs = tuple(legs(member, kept, names))
        close = closer(prepared, member, self._legs)
        super().__init__(close, close.scenario, Clock())

    def follow(self, tell: Callable[[Report], None], save: Callable[[], None], stopped: Booleans) -> Status:
        """Go through all instants of the run. Returns how it ended: with exit code 0 also where it could not go on.

        Between chunks of steps it calls tell with the report, then save. stopped (1,): ends it when it is set. It may take
        as many seconds of wall time as the run.
        """
        self.begin()
        self._clock.start()
        if self.prepared.scenario.stage and self.begun.start is None:
            self.begun = self._begin(0, 0.0, dict.fromkeys(ADDED, 0), 1)
        while True:
            status, index = self._through(tell, save, stopped), self.begun.stage
            if status.name != "done" or index + 1 == len(self.parts):
                return status
            self._next(index + 1)

    @property
    def seconds(self) -> float:
        """Of wall time, those of earlier parts included."""
        return self._clock.seconds

    def resume(self, tree: xr.DataTree) -> None:
        """tree: of an unfinished companion, as :func:`flowsim.results.companion.unfinished` gives it."""
        super().resume(tree)
        self._clock.before = seconds_of(tree)

    @property
    def share(self) -> float:
        """The part of its instants that it has passed."""
        made = sum(len(leg.readings) for leg in self._legs[: self.begun.stage]) + self.run.course.schedule.index
        return made / sum(len(leg.readings) for leg in self._legs)

    def _through(self, tell: Callable[[Report], None], save: Callable[[], None], stopped: Booleans) -> Status:
        course, limit = self.run.course, self.parts[self.begun.stage].flow.wall_time
        while course.schedule.next < math.inf:
            tried, first = course.report.tried, course.schedule.index
            ended = stopped if alone() else np.array([in_any(bool(stopped[0]))])
            passed = course.go_on(None, self.recorder.room, ended)
            if passed is not None:
                self.recorder.keep(self._rounded(passed, first))
            elif course.report.stalled or (course.report.tried == tried and not ended[0]):
                return Status(ENDED, f"the companion run got no further than time {course.report.time:.6g}")
            tell(course.report)
            if ended[0]:
                return interrupted(f"{COMPANION} at time {course.report.time:.6g}")
            (seconds,) = agreed(self._clock.seconds)
            if limit is not None and seconds >= limit and course.schedule.next < math.inf:
                used = f"used {limit:g} s of wall time {COMPANION}, at time {course.report.time:.6g}"
                return Status("wall_time_limit", used, "raise flow.wall_time; --resume then goes on from here", 3)
            save()
        return Status("done", "the companion run has passed all kept instants")

    def _rounded(self, passed: Passed, first: int) -> Passed:
        """first: the index of the first of these instants in the stage."""
        each = [self._moved(passed.snapshot[place], first + place) for place in range(len(passed))]
        return replace(passed, snapshot=Snapshot.stack(each))

    def _moved(self, snapshot: Snapshot, index: int) -> Snapshot:
        """A state, moved by ROUNDING: each time alike, whichever chunks of steps led to it."""
        draw = stream(0, f"certify.{self.begun.stage}.{index}")

        def shift(values: Floats) -> Floats:
            return ROUNDING * draw.uniform(-1.0, 1.0, np.shape(values))

        return replace(
            snapshot,
            direction=snapshot.direction * (1 + shift(snapshot.direction)),
            log_norm=snapshot.log_norm + shift(snapshot.log_norm),
            output_log=snapshot.output_log + shift(snapshot.output_log),
            leaves=tuple(leaf * (1 + shift(leaf)) for leaf in snapshot.leaves),
        )

    def _first_run(self) -> Run:
        carry = self.integrator.begin()
        if isinstance(self.integrator, Dense):
            carry = self.integrator.cautious(carry, FIRST)
        return Run(Course(self.integrator, carry, self._legs[self.begun.stage].schedule), self._clock)

    def _recorder(self, begun: Begun) -> Recorder:
        return replace(super()._recorder(begun), held=self._legs[begun.stage].held)
