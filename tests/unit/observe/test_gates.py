"""Gates: 1 where a neuron is active, 0 where it is not, and where it slides what keeps it on its boundary."""

from __future__ import annotations

import numpy as np
import pytest
from support import degenerate
from support.degenerate import problem_on
from support.reference import Plain

import flowsim
from flowsim.observe import OBSERVABLES, Instant, Setting
from flowsim.problem import reduce
from flowsim.solve import Plan, make

CLUSTERS = """
seed = 1

[data]
dimension = 30
positive = 2
negative = 2
centers = "equicorrelated"
cosine = 0.3
radius = 3.0
noise = { per_coordinate = 0.5 }
samples = 40

[model]
activation = "relu"
width = 10
bias = true

[init]
scale = 1e-2

[loss]
kind = "exponential"
"""

VARIANTS = {
    "relu, polar": {},
    "relu, cartesian": {"flow.coordinates": "cartesian"},
    "leaky relu, unbalanced": {
        "model": {"activation": "leaky_relu", "slope": 0.2, "width": 10},
        "init.balanced": False,
    },
    "all features": {"flow.reduce": False, "loss.kind": "square"},
    "few dimensions": {"data.dimension": 5, "data.noise": {"per_coordinate": 1.5}, "loss.kind": "logistic"},
}


def follow(problem: flowsim.Problem, times, coordinates: str = "polar", **options: bool) -> list[Instant]:
    """The problem seen at these times."""
    reduced = reduce(problem, **options)
    scenario = flowsim.loads("", overrides={"flow.rtol": 1e-9, "flow.until.time": float(times[-1])})
    integrator = make(scenario, reduced, Plan("numba", "dopri5", coordinates, (), (), follows_sliding=True))
    setting, carry, found = Setting(reduced, follows_sliding=True), integrator.begin(), []
    for time in times:
        carry = integrator.advance(carry, time, 100_000)
        snapshot = integrator.now(carry) if integrator.report(carry).time == time else integrator.at(carry, time)
        found.append(Instant(setting, snapshot))
    return found


def value(name: str, instant: Instant):
    return np.asarray(OBSERVABLES[name].value(instant))


def velocity_at_unit_scale(instant: Instant, gate) -> np.ndarray:
    """(m, r): the sum over samples of derivative times pull times sample, with these gates."""
    reduced, slope = instant.setting.reduced, instant.setting.problem.activation.inactive_slope
    pull = -reduced.sample_weight * instant.loss_derivative
    return ((slope + (1 - slope) * gate) * pull) @ reduced.inputs


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=list(VARIANTS))
def instants(request) -> list[Instant]:
    scenario = flowsim.loads(CLUSTERS, overrides=request.param)
    flow = scenario.flow
    coordinates = flow.coordinates if flow.coordinates != "auto" else "polar"
    found = follow(flowsim.build(scenario), [0.3, 1.0, 2.0, 4.0], coordinates, project=flow.reduce)
    assert sum(value("sliding_pairs", instant) for instant in found) >= 4
    return found


def test_gates_lie_between_0_and_1(instants):
    gate = np.array([value("gate", instant) for instant in instants])
    sliding = np.array([instant.snapshot.sliding for instant in instants])
    assert ((gate >= 0) & (gate <= 1)).all()
    assert ((gate[~sliding] == 0) | (gate[~sliding] == 1)).all()
    assert ((gate[sliding] > 0) & (gate[sliding] < 1)).all()


def test_off_the_boundaries_they_are_the_signs_of_the_pre_activations(instants):
    for instant in instants:
        pre_activation = instant.snapshot.direction @ instant.setting.reduced.inputs.T
        active = (pre_activation > 0)[~instant.snapshot.sliding]
        np.testing.assert_array_equal(value("gate", instant)[~instant.snapshot.sliding], active)


def test_with_these_gates_no_sliding_neuron_leaves_its_boundary(instants):
    for instant in instants:
        inputs, sliding = instant.setting.reduced.inputs, instant.snapshot.sliding
        force = velocity_at_unit_scale(instant, value("gate", instant))
        size = np.linalg.norm(force, axis=1)[:, None] * np.linalg.norm(inputs, axis=1)
        assert np.abs((force @ inputs.T)[sliding] / size[sliding]).max(initial=0) < 1e-9
        # gates of 0 or 1 would move it off
        rounded = velocity_at_unit_scale(instant, np.round(value("gate", instant)))
        assert not sliding.any() or np.abs((rounded @ inputs.T)[sliding] / size[sliding]).max() > 1e-3


