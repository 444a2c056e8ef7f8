"""The reference for the flow of ReLU networks, against what is known of it; no engine is run here."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support import degenerate
from support.clarke_reference import averaged, distance, euler, extrapolated, minimal_norm_subgradient, with_error
from support.clusters import CLUSTERS
from support.degenerate import problem_on
from support.reference import Plain

import flowsim

TINY = 1e-9
TIMES = np.array([0.5, 1.0, 2.0, 4.0])


@pytest.fixture(scope="module")
def clusters():
    return flowsim.build(flowsim.loads(CLUSTERS))


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"loss.kind": "square"},
        {"loss.kind": "logistic", "model.activation": "leaky_relu", "model.slope": 0.2},
        {"model.output": "fixed", "model.output_weight": 0.3, "init.scale": 0.1},
        {"init.balanced": False, "loss.reduction": "per_cluster", "model.bias": False},
    ],
    ids=str,
)
def test_two_unlike_methods_agree(overrides):
    problem = flowsim.build(flowsim.loads(CLUSTERS, overrides=overrides))
    times = np.array([0.5, 1.0])
    plain, rough = extrapolated(euler, problem, times, 1e-3 / 8)
    mean, error = with_error(partial(averaged, refine=16), problem, times, 1e-2)
    assert error.max() < 1e-4
    # the estimate is as large as the error, not above it: both are the step times chatter's phases, which rounding moves
    assert distance(plain, mean).max() < max(2 * rough.max(), 2e-4)
    assert mean.sliding[-1].any()
    np.testing.assert_array_equal(mean.output == problem.output, not problem.trained_output)


def test_the_loss_falls_by_the_square_of_the_shortest_subgradient(clusters):
    half, plain = 1e-3, Plain(clusters)
    for time in (1.0, 2.5):
        path = averaged(clusters, np.array([time - half, time, time + half]), half, refine=16)
        before, _, after = (plain.loss(*weights) for weights in zip(path.hidden, path.output, strict=True))
        assert (path.switches[0] == path.switches[2]).all(), "a crossing in between"
        assert path.sliding[1].sum() > 60
        parts = minimal_norm_subgradient(clusters, path.hidden[1], path.output[1])
        square = sum(np.sum(part**2) for part in parts)
        np.testing.assert_allclose((after - before) / (2 * half), -square, rtol=1e-5)


def test_off_the_boundaries_the_shortest_subgradient_is_the_gradient(clusters):
    plain = Plain(clusters)
    found = minimal_norm_subgradient(clusters, *plain.start())
    for part, expected in zip(found, plain.gradient(*plain.start()), strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-6 * np.abs(expected).max())


def test_mean_gates_keep_neurons_balanced(clusters):
    path = averaged(clusters, np.array([2.0]), 0.01, refine=4)
    np.testing.assert_allclose(np.linalg.norm(path.hidden, axis=2), np.abs(path.output), rtol=1e-12)


@pytest.mark.parametrize("method", [averaged, euler])
def test_opposing_cosines_reach_0_in_finite_time_and_stay(method):
    labels = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    start = np.array([0.5, 0.1, 0.3, 0.6, -0.2, 0.4])
    problem = problem_on(*degenerate.orthonormal(labels), TINY * np.array([start, start]), np.array([1.0, -1.0]))
    times = np.array([1.0, 3.0, 6.0, 9.0])
    path = method(problem, times, 1e-3 if method is averaged else 1e-4)
    tolerance = 1e-6 if method is averaged else 1e-4
    for neuron, sign in enumerate((1, -1)):
        expected, instants = degenerate.orthonormal_alignment(start, sign * labels, 1 / 5, times)
        np.testing.assert_allclose(path.hidden[:, neuron] / TINY, expected, rtol=tolerance, atol=tolerance)
        assert np.isfinite(instants).sum() == (sign * labels[:4] < 0).sum()
        assert (instants[np.isfinite(instants)] < 6).all()


@pytest.mark.parametrize(("inputs", "targets"), degenerate.ON_ONE_LINE.values(), ids=degenerate.ON_ONE_LINE)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_samples_lie_on_one_line_all_gates_of_a_neuron_change_at_once(inputs, targets, side, sign):
    unit = inputs[0] / np.linalg.norm(inputs[0])
    across = np.array([0.0, 0.0, 0.7])
    problem = problem_on(inputs, targets, TINY * (side * 0.5 * unit + across)[None], np.array([sign]))
    pull = sign * targets / len(targets) * (inputs @ unit)
    up, down = pull[inputs @ unit > 0].sum(), pull[inputs @ unit < 0].sum()
    path = averaged(problem, TIMES, 1e-3)
    expected = degenerate.line_alignment(side * 0.5, 0.7, up, down, TIMES)
    np.testing.assert_allclose(path.hidden[:, 0] @ unit / TINY, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(path.hidden[:, 0, 2], TINY * 0.7, rtol=1e-12)


@pytest.mark.parametrize("method", [averaged, euler])
def test_a_neuron_that_starts_on_a_boundary_and_slides_follows_the_logistic_curve(method):
    problem = problem_on(*degenerate.at_a_boundary(-1.0, 0.5), np.array([[0.0, 0.1]]), np.array([1.0]))
    path = method(problem, TIMES, 1e-3 if method is averaged else 1e-4)
    tolerance = 1e-6 if method is averaged else 1e-4
    norm, gate = degenerate.sliding_logistic(0.1, 0.5, TIMES)
    np.testing.assert_allclose(path.hidden[:, 0, 1], norm, rtol=tolerance)
    np.testing.assert_allclose(path.hidden[:, 0, 0], 0, atol=tolerance)
    np.testing.assert_allclose(path.gate[:, 0, 0], gate, rtol=1e-3 if method is averaged else 2e-2)


@pytest.mark.parametrize(
    ("target", "lean", "gate"), [(1.0, 0.5, 1.0), (-1.0, -0.5, 0.0), (1.0, -0.5, 0.0)], ids=["up", "down", "repelled"]
)
def test_a_neuron_that_starts_on_a_boundary_leaves_on_a_straight_line(target, lean, gate):
    problem = problem_on(*degenerate.at_a_boundary(target, lean), TINY * np.array([[0.0, 1.0]]), np.array([1.0]))
    force = np.array([gate * target + lean, 1.0]) / 2
    times = np.array([0.25, 0.5, 0.75])
    clock = degenerate.Clock(np.array([0.0, 1.0]), force)
    expected = np.array([0.0, 1.0]) + np.outer(clock.sigma(times), force)
    np.testing.assert_allclose(averaged(problem, times, 1e-3).hidden[:, 0] / TINY, expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["square", "exponential"])
@pytest.mark.parametrize(("features", "times"), [(1, TIMES), (3, np.array([0.3, 0.7]))])
def test_more_boundaries_than_dimensions(loss, features, times):
    inputs, targets = degenerate.on_a_line(features)
    hidden = 0.1 * np.random.default_rng(0).standard_normal((8, features + 1))
    problem = problem_on(inputs, targets, hidden, np.resize([1.0, -1.0], 8), loss, bias=True)
    mean = averaged(problem, times, 1e-3)
    assert mean.sliding.any()
    assert distance(mean, euler(problem, times, 1e-5)).max() < 1e-4


@pytest.mark.parametrize("method", [averaged, euler])
def test_a_neuron_reaches_all_boundaries_at_once_in_finite_time(method):
    inputs, targets = degenerate.on_a_line(3)
    hidden = 0.1 * np.random.default_rng(0).standard_normal((8, 4))
    problem = problem_on(inputs, targets, hidden, np.resize([1.0, -1.0], 8), bias=True)
    path = method(problem, np.array([0.7, 0.709]), 1e-3 if method is averaged else 1e-5)
    in_plane = np.abs(path.hidden[:, 5] @ np.array([[1.0, 0, 0, 0], [0, 0, 0, 1.0]]).T).max(axis=1)
    assert in_plane[0] > 2e-4
    assert in_plane[1] < 5e-5


def test_conflicting_duplicates_are_one_sample_with_their_mean_target():
    hidden = 0.3 * np.array([[-1.0, 1.0, 0.2], [1.0, 0.1, 0.3], [-0.2, -0.3, 1.0]])
    signs = np.array([1.0, 1.0, -1.0])
    twice = problem_on(*degenerate.duplicated(np.array([1.0, -1.0])), hidden, signs)
    inputs, targets = degenerate.duplicated(np.array([0.0]))
    once = problem_on(inputs, targets, hidden, signs)
    once.sample_weight[:] = [2 / 3, 1 / 3]
    assert distance(averaged(twice, TIMES, 1e-2), averaged(once, TIMES, 1e-2)).max() < 1e-6


def test_parallel_samples_share_a_gate_in_the_subdifferential():
    inputs, targets = degenerate.collinear([1.0, -1.0], [2.0, 1.0])
    third = [-2.4, -3.2, 0.5]
    problem = problem_on(
        np.vstack([inputs, third]), np.append(targets, 1.0), np.array([[0.0, 0.0, 1.0]]), np.array([1.0])
    )
    hidden_part, _ = minimal_norm_subgradient(problem, problem.hidden, problem.output)
    # the third pulls with (1 - 0.5)/3 * -4 along e; the two together give up to (2 - 1)/3, each by itself up to 2/3
    np.testing.assert_allclose(-hidden_part[0] @ [0.6, 0.8, 0.0], -1 / 3, rtol=1e-12)


@pytest.mark.slow
def test_two_hundred_neurons_on_three_points_end_at_the_least_squares_line():
    inputs, targets = np.array([[-0.75], [-0.5], [0.125]]), np.array([1.1, 0.1, 0.8])
    hidden = 1e-6 * np.random.default_rng(0).standard_normal((200, 2))
    signs = np.resize([1.0, -1.0], 200)
    problem = problem_on(inputs, targets, hidden, signs, bias=True)
    path, plain = averaged(problem, np.array([150.0]), 0.1, refine=16), Plain(problem)
    line = np.polynomial.Polynomial.fit(inputs[:, 0], targets, 1)(inputs[:, 0])
    np.testing.assert_allclose(plain.neurons(path.hidden[0]) @ path.output[0], line, atol=1e-5)
    np.testing.assert_allclose(2 * plain.loss(path.hidden[0], path.output[0]), 512 / 2925, rtol=1e-8)
    assert not path.sliding.any()
