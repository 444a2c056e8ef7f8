"""A network with an output for every cluster, on every engine: what it must have in common with one that has a single one.

Cross entropy between two classes is the logistic loss of the difference of their outputs: two sub-networks f_0, f_1 move
exactly as the neurons of f_0 - f_1, of which those of f_1 have negative output weights.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from support.reading import angles
from support.reference import Plain

import flowsim

TWO = """
[data]
dimension = 6
positive = 1
negative = 1
centers = "random_sphere"
noise = { total = 1.5 }
samples = 14
[model]
width = 10
[init]
scale = 0.3
signs = "half"
[loss]
kind = "logistic"
[flow]
rtol = 1e-9
until = { time = 6.0 }
[observe]
times = 13
snapshots = "all"
"""
BY_CLUSTER = {"data.supervision": "cluster", "loss.kind": "cross_entropy", "init.signs": "positive"}
SMOOTH = [
    {"model.activation": "prelu", "model.degree": 3},
    {"model.activation": "prelu", "model.degree": 2, "model.output": "fixed", "model.output_weight": 0.5},
    {"model.activation": "relu_power", "model.degree": 2, "model.bias": True, "init.balanced": False},
    {"model.activation": "tanh", "model.bias": True},
]
KINKED = [
    {"model.activation": "leaky_relu", "model.slope": 0.2},
    {"model.activation": "relu", "model.output": "fixed", "model.output_weight": 0.5, "model.bias": True},
]
DESCENT = {"flow.method": "gradient_descent", "flow.step": 0.25, "flow.iterations": 24}


def pair(overrides) -> tuple[xr.Dataset, xr.Dataset]:
    """The run of two classes by the logistic loss of one output, and by the cross entropy of two."""
    text = TWO.replace("rtol = 1e-9\nuntil = { time = 6.0 }\n", "") if "flow.method" in overrides else TWO
    return tuple(flowsim.run(flowsim.loads(text, overrides={**overrides, **more})).dataset for more in ({}, BY_CLUSTER))


def assert_equal_flows(one: xr.Dataset, several: xr.Dataset, tolerance: float) -> None:
    np.testing.assert_array_equal(one["time"], several["time"])
    assert angles(one, several).max() < tolerance
    np.testing.assert_allclose(one["log_norm"], several["log_norm"], atol=tolerance)
    sign = np.where(several["neuron_output"] == 0, 1, -1)
    np.testing.assert_allclose(sign * one["output_weight"], several["output_weight"], rtol=tolerance, atol=tolerance)
    for name in ("loss", "accuracy"):
        np.testing.assert_allclose(one[name], several[name], rtol=tolerance)
    np.testing.assert_allclose(one["margin"], several["margin"], atol=10 * tolerance)
    np.testing.assert_allclose(-np.abs(one["loss_derivative"]), several["loss_derivative"], atol=10 * tolerance)
    for name in ("binary_accuracy", "binary_accuracy_outputs"):
        np.testing.assert_array_equal(several[name], several["accuracy"])
    assert several["neuron_output"].values.tolist() == [0] * 5 + [1] * 5
    assert several["loss"][-1] < 0.8 * several["loss"][0]


@pytest.mark.parametrize("model", SMOOTH, ids=lambda model: model["model.activation"])
def test_two_classes_move_as_the_difference_of_their_outputs_under_the_logistic_loss(engine, model):
    assert_equal_flows(*pair({**model, "flow.engine": engine}), 2e-7)


@pytest.mark.parametrize("model", KINKED, ids=lambda model: model["model.activation"])
def test_so_they_do_along_kinks(model):
    one, several = pair({**model, "flow.engine": "numba"})
    assert several["sliding_pairs"].max() > 0
    np.testing.assert_array_equal(one["sliding_pairs"], several["sliding_pairs"])
    assert_equal_flows(one, several, 1e-6)
    gates = [run["gate"].values for run in pair({**model, "observe.variables": ["gate"], "flow.engine": "numba"})]
    np.testing.assert_allclose(*gates, atol=1e-5)
    assert ((gates[1] > 0) & (gates[1] < 1)).any()


@pytest.mark.parametrize("model", [*SMOOTH, *KINKED], ids=lambda model: model["model.activation"])
def test_so_they_do_in_descent(model):
    assert_equal_flows(*pair({**model, **DESCENT}), 1e-12)


THREE = {
    "data.positive": 2,
    "data.samples": 15,
    "model.width": 12,
    "loss.kind": "cross_entropy",
    "init.signs": "random",
}


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
def test_the_loss_falls_at_the_rate_of_the_squared_gradient(engine, coordinates):
    more = {"flow.engine": engine, "flow.coordinates": coordinates, "flow.until.time": 2.0, "observe.times": 2001}
    scenario = flowsim.loads(TWO, overrides={**BY_CLUSTER, **THREE, **more, "flow.rtol": 1e-11})
    run, plain = flowsim.run(scenario).dataset, Plain(flowsim.build(scenario))
    rate = np.gradient(run["loss"].values, run["time"].values, edge_order=2)
    for index in (200, 1000, 1800):
        hidden = np.exp(run["log_norm"].values[index])[:, None] * run["direction"].values[index]
        output = run["output_weight"].values[index]
        assert run["loss"].values[index] == pytest.approx(plain.loss(hidden, output), rel=1e-9)
        by_hidden, by_output = plain.gradient(hidden, output)
        assert rate[index] == pytest.approx(-(by_hidden**2).sum() - (by_output**2).sum(), rel=1e-4)


def test_neurons_of_a_class_target_its_centre_and_negative_ones_the_others():
    problem = flowsim.build(flowsim.loads(TWO, overrides={**BY_CLUSTER, **THREE}))
    scenario = flowsim.loads(TWO, overrides={**BY_CLUSTER, **THREE, "flow.until.time": 0.1})
    target = flowsim.run(scenario).dataset["target_cluster"].values
    cosine = problem.hidden_direction @ problem.centers.T / np.linalg.norm(problem.centers, axis=1)
    for neuron, (found, output, sign) in enumerate(
        zip(target, problem.neuron_output, problem.weights.output_sign, strict=True)
    ):
        own = [output] if sign > 0 else [k for k in range(3) if k != output]
        best = max(own, key=lambda k: cosine[neuron, k])
        assert found == (best if cosine[neuron, best] > 0 else -1)
