"""Features of trained networks against NumPy, on the way into another run, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.evaluate import embedding
from flowsim.kinds import trees

TWO_LAYER = {
    "data": {"dimension": 12, "samples": 24, "noise": {"total": 0.2}, "test": {"samples": 10}},
    "model": {"width": 6, "bias": True, "degree": 2},
    "flow": {"until": {"time": 20.0}},
    "observe": {"times": 3, "snapshots": "all"},
}
#: A few steps from a start of ordinary size.
DESCENT = {
    "data": {"kind": "table"},
    "init": {"shape": "he"},
    "flow": {"method": "gradient_descent", "step": 0.1, "iterations": 5},
    "observe": {"times": 2},
}


def trained(model, x, y, **keys):
    return flowsim.run(flowsim.Scenario({**DESCENT, "model": model, **keys}), data=flowsim.Data(x, y))


def last(tree, name):
    """An array of the network at its end."""
    return tree[name].values[-1]


@pytest.fixture(scope="module")
def two_layer():
    return flowsim.run(flowsim.Scenario(TWO_LAYER))


@pytest.fixture
def points():
    random = np.random.default_rng(0)
    return random.standard_normal((7, 5)), np.where(np.arange(7) < 3, 1.0, -1.0)


def test_neurons_of_two_layers_are_features(two_layer):
    found, case = flowsim.embed(two_layer, layer="hidden"), flowsim.reopen(two_layer)

    def features(x):
        along = x @ last(two_layer, "direction").T + last(two_layer, "bias_weight")
        return np.exp(last(two_layer, "log_norm")) * np.maximum(along, 0.0) ** 2

    np.testing.assert_allclose(found.x, features(case.problem.inputs), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(found.y, case.problem.label)
    of_cluster = [found.x[case.problem.sample_cluster == cluster].mean(axis=0) for cluster in range(4)]
    np.testing.assert_allclose(found.arrays()["centers"], of_cluster, rtol=1e-12, atol=1e-15)
    x, y, cluster = found.test
    np.testing.assert_allclose(x, features(case.problem.test.inputs), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal((y, cluster), (case.problem.test.label, case.problem.test.sample_cluster))


def test_the_instant_is_chosen(two_layer):
    start = flowsim.reopen(two_layer).problem
    along = start.inputs @ start.hidden_direction.T + start.hidden_bias_direction
    expected = np.exp(start.hidden_log_norm) * np.maximum(along, 0.0) ** 2
    np.testing.assert_allclose(flowsim.embed(two_layer, layer="hidden", at=0).x, expected, rtol=1e-10, atol=1e-20)
    with pytest.raises(flowsim.UsageError, match="at: 3; weights were kept 3 times"):
        flowsim.embed(two_layer, layer="hidden", at=3)


def test_samples_are_embedded_in_parts(two_layer, monkeypatch):
    whole = flowsim.embed(two_layer, layer="hidden").x
    monkeypatch.setattr(embedding, "AT_A_TIME", 7)
    np.testing.assert_allclose(flowsim.embed(two_layer, layer="hidden").x, whole, rtol=1e-12, atol=1e-16)


def test_every_hidden_layer_of_a_deep_network_is_features(points):
    tree = trained({"kind": "mlp", "widths": [4, 3], "bias": True}, *points)
    x, _ = points
    first = np.exp(last(tree, "log_norm")) * np.maximum(x @ last(tree, "direction").T + last(tree, "bias_weight"), 0.0)
    second = np.maximum(first @ last(tree, "layer_2_weight").T + last(tree, "layer_2_bias"), 0.0)
    np.testing.assert_allclose(flowsim.embed(tree, layer="hidden").x, first, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(flowsim.embed(tree, layer="layer_2").x, second, rtol=1e-12, atol=1e-14)


def test_multipliers_below_a_layer_are_part_of_its_features(points):
    tree = trained({"kind": "dense", "widths": [4], "activation": "tanh"}, *points)
    expected = np.tanh(points[0] @ last(tree, "layer_1").T / np.sqrt(5))
    np.testing.assert_allclose(flowsim.embed(tree, layer="layer_1").x, expected, rtol=1e-12, atol=1e-14)


def test_images_are_features_after_pooling_and_another_run_trains_on_them():
    random = np.random.default_rng(1)
    images, label = random.standard_normal((8, 4, 4)), np.where(np.arange(8) < 4, 1.0, -1.0)
    model = {"kind": "conv", "channels": [3]}
    tree = trained(model, images.reshape(8, 16), label, loss={"kind": "logistic"})
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(images, ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2))
    signal = np.maximum(np.einsum("nhwab,cab->nchw", seen, last(tree, "conv_1")[:, 0]), 0.0)
    largest = signal.reshape(8, 3, 2, 2, 2, 2).max(axis=(3, 5))
    found = flowsim.embed(tree, layer="conv_1")
    np.testing.assert_allclose(found.x, largest.reshape(8, 12), rtol=1e-12, atol=1e-14)
    scenario = flowsim.Scenario({"data": {"kind": "table"}, "model": {"width": 4}, "flow": {"until": {"time": 1.0}}})
    again = flowsim.run(scenario, data=found)
    np.testing.assert_array_equal(flowsim.reopen(again).problem.inputs, found.x)


def test_an_unknown_layer_is_answered_with_those_that_there_are(two_layer, points):
    with pytest.raises(flowsim.UsageError, match=r'called "hiden"; did you mean "hidden"\? there are hidden'):
        flowsim.embed(two_layer, layer="hiden")
    tree = trained({"kind": "mlp", "widths": [2, 2, 2]}, *points)
    with pytest.raises(flowsim.UsageError, match=r'did you mean "layer_3"\? there are hidden, layer_2, layer_3$'):
        flowsim.embed(tree, layer="layer3")


def test_layers_of_images_are_listed_in_their_order():
    keys = {"kind": "wide_resnet", "depth": 10, "widen": 0.1}
    scenario = flowsim.Scenario({"data": {"kind": "table"}, "model": keys, "init": {"shape": "he"}})
    network = flowsim.build(scenario, data=flowsim.Data(np.eye(64)[:4], [1, -1, 1, -1])).network
    blocks = [f"stage_{stage}_block_1" for stage in (1, 2, 3)]
    assert trees.layers_of(network) == ("stem", *blocks, "mean")


def test_a_function_takes_the_place_of_a_layer_that_has_no_name(points, two_layer):
    tree = trained({"kind": "deep_linear", "width": 3}, *points, init={"shape": "gaussian"})
    with pytest.raises(flowsim.UsageError, match="deep_linear names no hidden layers; from Python"):
        flowsim.embed(tree, layer="hidden")
    found = flowsim.embed(tree, layer=lambda params, x: x @ params["layers"][0].T).x
    np.testing.assert_allclose(found, points[0] @ last(tree, "layers_0").T, rtol=1e-12)
    with pytest.raises(flowsim.UsageError, match=r"gives outputs of shape \(3, 8\) for 8 inputs; expected \(n, ...\)"):
        flowsim.embed(tree, layer=lambda params, x: params["layers"][0] @ x.T)
    with pytest.raises(flowsim.UsageError, match='has no tree of params; its layer is "hidden"'):
        flowsim.embed(two_layer, layer=lambda params, x: x)


def test_a_function_as_network_has_to_be_handed_over_once_more(points):
    def apply(params, x):
        return (x @ params["w"].T).sum(axis=1)

    tree = flowsim.flow(apply, {"w": np.eye(2, 5)}, *points, until={"time": 0.1}, times=2)
    with pytest.raises(flowsim.UsageError, match="function of Python, which has to be handed over"):
        flowsim.embed(tree, layer="w")
    found = flowsim.embed(flowsim.reopen(tree, apply=apply), layer=lambda params, x: x @ params["w"].T).x
    np.testing.assert_allclose(found, points[0] @ last(tree, "w").T, rtol=1e-12)
