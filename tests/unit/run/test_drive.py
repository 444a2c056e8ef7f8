"""The host loop, driven by an integrator without any mathematics: one step is one unit of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from support.walk import Walk

import flowsim
from flowsim.run.drive import Run, drive
from flowsim.solve import Passed
from flowsim.solve.advance import Course
from flowsim.solve.compiling import Clock
from flowsim.solve.schedule import Schedule
from flowsim.solve.status import Status


@dataclass
class Kept:
    times: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    met: str = ""
    met_at: float = np.inf

    room: int = 3

    def keep(self, passed: Passed) -> str:
        assert len(passed) <= self.room
        self.times += passed.snapshot.time.tolist()
        self.steps += passed.numerics["steps"].tolist()
        return self.met if self.times[-1] >= self.met_at else ""

    def thin(self) -> None:
        del self.times[1::2], self.steps[1::2]

    @property
    def last_time(self) -> float:
        return self.times[-1] if self.times else np.nan


def run_of(walk: Walk, scenario: flowsim.Scenario, clock: Clock | None = None) -> Run:
    return Run(Course(walk, walk.begin(), Schedule.of(scenario, 0.01)), clock or Clock())


def driven_by(scenario: flowsim.Scenario, run: Run, kept: Kept) -> Status:
    return drive(scenario, run, kept, lambda report: None, lambda: None, np.array([False]))


@pytest.fixture
def driven(small, report_at):
    def make(wall: float = np.inf, fields: dict[str, Any] | None = None, **overrides) -> tuple[Status, Kept, Run]:
        scenario = small(**{"observe__times": 5, **overrides})
        run, kept = run_of(Walk(report_at, wall, fields or {}), scenario), Kept()
        status = driven_by(scenario, run, kept)
        return status, kept, run

    return make


def test_the_instants_of_the_schedule_are_kept_and_the_end_is_met(driven):
    status, kept, run = driven(flow__until={"time": 10.0})
    assert kept.times == [0, 2.5, 5, 7.5, 10]
    # an instant is kept with the numerics of the step that passed it
    assert kept.steps == [0, 3, 5, 8, 10]
    assert (status.name, status.exit_code, run.loose) == ("done", 0, False)


def test_with_spacing_solver_every_step_is_kept(driven):
    _, kept, _ = driven(flow__until={"time": 6.0}, observe__spacing="solver")
    assert kept.times == [0, 1, 2, 3, 4, 5, 6]


def test_a_goal_ends_the_run_where_it_is_reached(driven):
    status, kept, _ = driven(wall=7.0, fields={"reached": "loss 0.1"}, flow__until={"time": 10.0, "loss": 0.1})
    assert (status.name, status.exit_code) == ("done", 0)
    assert "loss 0.1" in status.cause
    assert kept.times[-1] == 7


def test_with_an_open_end_between_the_wanted_count_and_twice_as_many_are_kept(driven):
    _, kept, _ = driven(wall=999.5, fields={"reached": "loss"}, flow__until={"loss": 0.1})
    assert 5 <= len(kept.times) <= 10
    np.testing.assert_allclose(np.diff(kept.times[:-1]), kept.times[1])
    assert kept.times[-1] == 1000


@pytest.mark.parametrize(
    ("overrides", "name", "code"),
    [
        ({"flow__until": {"steps": 4}}, "done", 0),
        ({"flow__until": {"time": 10.0, "steps": 4}}, "step_limit", 3),
        ({"flow__until": {"time": 10.0, "steps": 10}}, "done", 0),
        ({"flow__until": {"loss": 0.1, "steps": 4}}, "step_limit", 3),
    ],
)
def test_steps_beside_another_condition_are_a_budget(driven, overrides, name, code):
    status, kept, _ = driven(**overrides)
    assert (status.name, status.exit_code) == (name, code)
    assert kept.steps[-1] == overrides["flow__until"]["steps"]
    assert bool(status.remedy) == bool(code)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"stalled": True, "step_size": 1e-12}, "step_underflow"),
        ({"stalled": True, "step_size": 1e-12, "finite": False}, "non_finite"),
        ({"stalled": True, "step_size": np.inf}, "at_rest"),
    ],
)
def test_a_flow_that_cannot_go_on_ends_with_its_cause_and_a_remedy_and_keeps_what_it_reached(driven, fields, name):
    status, kept, run = driven(wall=4.0, fields=fields, flow__until={"time": 10.0})
    assert (status.name, status.exit_code) == (name, 3)
    assert status.cause
    assert status.remedy
    # the last instant is none of the schedule's
    assert (kept.times, run.loose) == ([0, 2.5, 4], True)


def test_the_first_kept_instant_that_meets_a_stop_condition_is_the_last_of_the_schedule(small, report_at):
    scenario = small(flow__until={"time": 10.0, "kkt": 1e-9}, loss__kind="logistic", observe__times=41)
    run = run_of(Walk(report_at), scenario.replace({"flow.until": {"time": 10.0}}))
    kept = Kept(met="kkt 1e-09", met_at=3.25, room=1)
    status = driven_by(scenario, run, kept)
    assert status.cause.startswith("reached kkt 1e-09")
    # the step that passed it went on to 4, where the run stops
    assert kept.times == [*np.arange(0, 3.5, 0.25), 4.0]
    assert run.course.schedule.next == 3.5


def test_the_wall_time_is_a_budget_and_that_of_earlier_parts_counts(driven, small, report_at):
    status, kept, _ = driven(flow__until={"time": 1e9}, flow__wall_time=1e-9)
    assert (status.name, status.exit_code) == ("wall_time_limit", 3)
    assert kept.times[-1] < 1e9
    scenario, clock = small(flow__until={"time": 50.0}, flow__wall_time=1e6), Clock()
    for before, name in ((0.0, "done"), (1e6, "wall_time_limit")):
        clock.before = before
        assert driven_by(scenario, run_of(Walk(report_at), scenario, clock), Kept()).name == name


def test_a_run_that_is_to_stop_stops_after_the_chunk_that_is_under_way(small, report_at):
    scenario, kept, told, saved, stopped = small(flow__until={"time": 1e9}), Kept(), [], [], np.array([False])

    def save() -> None:
        saved.append(told[-1])
        stopped[0] = True

    status = drive(scenario, run_of(Walk(report_at), scenario), kept, told.append, save, stopped)
    assert (status.name, status.exit_code) == ("interrupted", 130)
    # what goes on is saved, and what has ended is not
    assert [report.time for report in saved] == [1]
    assert kept.times == [0, 1]


def test_a_run_that_is_to_stop_before_its_first_step_makes_none(small, report_at):
    scenario, kept = small(flow__until={"time": 1e9}), Kept()
    stopped = np.array([True])
    save = lambda: pytest.fail("saved at its end")  # noqa: E731
    status = drive(scenario, run_of(Walk(report_at), scenario), kept, lambda report: None, save, stopped)
    assert (status.name, kept.times) == ("interrupted", [0])


def test_a_goal_that_is_met_at_time_0_is_reported_there(driven):
    status, kept, _ = driven(wall=0.0, fields={"reached": "loss 0.1"}, flow__until={"loss": 0.1})
    assert (status.name, kept.times) == ("done", [0.0])


def test_progress_is_told_at_least_once_and_last_of_the_end(small, report_at):
    scenario, told = small(flow__until={"time": 10.0}), []
    drive(scenario, run_of(Walk(report_at), scenario), Kept(), told.append, lambda: None, np.array([False]))
    assert told[-1].time == 10
