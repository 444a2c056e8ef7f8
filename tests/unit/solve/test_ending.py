"""Where a goal is met within a step, of steps of which all is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flowsim.solve import Snapshot
from flowsim.solve.ending import MET, TRIALS, end_within
from flowsim.solve.integrator import Inside

NOTHING = Snapshot(0.0, np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))


class Step:
    """A step in which a goal lacks what a function of the part says."""

    def __init__(self, lacks: Any):
        self.lacks, self.looks = lacks, 0

    def within(self, carry: Any, part: float) -> Inside:
        self.looks += 1
        return Inside(NOTHING, part, np.nan, float(self.lacks(part)))


@pytest.mark.parametrize(
    ("lacks", "part"),
    [
        (lambda x: 0.3 - x, 0.3),
        (lambda x: 1e-9 - x**9, 0.1),
        (lambda x: np.exp(-30 * x) - np.exp(-6), 0.2),
        (lambda x: np.log(0.7) - np.log(x), 0.7),
    ],
)
def test_it_is_where_nothing_lacks_any_more(lacks, part):
    step: Any = Step(lacks)
    end = end_within(step, None)
    assert end is not None
    assert -MET <= end.lacking <= 0
    assert lacks(end.reading) == end.lacking
    assert end.reading == pytest.approx(part, rel=2e-3)
    assert step.looks < TRIALS


def test_a_jump_is_met_behind_it():
    end = end_within(Step(lambda x: 1.0 if x < 1 / 3 else -1.0), None)  # type: ignore[arg-type]
    assert end is not None
    assert end.lacking == -1
    assert end.reading == pytest.approx(1 / 3, abs=1e-12)


def test_a_loss_that_becomes_0_is_met():
    end = end_within(Step(lambda x: 1.0 if x < 0.4 else -np.inf), None)  # type: ignore[arg-type]
    assert end is not None
    assert end.reading == pytest.approx(0.4, abs=1e-12)


def test_what_is_not_met_has_no_end_within():
    assert end_within(Step(lambda x: 1e-17), None) is None  # type: ignore[arg-type]


def test_what_is_met_all_along_ends_where_the_step_began():
    end = end_within(Step(lambda x: -1e-17), None)  # type: ignore[arg-type]
    assert end is not None
    assert end.reading < 1e-8
