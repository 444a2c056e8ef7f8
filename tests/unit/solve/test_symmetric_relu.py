"""The symmetric ReLU: its smoothing against the law it has, its descent against JAX, its flow against its descent."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import flowsim
from flowsim.kinds.networks.symmetric_relu import ramp

TEXT = """
[data]
kind = "sparse_coding"
dimension = 6
sparsity = 2.0
samples = 40
noise = { total = 0.3 }
label_weights = [0.5, 1.5]
[model]
kind = "symmetric_relu"
width = 5
threshold = 0.1
growth = 0.05
cap = 0.2
smoothing = 0.4
[init]
scale = 0.3
[loss]
kind = "logistic"
regularizer = { square = 0.02, cubic = 0.05 }
[observe]
times = 2
[flow]
"""
DESCENT = 'method = "gradient_descent"\n'


def descended(step, iterations, **keys):
    keys = {"flow.step": step, "flow.iterations": iterations, **keys}
    return flowsim.run(flowsim.loads(TEXT + DESCENT, overrides=keys))


def weights(tree):
    dataset = tree.to_dataset()
    return (dataset["direction"] * np.exp(dataset["log_norm"].sel(time=dataset["snapshot"])))[-1].values


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(0.05, 2))
def test_the_smoothed_ramp_is_the_mean_over_the_noise(x, spread):
    def density(noise):
        return np.exp(-0.5 * (noise / spread) ** 2) / (spread * np.sqrt(2 * np.pi))

    value, slope = ramp(np.array(x), np.array(spread), np)
    mean, _ = quad(lambda noise: (x + noise) * density(noise), max(-x, -12 * spread), 12 * spread)
    chance, _ = quad(density, max(-x, -12 * spread), 12 * spread)
    if x > -12 * spread:
        assert value == pytest.approx(mean, abs=1e-8)
        assert slope == pytest.approx(chance, abs=1e-8)


def objective(hidden, problem, threshold, smoothing):
    """What is minimised, in JAX from the formulas of the paper."""
    z = problem.inputs @ hidden.T

    def mean_ramp(x):
        spread = smoothing * threshold
        return x * jax.scipy.stats.norm.cdf(x / spread) + spread * jax.scipy.stats.norm.pdf(x / spread)

    outputs = (mean_ramp(z - threshold) - mean_ramp(-z - threshold)).sum(axis=1)
    norm = jnp.linalg.norm(hidden, axis=1)
    return jnp.logaddexp(0, -problem.targets * outputs).mean() + (0.02 * norm**2 / 2 + 0.05 * norm**3 / 3).sum()


def test_iterations_follow_the_gradient_that_jax_finds_with_the_threshold_of_their_time():
    problem = flowsim.build(flowsim.loads(TEXT + DESCENT, overrides={"flow.step": 0.7, "flow.iterations": 1}))
    with jax.enable_x64(True):
        hidden, slope = jnp.asarray(problem.hidden), jax.grad(objective)
        for iteration in range(5):  # the threshold is at its cap from time 2 on
            hidden -= 0.7 * slope(hidden, problem, min(0.1 + 0.05 * 0.7 * iteration, 0.2), 0.4)
        expected = np.asarray(hidden)
    assert weights(descended(0.7, 5)) == pytest.approx(expected, abs=1e-12)


def test_the_noise_is_another_one_after_its_first_phase():
    """Definition C.6: sigma_rho falls by a factor at the time T_a, here between two iterations."""
    keys = {"model.late_smoothing": 0.1, "model.smoothing_until": 1.5}
    problem = flowsim.build(flowsim.loads(TEXT + DESCENT, overrides={"flow.step": 0.7, "flow.iterations": 1}))
    with jax.enable_x64(True):
        hidden, slope = jnp.asarray(problem.hidden), jax.grad(objective)
        for iteration in range(5):
            threshold = min(0.1 + 0.05 * 0.7 * iteration, 0.2)
            hidden -= 0.7 * slope(hidden, problem, threshold, 0.4 if 0.7 * iteration <= 1.5 else 0.1)
        expected = np.asarray(hidden)
    found = descended(0.7, 5, **keys)
    assert weights(found) == pytest.approx(expected, abs=1e-12)
    assert np.abs(weights(found) - weights(descended(0.7, 5))).max() > 1e-4
    # and what is observed is the network with the noise of its time
    with flowsim.reopen(found) as case:
        margin = problem.targets * case.network(problem.inputs)
    assert found["margin"].values[-1] == pytest.approx(margin, rel=1e-9)


@pytest.mark.parametrize("solver", ["dopri5", "dop853"])
def test_descent_with_small_steps_is_the_flow(solver):
    keys = {"flow.until.time": 3.0, "flow.rtol": 1e-9, "flow.solver": solver}
    flow = weights(flowsim.run(flowsim.loads(TEXT, overrides=keys)))
    coarse, fine = weights(descended(0.01, 300)), weights(descended(0.005, 600))
    assert np.abs(2 * fine - coarse - flow).max() < 2e-6  # Richardson: what is left is of second order
    assert np.abs(coarse - flow).max() < 0.01


REPEATED = """
[data]
dimension = 8
positive = 1
negative = 1
noise = {{ total = 0.0 }}
samples = 20000
[model]
kind = "symmetric_relu"
width = {width}
threshold = 0.1
smoothing = 0.5
noise = "{noise}"
[init]
scale = {scale}
[loss]
kind = "logistic"
[flow]
method = "{method}"
step = 1.0
{batch}
iterations = 1
merge = false
"""


def first_move(width, scale, noise, method="gradient_descent", batch=""):
    """The problem, where every sample is one of two points, and the first iteration's velocity."""
    text = REPEATED.format(width=width, scale=scale, noise=noise, method=method, batch=batch)
    scenario = flowsim.loads(text)
    problem = flowsim.build(scenario)
    return problem, weights(flowsim.run(scenario)) - problem.hidden


