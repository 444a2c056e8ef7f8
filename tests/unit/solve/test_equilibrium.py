"""When a flow counts as at rest, told by snapshots of which all is known."""

from __future__ import annotations

import numpy as np
import pytest

from flowsim.problem import build, reduce
from flowsim.solve import Snapshot, equilibrium
from flowsim.solve.equilibrium import Rest


def at(time: float, turned: float = 0.0) -> Snapshot:
    """Two neurons, one of which has turned by an angle."""
    direction = np.array([[1.0, 0.0], [np.cos(turned), np.sin(turned)]])
    return Snapshot(time, direction, np.zeros(2), np.ones(2), np.zeros(2))


def settled_at(turned, log_loss, rtol: float = 1e-6, until: float = 1e5) -> float:
    """The first of many times at which a flow counts as at rest, inf if at none."""
    watcher = Rest(rtol, next_look=100.0)
    for time in np.geomspace(1.0, until, 400):
        watcher.note(at(time, turned(time)), log_loss(time), by_loss=False)
        if watcher.settled:
            return time
    return np.inf


def test_what_does_not_move_rests_at_the_second_look():
    assert settled_at(lambda t: 0.0, lambda t: 1.0) == pytest.approx(100 * np.e, rel=0.06)


@pytest.mark.parametrize("rate", [1e-5, 1e-3, 0.1])
def test_what_converges_does_not_rest_before_it_has(rate):
    # a mode that decays, on top of nothing: its loss is its square
    found = settled_at(lambda t: np.exp(-rate * t), lambda t: -2 * rate * t)
    assert found == np.inf


def test_a_slow_mode_above_a_positive_loss_is_waited_for():
    rate = 1e-3
    found = settled_at(lambda t: np.exp(-rate * t), lambda t: np.log(1 + np.exp(-2 * rate * t)))
    assert np.exp(-rate * found) < 0.1
    assert found < 1e5


def test_a_solver_s_own_errors_are_no_progress():
    rng = np.random.default_rng(0)
    rtol = 1e-6
    found = settled_at(lambda t: rtol * rng.normal(), lambda t: -20 - rng.uniform(), rtol=rtol)
    assert found < 1e4


def test_weights_that_grow_by_any_law_are_no_rest():
    assert settled_at(lambda t: 0.2 * np.log(t), lambda t: 0.0) == np.inf


def test_a_saved_one_goes_on_as_it_would_have():
    one, other = Rest(1e-6, 100.0), Rest(1e-6, np.nan)
    one.note(at(150.0, 0.3), -1.0, by_loss=False)
    other.restore(one.saved())
    for watcher in (one, other):
        watcher.note(at(450.0, 0.3), -1.0, by_loss=False)
        assert watcher.settled == equilibrium.AT_REST


@pytest.mark.parametrize(
    ("until", "watched"),
    [({"loss": 0.1}, True), ({"alignment": 0.9}, True), ({"time": 9.0, "loss": 0.1}, False), ({"steps": 9}, False)],
)
def test_only_what_has_no_end_of_its_own_is_watched(small, until, watched):
    scenario = small(flow__until=until)
    assert (Rest.of(scenario, reduce(build(scenario)), 0.01) is not None) == watched


def test_the_angle_to_a_goal_has_to_fall(small):
    scenario = small(flow__until={"alignment": 0.99}, loss__kind="exponential")
    reduced = reduce(build(scenario))
    watcher = Rest.of(scenario, reduced, 1e-3)
    start = Snapshot(0.0, reduced.direction, np.zeros(6), np.ones(6), np.zeros(6))
    assert watcher is not None
    worst = watcher.target.angle(start)
    centers = watcher.target._watch.center[watcher.target._watch.targeted]
    cosines = np.einsum("jr,jr->j", centers, reduced.direction[watcher.target._watch.targeted])
    assert worst == pytest.approx(np.arccos(cosines.min()) - np.arccos(0.99))
    for time in (1e4, 1e5, 1e9, 1e15):
        watcher.note(Snapshot(time, *(start._rows()[1:5])), -1.0, by_loss=True)
    assert watcher.settled == equilibrium.TURNED


def dying(time: float, turned: float = 0.0, ratio: float = 1.0) -> Snapshot:
    """Two neurons that hold still, but for the second's size, which falls like 1/t: |v| = ratio |w|."""
    size = np.array([0.0, -np.log(time)])
    direction = np.array([[1.0, 0.0], [np.cos(turned), np.sin(turned)]])
    return Snapshot(time, direction, size, np.ones(2), size + np.log(ratio))


@pytest.mark.parametrize(
    ("mortal", "turned", "ratio", "rests"),
    [
        (True, 0.0, 1.0, True),
        (True, 0.0, 2.0, True),
        (True, 0.0, 0.5, False),  # v will pass through zero, and the neuron grow again
        (True, 1e-9, 1.0, False),  # it is turned away from where it would die
        (False, 0.0, 1.0, False),
    ],
)
def test_a_neuron_that_dies_keeps_nothing_from_rest(mortal, turned, ratio, rests):
    watcher = Rest(1e-6, next_look=100.0, mortal=mortal)
    for time in np.geomspace(1.0, 1e5, 200):
        watcher.note(dying(time, turned * np.log(time), ratio), -1.0, by_loss=False)
    assert bool(watcher.settled) == rests


def test_a_neuron_that_shrinks_by_next_to_nothing_may_turn_as_little():
    """What is slow enough to be at rest by any rule is not made to move by being counted as dying."""
    watcher = Rest(1e-6, next_look=100.0, mortal=True)
    for time in np.geomspace(1.0, 1e5, 200):
        shrunk = np.array([0.0, -1e-4 * np.log(time)])
        turned = 1e-4 * np.log(time)
        direction = np.array([[1.0, 0.0], [np.cos(turned), np.sin(turned)]])
        watcher.note(Snapshot(time, direction, shrunk, np.ones(2), shrunk), -1.0, by_loss=False)
    assert watcher.settled
