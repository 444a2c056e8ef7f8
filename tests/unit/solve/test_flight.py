"""A flight through fixed instants has the states and counts that the host's loop keeps, and ends where it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flowsim
from flowsim.observe import NUMERICS
from flowsim.problem import reduce
from flowsim.run.drive import Run, drive
from flowsim.solve import Report, Snapshot, choose, make
from flowsim.solve.compiling import Clock
from flowsim.solve.integrator import COUNTS, Flying
from flowsim.solve.schedule import Schedule


def test_what_is_counted_is_what_numerics_keep():
    assert set(COUNTS) == set(NUMERICS)


class Kept:
    """Where a drive's instants go."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.reports: list[Report] = []
        self.last_time = np.nan

    def keep(self, snapshot: Snapshot, report: Report) -> str:
        self.snapshots.append(snapshot)
        self.reports.append(report)
        self.last_time = snapshot.time
        return ""


@pytest.fixture
def ready(small):
    """(integrator, scenario of a single seed, schedule of fixed instants) of a flow on the compiled engine"""

    def make_ready(activation: str = "prelu", **overrides: Any) -> tuple[Any, flowsim.Scenario, Schedule]:
        model = {"activation": activation, "width": 6}
        scenario = small(seed=[0], model=model, flow__engine="numba", **{"observe__times": 11, **overrides})
        (member,) = scenario.members
        reduced = reduce(flowsim.build(member))
        integrator = make(member, reduced, choose(member, reduced))
        assert isinstance(integrator, Flying)
        return integrator, member, Schedule.of(scenario, 0.01)

    return make_ready


@pytest.mark.parametrize("until", [{"time": 30.0}, {"time": 30.0, "loss": 0.4}, {"time": 30.0, "steps": 15}], ids=str)
@pytest.mark.parametrize("spacing", ["linear", "log"])
@pytest.mark.parametrize("activation", ["prelu", "relu"])
def test_a_flight_keeps_to_the_last_bit_what_a_drive_keeps(ready, activation, until, spacing):
    integrator, member, schedule = ready(activation, flow__until=until, observe__times=11, observe__spacing=spacing)
    kept = Kept()
    run = Run(integrator.begin(), replace(schedule), Clock())
    drive(integrator, member, run, kept, lambda report: None, lambda: None, lambda: False)
    flown = integrator.fly(np.array(schedule.instants), until.get("steps"), np.array([False]))
    on_grid = len(kept.snapshots) - run.loose
    names = ("time", "direction", "log_norm", "output_sign", "output_log", *(["sliding"] * (activation == "relu")))
    for name in names:
        driven = np.array([getattr(snapshot, name) for snapshot in kept.snapshots])
        np.testing.assert_array_equal(getattr(flown.snapshot, name), driven[:on_grid], err_msg=name)
        np.testing.assert_array_equal(getattr(flown.last, name), driven[-1], err_msg=name)
    for name in COUNTS:
        np.testing.assert_array_equal(
            flown.numerics[name], [getattr(report, name) for report in kept.reports[:on_grid]]
        )
    assert flown.report == kept.reports[-1]


@pytest.mark.parametrize("limit", [1, 5, 8])
def test_a_budget_of_steps_is_never_exceeded(ready, limit):
    integrator, _, schedule = ready()
    flown = integrator.fly(np.array(schedule.instants), limit, np.array([False]))
    assert flown.report.steps == limit
    assert (flown.numerics["steps"] <= limit).all()


def test_a_flight_that_is_stopped_before_it_begins_stays_at_the_start(ready):
    integrator, _, schedule = ready()
    flown = integrator.fly(np.array(schedule.instants), None, np.array([True]))
    np.testing.assert_array_equal(flown.snapshot.time, [0])
    assert flown.last.time == flown.report.time == 0
