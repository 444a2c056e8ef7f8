"""Networks with a kink follow Clarke's subdifferential: they cross and slide along boundaries as theory and two unlike
references say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import degenerate
from support.clarke_reference import averaged, distance, euler, minimal_norm_subgradient
from support.clusters import CLUSTERS
from support.degenerate import problem_on
from support.flown import flown
from support.reference import Plain

import flowsim

TINY = 1e-9
TIMES = np.array([0.5, 1.0, 2.0, 4.0])
BOTH = pytest.mark.parametrize("coordinates", ["polar", "cartesian"])

VARIANTS = [
    {"loss.kind": "square"},
    {"loss.kind": "logistic", "model.activation": "leaky_relu", "model.slope": 0.2},
    {"model.output": "fixed", "model.output_weight": 0.3, "init.scale": 0.1},
    {"init.balanced": False, "loss.reduction": "per_cluster", "model.bias": False},
]


def clusters(**overrides):
    return flowsim.build(flowsim.loads(CLUSTERS, overrides=overrides))


def apart(run, reference) -> float:
    """The largest distance of any neuron at any time, relative to the neuron."""
    return float(distance(run, reference).max())


@pytest.mark.papers
def test_six_clusters_agree_with_both_references_while_many_pairs_slide():
    problem, times = clusters(), np.array([0.5, 1.0])
    run = flown(problem, times, rtol=1e-6)
    assert (run.sliding.sum(axis=(1, 2)) >= 30).all()
    assert apart(run, averaged(problem, times, 3.125e-4, refine=32)) < 1e-6
    rough, fine = (euler(problem, times, step) for step in (1.6e-5, 4e-6))
    assert apart(run, fine) < 1e-5 < apart(run, rough) < 1e-4


def test_an_event_costs_a_step_at_most_and_one_neuron_where_no_other_feels_it():
    problem, times = clusters(), np.array([5.0])
    loose, tight = (flown(problem, times, rtol=rtol) for rtol in (1e-4, 1e-8))
    assert apart(loose, tight) < 1e-4
    assert loose.report.events > 700
    assert tight.report.events > 700
    assert loose.report.evaluations <= 2 * loose.report.events
    assert tight.report.evaluations <= 7 * tight.report.events
    # a neuron that goes on by itself to the end of a step of dopri5
    assert loose.report.updates >= 7 * 0.5 * loose.report.events


@pytest.mark.parametrize("solver", ["dopri5", "dop853"])
@BOTH
def test_solvers_and_coordinates_agree(solver, coordinates):
    problem, times = clusters(), np.array([1.0, 5.0])
    reference = flown(problem, times, rtol=1e-12)
    run = flown(problem, times, rtol=1e-8, solver=solver, coordinates=coordinates)
    assert apart(run, reference) < 1e-7
    np.testing.assert_array_equal(run.sliding, reference.sliding)


@pytest.mark.parametrize("overrides", VARIANTS, ids=str)
def test_every_network_with_a_kink_agrees_with_the_mean_gates(overrides):
    problem, times = clusters(**overrides), np.array([0.5, 1.0])
    reference = averaged(problem, times, 3.125e-4, refine=32)
    for coordinates in ("polar", "cartesian"):
        run = flown(problem, times, rtol=1e-8, coordinates=coordinates)
        assert apart(run, reference) < 5e-6
        assert run.sliding[-1].any()


@pytest.mark.parametrize("time", [1.0, 2.5, 4.0])
def test_the_loss_falls_by_the_square_of_the_shortest_subgradient(time):
    half, problem = 1e-4, clusters()
    run, plain = flown(problem, np.array([time - half, time, time + half]), rtol=1e-12), Plain(problem)
    before, _, after = (plain.loss(*weights) for weights in zip(run.hidden, run.output, strict=True))
    assert run.sliding[1].sum() > 60
    assert (run.sliding[0] == run.sliding[2]).all()
    parts = minimal_norm_subgradient(problem, run.hidden[1], run.output[1])
    square = sum(np.sum(part**2) for part in parts)
    np.testing.assert_allclose((after - before) / (2 * half), -square, rtol=1e-6)


def test_the_loss_never_rises_and_neurons_stay_balanced():
    problem, times = clusters(), np.linspace(0.02, 5.0, 250)
    run, plain = flown(problem, times, coordinates="cartesian", rtol=1e-7), Plain(problem)
    losses = [plain.loss(*weights) for weights in zip(run.hidden, run.output, strict=True)]
    assert np.diff(losses).max() < 0
    np.testing.assert_allclose(np.linalg.norm(run.hidden, axis=2), np.abs(run.output), rtol=20 * 1e-7)


def test_sliding_pairs_stay_on_their_boundaries():
    problem = clusters()
    run = flown(problem, np.linspace(0.5, 5.0, 10))
    inputs = np.column_stack([problem.inputs, np.ones(60)])
    cosine = run.hidden @ inputs.T / np.linalg.norm(run.hidden, axis=2)[..., None] / np.linalg.norm(inputs, axis=1)
    # what a product of so many entries is rounded by
    assert np.abs(cosine[run.sliding]).max() < inputs.shape[1] * np.finfo(float).eps


@BOTH
def test_opposing_cosines_reach_0_in_finite_time_and_stay(coordinates):
    labels = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    start = np.array([0.5, 0.1, 0.3, 0.6, -0.2, 0.4])
    problem = problem_on(*degenerate.orthonormal(labels), TINY * np.array([start, start]), np.array([1.0, -1.0]))
    times = np.array([1.0, 3.0, 6.0, 9.0])
    run = flown(problem, times, coordinates=coordinates)
    for neuron, sign in enumerate((1, -1)):
        expected, _ = degenerate.orthonormal_alignment(start, sign * labels, 1 / 5, times)
        np.testing.assert_allclose(run.hidden[:, neuron] / TINY, expected, rtol=1e-7, atol=1e-8)
    assert not run.sliding.any()
    assert run.report.steps < 500


@pytest.mark.parametrize(("inputs", "targets"), degenerate.ON_ONE_LINE.values(), ids=degenerate.ON_ONE_LINE)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@BOTH
def test_where_samples_lie_on_one_line_all_gates_of_a_neuron_change_at_once(inputs, targets, side, sign, coordinates):
    unit = inputs[0] / np.linalg.norm(inputs[0])
    across = np.array([0.0, 0.0, 0.7])
    problem = problem_on(inputs, targets, TINY * (side * 0.5 * unit + across)[None], np.array([sign]))
    pull = sign * targets / len(targets) * (inputs @ unit)
    up, down = pull[inputs @ unit > 0].sum(), pull[inputs @ unit < 0].sum()
    run = flown(problem, TIMES, coordinates=coordinates)
    expected = degenerate.line_alignment(side * 0.5, 0.7, up, down, TIMES)
    np.testing.assert_allclose(run.hidden[:, 0] @ unit / TINY, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(run.hidden[:, 0, 2], TINY * 0.7, rtol=1e-7)
    assert run.report.steps < 500


@BOTH
def test_a_neuron_that_starts_on_a_boundary_and_slides_follows_the_logistic_curve(coordinates):
    problem = problem_on(*degenerate.at_a_boundary(-1.0, 0.5), np.array([[0.0, 0.1]]), np.array([1.0]))
    run = flown(problem, TIMES, coordinates=coordinates)
    norm, _ = degenerate.sliding_logistic(0.1, 0.5, TIMES)
    np.testing.assert_allclose(run.hidden[:, 0, 1], norm, rtol=1e-7)
    np.testing.assert_allclose(run.hidden[:, 0, 0], 0, atol=1e-15)
    assert run.sliding[:, 0, 0].all()


# the convention: at exactly 0 a gate that does not slide is 0, unless the velocity with gate 0 leads to the active side
@pytest.mark.parametrize(
    ("target", "lean", "gate"), [(1.0, 0.5, 1.0), (-1.0, -0.5, 0.0), (1.0, -0.5, 0.0)], ids=["up", "down", "repelled"]
)
@BOTH
def test_a_neuron_that_starts_on_a_boundary_leaves_on_a_straight_line(target, lean, gate, coordinates):
    problem = problem_on(*degenerate.at_a_boundary(target, lean), TINY * np.array([[0.0, 1.0]]), np.array([1.0]))
    force = np.array([gate * target + lean, 1.0]) / 2
    times = np.array([0.25, 0.5, 0.75])
    clock = degenerate.Clock(np.array([0.0, 1.0]), force)
    expected = np.array([0.0, 1.0]) + np.outer(clock.sigma(times), force)
    run = flown(problem, times, coordinates=coordinates)
    np.testing.assert_allclose(run.hidden[:, 0] / TINY, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("loss", ["square", "exponential"])
@pytest.mark.parametrize(("features", "times"), [(1, TIMES), (3, np.array([0.3, 0.7]))])
@BOTH
def test_more_boundaries_than_dimensions(loss, features, times, coordinates):
    inputs, targets = degenerate.on_a_line(features)
    hidden = 0.1 * np.random.default_rng(0).standard_normal((8, features + 1))
    problem = problem_on(inputs, targets, hidden, np.resize([1.0, -1.0], 8), loss, bias=True)
    assert apart(flown(problem, times, coordinates=coordinates), averaged(problem, times, 1e-3)) < 2e-6


@BOTH
def test_a_neuron_reaches_all_boundaries_at_once_and_goes_on(coordinates):
    inputs, targets = degenerate.on_a_line(3)
    hidden = 0.1 * np.random.default_rng(0).standard_normal((8, 4))
    problem = problem_on(inputs, targets, hidden, np.resize([1.0, -1.0], 8), bias=True)
    times = np.array([0.7, 0.709, 3.0, 3.01, 20.0])
    run, plain = flown(problem, times, coordinates=coordinates), Plain(problem)
    losses = [plain.loss(*weights) for weights in zip(run.hidden, run.output, strict=True)]
    assert np.diff(losses).max() < 0
    parts = minimal_norm_subgradient(problem, run.hidden[2], run.output[2])
    square = sum(np.sum(part**2) for part in parts)
    np.testing.assert_allclose((losses[3] - losses[2]) / 0.01, -square, rtol=2e-2)
    assert run.report.steps < 2000


@BOTH
def test_conflicting_duplicates_are_one_sample_with_their_mean_target(coordinates):
    hidden = 0.3 * np.array([[-1.0, 1.0, 0.2], [1.0, 0.1, 0.3], [-0.2, -0.3, 1.0]])
    signs = np.array([1.0, 1.0, -1.0])
    twice = problem_on(*degenerate.duplicated(np.array([1.0, -1.0])), hidden, signs)
    inputs, targets = degenerate.duplicated(np.array([0.0]))
    once = problem_on(inputs, targets, hidden, signs)
    once.sample_weight[:] = [2 / 3, 1 / 3]
    first, second = (flown(problem, TIMES, coordinates=coordinates) for problem in (twice, once))
    assert apart(first, second) < 1e-7


@pytest.mark.parametrize("seed", [0, 1])
def test_two_hundred_neurons_on_three_points_end_at_the_least_squares_line(seed):
    inputs, targets = np.array([[-0.75], [-0.5], [0.125]]), np.array([1.1, 0.1, 0.8])
    hidden = 1e-6 * np.random.default_rng(seed).standard_normal((200, 2))
    problem = problem_on(inputs, targets, hidden, np.resize([1.0, -1.0], 200), bias=True)
    run, plain = flown(problem, np.array([50.0, 400.0]), rtol=1e-6), Plain(problem)
    line = np.polynomial.Polynomial.fit(inputs[:, 0], targets, 1)(inputs[:, 0])
    np.testing.assert_allclose(plain.neurons(run.hidden[1]) @ run.output[1], line, atol=1e-6)
    np.testing.assert_allclose(2 * plain.loss(run.hidden[1], run.output[1]), 512 / 2925, rtol=1e-9)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    features=st.integers(1, 4),
    samples=st.integers(1, 8),
    loss=st.sampled_from(["square", "logistic", "exponential"]),
    bias=st.booleans(),
    coordinates=st.sampled_from(["polar", "cartesian"]),
)
def test_whatever_the_samples_a_run_goes_through_and_the_loss_falls(seed, features, samples, loss, bias, coordinates):
    # small whole numbers: duplicates, opposites, collinear samples, zeros and starts on boundaries abound
    random = np.random.default_rng(seed)
    inputs = random.integers(-2, 3, (samples, features)).astype(float)
    hidden = 0.1 * random.integers(-2, 3, (6, features + bias)).astype(float)
    hidden[~hidden.any(axis=1), -1] = 0.1
    problem = problem_on(
        inputs, random.choice([1.0, -1.0], samples), hidden, random.choice([1.0, -1.0], 6), loss, bias=bias
    )
    run = flown(problem, np.linspace(0.1, 20.0, 60), rtol=1e-6, coordinates=coordinates, attempts=3000)
    plain = Plain(problem)
    losses = [plain.loss(*weights) for weights in zip(run.hidden, run.output, strict=True)]
    assert np.diff(losses).max() <= 1e-6 * losses[0]