@pytest.mark.parametrize(("method", "batch"), [("gradient_descent", ""), ("sgd", "batch = 15000")])
def test_sampled_noise_has_the_law_that_is_asked_for(method, batch):
    problem, move = first_move(1, 0.1, "sampled", method, batch)
    spread, expected = 0.5 * 0.1, 0.0
    for x, y in zip(problem.centers, problem.cluster_label, strict=True):
        z = float(problem.hidden[0] @ x)

        def pull(noise, z=z, y=y):
            output = max(z + noise - 0.1, 0) - max(noise - z - 0.1, 0)
            slope = float(z + noise >= 0.1) + float(noise - z >= 0.1)
            density = np.exp(-0.5 * (noise / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
            return y / (1 + np.exp(y * output)) * slope * density

        kinks = [0.1 - z, 0.1 + z]
        mean, _ = quad(pull, -0.5, 0.5, points=kinks, limit=200)
        expected += 0.5 * mean * x
    assert move[0] == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(10_000))
    assert np.linalg.norm(expected) > 0.05


def test_a_wide_network_with_sampled_noise_moves_as_with_the_integrated_one():
    _, mean = first_move(30, 0.05, "integrated")
    _, sampled = first_move(30, 0.05, "sampled")
    assert np.abs(sampled - mean).max() < 0.1 * np.abs(mean).max()
    assert (np.einsum("jd,jd->", sampled, mean) / np.einsum("jd,jd->", mean, mean)) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"model.smoothing": 0.0}, "model.smoothing"),
        ({"model.noise": "sampled"}, "model.noise"),
        ({"flow.engine": "diffrax"}, "flow.engine"),
        ({"flow.coordinates": "polar"}, "flow.coordinates"),
        ({"model.cap": 0.05}, "model.cap"),
        ({"init.signs": "half"}, "init.signs"),
        ({"model.late_smoothing": 0.1, "model.smoothing_until": 1.0}, "model.late_smoothing"),
        ({"model.late_smoothing": 0.1}, "model.smoothing_until"),
    ],
)
def test_what_a_flow_cannot_have_is_refused(keys, key):
    with pytest.raises(flowsim.ScenarioError) as refused:
        flowsim.loads(TEXT, overrides=keys)
    assert [issue.key for issue in refused.value.issues] == [key]


def test_growth_needs_a_cap():
    with pytest.raises(flowsim.ScenarioError, match=r"model\.cap"):
        flowsim.loads(TEXT.replace("cap = 0.2\n", ""))


def test_it_can_start_at_the_features():
    scenario = flowsim.loads(
        TEXT + DESCENT,
        overrides={
            "init": {"shape": "dictionary", "scale": 0.5},
            "flow.step": 0.1,
            "flow.iterations": 1,
            "model.width": 8,
        },
    )
    problem = flowsim.build(scenario)
    expected = 0.5 * problem.centers[[0, 1, 2, 3, 4, 5, 0, 1]]
    assert problem.hidden == pytest.approx(expected, abs=1e-15)
