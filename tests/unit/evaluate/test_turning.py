"""How neurons of a smooth activation turn in a step of the asymptotic flow: against other solvers, and where they rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flowsim
from flowsim.evaluate.kkt import asymptotic
from flowsim.evaluate.kkt.certificate import Network, residuals
from flowsim.evaluate.kkt.program import Program
from flowsim.evaluate.kkt.sizes import Hyperbolic, Plain
from flowsim.evaluate.kkt.smooth import polish
from flowsim.evaluate.kkt.state import State, System, View
from flowsim.evaluate.kkt.turning import Held, forces, turned
from flowsim.problem import reduce

ANGLE = 0.6


def system(inputs, label=None, trained=True):
    inputs = np.asarray(inputs, dtype=float)
    label = np.ones(len(inputs)) if label is None else np.asarray(label, dtype=float)
    return System(inputs, label, 1.0, 3.0, 0.0, trained, inputs @ inputs.T)


def force(asked, direction, weight):
    projection = direction @ asked.inputs.T
    _, slope = asked.response(projection)
    return projection, forces(asked, direction, projection, weight, slope)


@pytest.mark.parametrize("speed", [1e6, -1e6])
def test_a_light_neuron_comes_to_rest_where_the_flow_brings_it(speed):
    """w' = speed H(w). Of the wrong sign, it shrinks and turns to where no sample pulls; of the other, it grows along a
    direction of largest pull. One step of Euler's method would overturn it."""
    asked = system([[1.0, 0.0], [np.cos(ANGLE), np.sin(ANGLE)]], trained=False)
    weight, start = np.array([0.7, 0.3]), np.array([[np.cos(1.2), np.sin(1.2)]])
    projection, pull = force(asked, start, weight)
    direction, grown, _ = turned(asked, start, projection, weight, pull, np.array([speed]), None)

    def field(time, w):
        return speed * force(asked, w[None] / np.linalg.norm(w), weight)[1][0]

    there = solve_ivp(field, (0, 1), start[0], rtol=1e-9, atol=1e-12).y[:, -1]
    angle = np.arccos(np.clip(direction[0] @ there / np.linalg.norm(there), -1, 1))
    assert angle < 0.01
    if speed > 0:
        # parts are of first order
        assert grown[0] == pytest.approx(np.log(np.linalg.norm(there)), abs=0.3)
    else:
        assert np.abs(force(asked, direction, weight)[1]).max() < 1e-3


def opposed():
    """(system, state): pulls of both signs that nearly cancel, and a neuron beside where theirs is largest."""
    asked = system([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.8, -0.6, 0.0], [0.0, 0.0, 1.0]], [1, -1, -1, 1])
    weight = np.array([1.0, 0.4, 0.4, 0.2])
    direction = np.array([[np.cos(0.01), np.sin(0.01), 0.0]])
    one = np.zeros(1)
    sizes = Hyperbolic.of(one, one, one + 1, one, one)
    return asked, State(direction, sizes, weight=weight)


def test_a_long_step_brings_a_held_neuron_to_rest_and_leaves_it_there():
    asked, state = opposed()
    view, turn = View.of(asked, state), np.array([50.0])
    weight = state.weight
    projection, pull = force(asked, state.direction, weight)
    held = Held.of(asked, state, view, turn)
    after, _, _ = turned(asked, state.direction, projection, weight, pull, turn, held)
    without, _, _ = turned(asked, state.direction, projection, weight, pull, turn, None)
    # a small step says which way
    least, _, _ = turned(asked, state.direction, projection, weight, pull, np.array([1e-3]), None)
    assert abs(least[0, 1]) < 0.01
    assert abs(after[0, 1]) < 2e-3
    assert abs(without[0, 1]) > 0.02
    rest = State(np.array([[1.0, 0.0, 0.0]]), state.sizes, weight=weight)
    projection, pull = force(asked, rest.direction, weight)
    held = Held.of(asked, rest, View.of(asked, rest), turn)
    there, _, _ = turned(asked, rest.direction, projection, weight, pull, turn, held)
    np.testing.assert_allclose(there, rest.direction, atol=1e-15)


