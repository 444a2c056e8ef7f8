"""The flow against formulas that anybody can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expi
from support.reading import weights

import flowsim

RTOL = 1e-9

ONE_NEURON = """
[data]
dimension = 3
positive = 1
negative = 0
noise = {{ total = 0.0 }}
samples = 1

[model]
activation = "{activation}"
width = 1

[init]
shape = "nudged"
nudge = 1.0
scale = 1e-3
signs = "half"

[loss]
kind = "{loss}"

[flow]
rtol = {rtol}
until = {{ time = {end} }}
"""


@pytest.fixture
def squared_norm(scenario_of, followed):
    """(times, z = |w|^2) of one neuron that starts exactly aligned with its one sample."""

    def follow(activation: str, loss: str, end: float):
        run = followed(scenario_of(ONE_NEURON.format(activation=activation, loss=loss, rtol=RTOL, end=end)))
        return run["time"].values, np.exp(2 * run["log_norm"].values[:, 0])

    return follow


@pytest.mark.parametrize("activation", ["prelu", "relu"])
def test_an_aligned_neuron_with_square_loss_follows_the_logistic_curve(squared_norm, activation):
    # z' = 2 z (1 - z)
    time, z = squared_norm(activation, "square", 12.0)
    odds = z[0] / (1 - z[0]) * np.exp(2 * time)
    np.testing.assert_allclose(z, odds / (1 + odds), rtol=20 * RTOL)


@pytest.mark.parametrize("activation", ["prelu", "relu"])
def test_an_aligned_neuron_with_exponential_loss_follows_the_exponential_integral(squared_norm, activation):
    # z' = 2 z e^-z, so 2 t = Ei(z) - Ei(z0)
    time, z = squared_norm(activation, "exponential", 200.0)
    np.testing.assert_allclose(expi(z) - expi(z[0]), 2 * time, rtol=1e-7, atol=1e-7)
    assert z[-1] > 7


@pytest.mark.parametrize("scale", [1e-7, 1e-300])
def test_cosines_in_the_alignment_phase_follow_their_own_equation(small, scale):
    # scale -> 0, no noise, K equal clusters: K c_k' = a (p y_k c_k^(p-1) - c_k sum_l p y_l c_l^p), c meaning max(c, 0)
    scenario = small(data__noise={"total": 0.0}, init__scale=scale, flow__until={"time": 8.0}, flow__rtol=RTOL)
    run = flowsim.run(scenario).dataset
    label, clusters = run["cluster_label"].values, run.sizes["cluster"]
    for neuron, sign in enumerate(run["neuron_sign"].values):

        def rate(_, cosine, sign=sign):
            positive = np.maximum(cosine, 0)
            return sign / clusters * (3 * label * positive**2 - cosine * (3 * label * positive**3).sum())

        cosine = run["cosine"].values[:, neuron]
        times = run["time"].values
        expected = solve_ivp(rate, (0, times[-1]), cosine[0], "DOP853", times, rtol=1e-12, atol=1e-14).y.T
        np.testing.assert_allclose(cosine, expected, atol=1e-7)


def test_every_neuron_aligns_with_its_largest_cosine_of_the_matching_sign(small):
    scenario = small(
        data__noise={"total": 0.0}, model__width=40, init__scale=1e-200, flow__until={"time": 900.0}, data__dimension=6
    )
    run = flowsim.run(scenario).dataset
    targeted = run["target_cluster"].values >= 0
    final = run["cosine"].values[-1][targeted]
    np.testing.assert_array_equal(final.argmax(axis=1), run["target_cluster"].values[targeted])
    assert final.max(axis=1).min() > 1 - 1e-6
    assert 0 < targeted.sum() < 40


def test_neurons_in_the_void_region_keep_their_direction(small):
    scenario = small(data__noise={"total": 0.0}, model__width=40, data__dimension=6, flow__until={"time": 100.0})
    run = flowsim.run(scenario).dataset
    start = run["direction"].values[0]
    # with no cosine positive at all there is no force either
    idle = (run["cosine"].values[0] <= 0).all(axis=1)
    assert idle.any()
    np.testing.assert_allclose(run["direction"].values[-1][idle], start[idle], atol=1e-12)


LINEAR = """
[data]
dimension = 4
positive = 1
negative = 1
noise = { total = 1.0 }
samples = 10

[model]
activation = "leaky_relu"
slope = 1.0
width = 1
output = "fixed"
output_weight = 1.0

[init]
signs = "half"

[flow]
rtol = 1e-10
until = { time = 20.0 }
"""


# in polar coordinates a neuron of size 1e-7 with an output weight of 1 would turn within a time of 1e-7
@pytest.mark.parametrize(("coordinates", "scale"), [("cartesian", 1e-7), ("cartesian", 1.0), ("polar", 1.0)])
def test_one_linear_neuron_with_square_loss_is_the_least_squares_flow(scenario_of, coordinates, scale):
    scenario = scenario_of(LINEAR, {"flow.coordinates": coordinates, "init.scale": scale})
    problem = flowsim.build(scenario)
    gram = problem.inputs.T @ problem.inputs / len(problem.inputs)
    optimum = np.linalg.lstsq(problem.inputs, problem.targets)[0]
    values, vectors = np.linalg.eigh(gram)
    decay = vectors @ np.diag(np.exp(-20 * values)) @ vectors.T
    expected = optimum + decay @ (problem.hidden[0] - optimum)
    np.testing.assert_allclose(weights(flowsim.run(scenario).dataset)[0], expected, rtol=1e-7, atol=1e-8)


def test_one_linear_neuron_with_logistic_loss_agrees_with_scipy(scenario_of):
    scenario = scenario_of(LINEAR, {"loss.kind": "logistic", "flow.until.time": 50.0})
    problem = flowsim.build(scenario)

    def rate(_, weight):
        margin = problem.targets * (problem.inputs @ weight)
        return (problem.targets / (1 + np.exp(margin))) @ problem.inputs / len(margin)

    expected = solve_ivp(rate, (0, 50), problem.hidden[0], "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    np.testing.assert_allclose(weights(flowsim.run(scenario).dataset)[0], expected, rtol=1e-8)
