"""Through fixed instants: the same states and counts as the host's loop keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.walk import Walk

import flowsim
from flowsim.observe import NUMERICS
from flowsim.problem import reduce
from flowsim.run.drive import Run, drive
from flowsim.solve import Report, Snapshot, choose, make
from flowsim.solve.integrator import COUNTS, Flown
from flowsim.solve.schedule import Schedule
from flowsim.solve.through import fly

INSTANTS = np.array([0.0, 2.5, 5.0, 7.25, 7.5, 10.0])


def through(walk: Any, limit: int | None = None, stopped: bool = False) -> Flown:
    return fly(walk, INSTANTS, limit, np.array([stopped]))


def test_every_instant_is_met_by_the_step_that_passes_it(report_at):
    flown = through(Walk(report_at))
    np.testing.assert_array_equal(flown.snapshot.time, INSTANTS)
    # the state of the walk is its time
    np.testing.assert_array_equal(flown.snapshot.log_norm, INSTANTS[:, None])
    np.testing.assert_array_equal(flown.numerics["steps"], np.ceil(INSTANTS))
    assert (flown.last.time, flown.report.time, flown.report.steps) == (10, 10, 10)


@pytest.mark.parametrize("fields", [{"reached": "loss 0.1"}, {"stalled": True}], ids=["a goal", "no further step"])
def test_where_a_flow_ends_the_instants_behind_are_left_out(report_at, fields):
    flown = through(Walk(report_at, 7.0, fields))
    np.testing.assert_array_equal(flown.snapshot.time, [0, 2.5, 5])
    assert {len(values) for values in flown.numerics.values()} == {3}
    assert (flown.last.time, flown.report.time) == (7, 7)
    assert {name: getattr(flown.report, name) for name in fields} == fields


@pytest.mark.parametrize(("limit", "reached"), [(1, 1), (5, 3), (8, 5), (10, 6), (99, 6)])
def test_a_budget_of_steps_is_never_exceeded(report_at, limit, reached):
    flown = through(Walk(report_at), limit)
    assert len(flown.snapshot.time) == reached
    assert flown.report.steps == min(limit, 10)


def test_a_flight_that_is_stopped_before_it_begins_stays_at_the_start(report_at):
    flown = through(Walk(report_at), stopped=True)
    np.testing.assert_array_equal(flown.snapshot.time, [0])
    assert flown.last.time == 0


def test_an_engine_flies_by_its_own_loop_where_it_has_one(report_at):
    class Compiled(Walk):
        def fly(self, instants, limit_steps, stopped):
            return instants, limit_steps, stopped

    instants, limit, stopped = through(Compiled(report_at), 3, True)  # type: ignore[misc]
    assert (instants is INSTANTS, limit, stopped.tolist()) == (True, 3, [True])


def test_what_is_counted_is_what_numerics_keep():
    assert set(COUNTS) == set(NUMERICS)


class Kept:
    """Where a drive's instants go."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.reports: list[Report] = []
        self.last_time = np.nan
        self.met = ""

    def keep(self, snapshot: Snapshot, report: Report) -> None:
        self.snapshots.append(snapshot)
        self.reports.append(report)
        self.last_time = snapshot.time


@pytest.mark.parametrize("until", [{"time": 30.0}, {"time": 30.0, "loss": 0.4}, {"time": 30.0, "steps": 15}], ids=str)
@pytest.mark.parametrize("spacing", ["linear", "log"])
@pytest.mark.parametrize(("engine", "activation"), [("diffrax", "prelu"), ("numba", "prelu"), ("numba", "relu")])
def test_a_flight_keeps_to_the_last_bit_what_a_drive_keeps(small, engine, activation, until, spacing):
    model = {"activation": activation, "width": 6}
    observe = {"times": 11, "spacing": spacing}
    scenario = small(seed=[0], model=model, flow__until=until, flow__engine=engine, observe=observe)
    (member,) = scenario.members
    reduced = reduce(flowsim.build(member))
    integrator = make(member, reduced, choose(member, reduced))
    schedule, kept = Schedule.of(scenario, 0.01), Kept()
    run = Run(integrator.begin(), replace(schedule))
    drive(integrator, member, run, kept, lambda report: None, lambda: None)
    flown = fly(integrator, np.array(schedule.instants), until.get("steps"), np.array([False]))
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