def test_gates_are_of_the_engine_s_own_motion():
    # the motion between two instants, in which no gate changes, against the velocity that the gates in the middle give
    half, time = 1e-4, 1.0
    scenario = flowsim.loads(CLUSTERS)
    problem = flowsim.build(scenario)
    before, instant, after = follow(problem, [time - half, time, time + half])
    assert value("sliding_pairs", instant) > 4
    assert (before.snapshot.sliding == after.snapshot.sliding).all()
    hidden = [np.exp(found.snapshot.log_norm)[:, None] * found.snapshot.direction for found in (before, after)]
    output = instant.snapshot.output_sign * np.exp(instant.snapshot.output_log)
    expected = output[:, None] * velocity_at_unit_scale(instant, value("gate", instant))
    np.testing.assert_allclose(
        (hidden[1] - hidden[0]) / (2 * half), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max()
    )


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
def test_the_gate_of_a_neuron_that_slides_along_one_boundary_is_its_closed_form(coordinates):
    problem = problem_on(*degenerate.at_a_boundary(-1.0, 0.5), np.array([[0.0, 0.1]]), np.array([1.0]))
    times = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    _, expected = degenerate.sliding_logistic(0.1, 0.5, times)
    found = follow(problem, times, coordinates)
    np.testing.assert_allclose([value("gate", instant)[0, 0] for instant in found], expected, rtol=1e-7)
    assert all(value("gate", instant)[0, 1] == 1 for instant in found)
    assert all(value("sliding_pairs", instant) == 1 for instant in found)


def test_opposite_samples_share_a_gate_and_count_each():
    # x and -x with targets -1: the neuron is held at <w, x> = 0, where x's gate is pull_2/(pull_1 + pull_2), -x's the rest
    inputs, targets = degenerate.opposite(-1.0, -1.0)
    inputs, targets = np.vstack([inputs, [0.0, 1.0, 0.0]]), np.append(targets, 1.0)
    problem = problem_on(inputs, targets, 1e-9 * np.array([[0.1, 1.0, 0.0]]), np.array([1.0]))
    instant = follow(problem, np.array([3.0]))[0]
    np.testing.assert_allclose(value("gate", instant), [[0.5, 0.5, 1.0]], rtol=1e-7)
    assert value("sliding_pairs", instant) == 2


def test_equal_samples_count_each_whether_they_are_merged_or_not():
    inputs, targets = degenerate.at_a_boundary(-1.0, 0.5)
    problem = problem_on(inputs[[0, 0, 0, 1]], targets[[0, 0, 0, 1]], np.array([[0.0, 0.1]]), np.array([1.0]))
    problem.sample_weight[:] = [1 / 6, 1 / 6, 1 / 6, 1 / 2]
    for merge, rows in ((True, 2), (False, 4)):
        instant = follow(problem, np.array([1.0]), merge=merge)[0]
        assert instant.snapshot.sliding.shape == (1, rows)
        assert value("sliding_pairs", instant) == 3
        _, expected = degenerate.sliding_logistic(0.1, 0.5, np.array([1.0]))
        of_sample = value("gate", instant)[0, instant.setting.reduced.representative]
        np.testing.assert_allclose(of_sample, [*np.repeat(expected, 3), 1.0], rtol=1e-7)


def test_without_an_engine_that_follows_them_gates_are_signs(small, setting_of, moved):
    setting = setting_of(small(model={"activation": "relu", "width": 6}))
    instant = Instant(setting, moved(setting, 1.0))
    expected = instant.snapshot.direction @ setting.reduced.inputs.T > 0
    np.testing.assert_array_equal(value("gate", instant), expected)


def test_a_run_keeps_gates_of_all_samples_and_its_outputs_are_those_of_the_weights(small):
    scenario = small(
        model={"activation": "relu", "width": 6},
        data__noise={"total": 0.0},
        data__label_noise=0.25,
        observe={"variables": ["gate", "sliding_pairs", "margin", "log_norm", "output_weight"], "snapshots": "all"},
    )
    run, problem = flowsim.run(scenario).dataset, flowsim.build(scenario)
    assert run["gate"].dims == ("time", "neuron", "sample")
    assert run["gate"].shape[1:] == (6, 24)
    for time in (0, 5, 10):
        hidden = np.exp(run["log_norm"].values[time])[:, None] * run["direction"].values[time]
        outputs = Plain(problem).neurons(hidden) @ run["output_weight"].values[time]
        np.testing.assert_allclose(run["margin"][time], problem.targets * outputs, atol=1e-12)