def test_a_program_tells_the_margins_after_a_long_step_to_second_order():
    """Beside a KKT point, what is told and what comes differ like the square of the distance from it. log|theta| grows by 2
    in the step."""
    rng = np.random.default_rng(2)
    asked = system(rng.normal(size=(6, 3)) / 4, [1, 1, 1, -1, -1, -1])
    direction = np.vstack([asked.inputs[:3], asked.inputs[3:]])
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    zeros, sign = np.zeros(6), asked.label.copy()
    state = State(direction, Hyperbolic.of(zeros, zeros, sign, zeros, zeros))
    for _ in range(150):
        state, pull = asymptotic.step(asked, state, 0.3)
    assert pull.distance < 1e-6
    shift, advance = rng.normal(size=direction.shape), 2.0
    wrong = []
    for size in (1e-2, 1e-3):
        moved = state.direction + size * shift
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        beside = State(moved, state.sizes, weight=state.weight)
        view = View.of(asked, beside)
        least, rows = float(view.margin.min()), np.arange(6)
        length = advance / (2 * least)
        turn = asymptotic._turn(asked, beside, view, length)
        held = Held.of(asked, beside, view, turn)
        near = np.zeros(view.projection.shape, dtype=bool)
        program = Program(asked, beside, view, near, rows, length, held, advance)
        pull = asymptotic._pull(asked, beside, view, program, least)
        margin = View.of(asked, asymptotic._moved(asked, beside, view, pull, turn, held, length, advance)).margin
        told, raised = program.told / (pull.weight @ program.told), pull.weight > 1e-6
        wrong.append(np.abs(told - margin / (pull.weight @ margin))[raised].max())
        program.correct(margin, pull.weight)
        again = asymptotic._pull(asked, beside, view, program, least)
        after = View.of(asked, asymptotic._moved(asked, beside, view, again, turn, held, length, advance)).margin
        assert np.ptp(after[raised]) < 0.2 * np.ptp(margin[raised])
    assert wrong[1] < wrong[0] / 30


def test_two_neurons_that_part_leave_a_saddle_that_one_does_not(small):
    """Halfway between two samples, a pReLU neuron has the smallest pull: one has to stay for both, of two each goes to its
    own."""
    inputs = np.array([[np.cos(0.9), np.sin(0.9)], [np.cos(0.9), -np.sin(0.9)]])
    problem = flowsim.build(
        small(model={"activation": "prelu", "degree": 3, "width": 1}, loss__kind="exponential"),
        data=flowsim.Data(inputs, np.ones(2)),
    )
    reduced = reduce(problem)
    both = reduced.inputs.sum(axis=0)
    unit, cosine = both / np.linalg.norm(both), np.cos(0.9)
    size = cosine**-1.5
    start = Network(size * unit[None], np.array([size]))
    multiplier = np.full(2, 0.5 * size**2)
    assert max(residuals(start, reduced, multiplier, None).values()) < 1e-12
    curvature = {
        several: polish(start, reduced, multiplier, np.ones(2, dtype=bool), np.array([several])).curvature
        for several in (False, True)
    }
    assert curvature[False] > -1e-6
    assert curvature[True] < -0.1


def test_both_layers_of_a_power_come_to_rest_where_they_grow_alike():
    """|w|^2 = p v^2 at a KKT point of max(w x, 0)^p v, however long the steps."""
    inputs = np.eye(2)
    asked = System(inputs, np.ones(2), 2.0, 2.0, 0.0, True, inputs @ inputs.T)
    state = State(np.eye(2), Plain(np.zeros(2), np.zeros(2), np.ones(2)))
    for _ in range(60):
        state, pull = asymptotic.step(asked, state, 0.3)
    assert pull.distance < 1e-8
    np.testing.assert_allclose(2 * (state.sizes.log_norm - state.sizes.output_log), np.log(2), atol=1e-8)
