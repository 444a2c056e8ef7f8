"""Instants that are passed many at once are those that are passed one by one, to the last bit, whoever loops over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flowsim.observe import NUMERICS
from flowsim.run.prepare import Prepared
from flowsim.solve import Passed, Report, Snapshot, make
from flowsim.solve.advance import Course
from flowsim.solve.integrator import COUNTS, Flying
from flowsim.solve.schedule import Schedule

ONWARD = np.array([False])


def test_what_is_counted_is_what_numerics_keep():
    assert set(COUNTS) == set(NUMERICS)


class Grounded:
    """An integrator that has lost its own loop through instants."""

    def __init__(self, flying: Any):
        self.begin, self.advance, self.report = flying.begin, flying.advance, flying.report
        self.at, self.now = flying.at, flying.now
        self.within, self.goal, self.save, self.restore = flying.within, flying.goal, flying.save, flying.restore
        self.program, self.to_compile = flying.program, flying.to_compile


@pytest.fixture
def course_of(small) -> Callable[..., Course]:
    """The course of a flow on the compiled engine. grounded: without that engine's own loop."""

    def make_course(grounded: bool = False, **overrides: Any) -> Course:
        scenario = small(flow__engine="numba", **{"observe__times": 11, **overrides})
        prepared = Prepared(scenario)
        integrator: Any = make(scenario, prepared.reduced, prepared.plan)
        assert isinstance(integrator, Flying)
        if grounded:
            integrator = Grounded(integrator)
            assert not isinstance(integrator, Flying)
        carry = integrator.begin()
        first_step = integrator.report(carry).step_size
        return Course(integrator, carry, Schedule.of(scenario, first_step, prepared.plan.reading))

    return make_course


def gone(course: Course, at_once: int, chunks: int) -> tuple[Passed, Report, Snapshot]:
    """Until nothing is passed any more, in chunks of so many instants, and grids that are never coarsened."""
    parts = []
    for _ in range(chunks):
        passed = course.go_on(None, at_once, ONWARD)
        if passed is not None:
            parts.append(passed)
        elif course.report.reached or course.schedule.next == np.inf:
            break
    return Passed.join(parts), course.report, course.now


FLOWS = {
    "to a time": {"flow__until": {"time": 30.0}},
    "logarithmic": {"flow__until": {"time": 30.0}, "observe__spacing": "log"},
    "to a loss": {"flow__until": {"time": 30.0, "loss": 0.4}},
    "loss clock": {
        "loss__kind": "logistic",
        "flow": {"until": {"log10_loss": -400.0}, "clock": "loss"},  # to times that are no floats
        "observe": {"times": 1000, "spacing": "log"},
    },
    "sliding": {"model__activation": "relu", "flow__until": {"time": 30.0}, "observe__times": 60},
    "every step": {"flow__until": {"time": 3.0}, "observe__spacing": "solver"},
}


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
@pytest.mark.parametrize(("grounded", "at_once"), [(False, 7), (False, 10**6), (True, 7)], ids=str)
def test_many_at_once_are_those_one_by_one(course_of, flow, grounded, at_once):
    expected, end, last = gone(course_of(True, **flow), 1, 2000)
    passed, report, now = gone(course_of(grounded, **flow), at_once, 2000)
    assert len(passed) == len(expected) > 5
    assert report == end
    for name in ("direction", "log_norm", "output_sign", "output_log", "sliding"):
        np.testing.assert_array_equal(getattr(passed.snapshot, name), getattr(expected.snapshot, name), err_msg=name)
        np.testing.assert_array_equal(getattr(now, name), getattr(last, name), err_msg=name)
    for name in ("time", "log10_time"):  # by another logarithm
        found, there = getattr(passed.snapshot, name), getattr(expected.snapshot, name)
        assert (found is None) == (there is None)
        if there is not None:
            np.testing.assert_allclose(found, there, rtol=1e-14)
    for name in COUNTS:
        np.testing.assert_array_equal(passed.numerics[name], expected.numerics[name], err_msg=name)


@pytest.mark.parametrize("grounded", [False, True])
@pytest.mark.parametrize("most", [1, 5, 8])
def test_no_more_steps_are_tried_than_allowed(course_of, most, grounded):
    course = course_of(grounded)
    course.attempts = 100
    passed = course.go_on(most, 100, ONWARD)
    assert course.report.tried == most
    assert passed is not None
    assert (passed.numerics["steps"] <= most).all()
    assert course.schedule.index == len(passed)


@pytest.mark.parametrize("grounded", [False, True])
def test_one_that_is_stopped_before_it_begins_stays_at_the_start(course_of, grounded):
    course = course_of(grounded)
    passed = course.go_on(None, 100, np.array([True]))
    assert passed is not None
    np.testing.assert_array_equal(passed.snapshot.time, [0])
    assert course.go_on(None, 100, np.array([True])) is None
    assert course.report.time == course.report.tried == 0


def test_it_never_goes_past_the_instant_by_which_its_grid_is_coarsened(course_of):
    course = course_of(flow__until={"loss": 1e-3})
    course.attempts = 10**6
    passed = course.go_on(None, 10**6, ONWARD)
    assert passed is not None
    assert len(passed) == 2 * 11 - 1
    while not course.crowded:
        assert course.go_on(None, 10**6, ONWARD) is None
    assert course.report.reading < course.schedule.bound + course.report.step_size
    course.schedule.coarsen()
    assert not course.crowded
    assert course.schedule.index == 11
