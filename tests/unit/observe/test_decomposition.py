"""w = w(0) + sum_c lambda_c mu_c/|mu_c|^2 + sum_i sigma_i xi_i/|xi_i|^2, to rounding, whatever the weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsim
from flowsim.observe import OBSERVABLES, Instant, Setting
from flowsim.problem import reduce
from flowsim.solve import Snapshot

COEFFICIENTS = ["cluster_coefficient", "noise_coefficient"]
CLUSTERED = """
[data]
dimension = 40
radius = "sqrt_dimension"
noise = { per_coordinate = 1.0 }
samples = 20
[model]
activation = "relu"
width = 6
output = "fixed"
output_weight = 0.5
[init]
scale = 1e-5
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 0.5 }
[observe]
times = 4
snapshots = "all"
variables = ["log_norm", "cluster_coefficient", "noise_coefficient"]
"""


def scenario_of(**overrides) -> flowsim.Scenario:
    return flowsim.loads(CLUSTERED, overrides={key.replace("__", "."): value for key, value in overrides.items()})


def reassembled(problem: flowsim.Problem, coefficient, noise_coefficient) -> np.ndarray:
    """(…, m, d) from w(0), lambda (…, m, K) and sigma (…, m, n)"""
    centers = problem.centers / (problem.centers**2).sum(axis=1, keepdims=True)
    noise = problem.inputs - problem.centers[problem.sample_cluster]
    square = (noise**2).sum(axis=1, keepdims=True)
    noise = np.divide(noise, square, out=np.zeros_like(noise), where=square > 0)
    return problem.hidden + coefficient @ centers + noise_coefficient @ noise


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model.bias": True},
        {"init.scale": 1e-9},
        {"init.scale": 30.0},
        {"flow.until": {"time": 1e-12}},
        {"data.samples": 4, "data.noise": {"total": 0.0}},
        {"flow.reduce": False},
        {"model.activation": "leaky_relu"},
        {"model.activation": "tanh", "model.bias": True},
        {"data.samples": 38, "data.balanced": False, "data.label_noise": 0.2},
    ],
    ids=str,
)
def test_every_neuron_is_reassembled_to_1e_8_at_every_instant(changes):
    scenario = scenario_of(**changes)
    problem, run = flowsim.build(scenario), flowsim.run(scenario).dataset
    hidden = np.exp(run["log_norm"].values)[..., None] * run["direction"].values
    found = reassembled(problem, *(run[name].values for name in COEFFICIENTS))
    size = np.exp(run["log_norm"].values)
    assert (np.linalg.norm(found - hidden, axis=-1) <= 1e-8 * size).all()
    assert abs(run["cluster_coefficient"][0]).max() < 1e-12 * size.max() * 40


def test_without_noise_equal_samples_share_their_coefficient_and_the_noise_has_none():
    scenario = scenario_of(**{"data.noise": {"total": 0.0}})
    assert reduce(flowsim.build(scenario)).merged == 16
    run = flowsim.run(scenario).dataset
    assert (run["noise_coefficient"] == 0).all()
    assert float(run["cluster_coefficient"][-1].max()) > 0.1


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(1e-6, 1e6),
    bias=st.booleans(),
    copies=st.integers(1, 3),
)
def test_coefficients_that_were_put_in_come_out(seed, size, bias, copies):
    """Neurons made of known A: lambda_c = |mu_c|^2 sum_{i in c} A_i and sigma_i = |xi_i|^2 A_i come back."""
    generator = np.random.default_rng(seed)
    scenario = scenario_of(**{"model.bias": bias, "seed": int(seed), "data.samples": 12})
    problem = flowsim.build(scenario)
    problem = repeated(problem, copies)
    setting = Setting(reduce(problem))
    combination = size * generator.standard_normal((6, 12))
    inputs, cluster = problem.inputs[:12], problem.sample_cluster[:12]
    hidden = problem.hidden + combination @ inputs
    offset = problem.hidden_bias + combination.sum(axis=1) if bias else np.zeros(6)
    norm = np.sqrt((hidden**2).sum(axis=1) + offset**2)
    direction = setting.reduced.lower(hidden / norm[:, None], offset / norm)
    weights = problem.weights
    instant = Instant(setting, Snapshot(1.0, direction, np.log(norm), weights.output_sign, weights.output_log))
    noise = inputs - problem.centers[cluster]
    expected_cluster = 40 * np.array([combination[:, cluster == c].sum(axis=1) for c in range(4)]).T
    expected_noise = (noise**2).sum(axis=1) * combination / copies
    group = setting.reduced.representative[:12]
    np.testing.assert_allclose(
        OBSERVABLES["cluster_coefficient"].value(instant), expected_cluster, rtol=0, atol=1e-9 * 40 * size
    )
    np.testing.assert_allclose(
        OBSERVABLES["noise_coefficient"].value(instant)[:, group], expected_noise, rtol=0, atol=1e-9 * 40 * size
    )


def repeated(problem: flowsim.Problem, copies: int) -> flowsim.Problem:
    """The same samples, each so many times."""
    from dataclasses import replace

    samples = problem.samples
    samples = replace(
        samples,
        stored=np.tile(samples.inputs, (copies, 1)),
        targets=np.tile(samples.targets, copies),
        sample_cluster=np.tile(samples.sample_cluster, copies),
    )
    return replace(problem, samples=samples, sample_weight=np.full(len(samples.targets), 1 / len(samples.targets)))


@pytest.mark.parametrize(
    "changes",
    [
        {"data.samples": 44},  # more samples than features
        {"model.activation": "prelu"},  # its neurons also move along themselves
        {"data.noise": {"total": 0.0}, "data.label_noise": 0.5},  # equal samples of both labels
    ],
    ids=str,
)
def test_where_the_weights_do_not_determine_them_there_are_no_coefficients(changes, setting_of):
    scenario = scenario_of(**changes)
    setting = setting_of(scenario)
    assert setting.decomposition is None
    with pytest.raises(flowsim.ScenarioError, match=r"linearly independent samples with known clusters.*it has cosine"):
        flowsim.run(scenario)


def test_equal_samples_of_two_clusters_cannot_be_told_apart(on_table, setting_of):
    arrays = {"x": np.eye(3)[[0, 0, 1]], "y": [1.0, 1.0, -1.0], "cluster": [0, 1, 2]}
    overrides = {"model.activation": "relu"}
    assert setting_of(on_table(arrays, **overrides)).decomposition is None
    assert setting_of(on_table({**arrays, "cluster": [0, 0, 1]}, **overrides)).decomposition is not None
