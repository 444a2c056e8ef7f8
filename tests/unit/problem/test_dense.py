"""Networks of any depth in the parametrisations that theory knows."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import flowsim

X = np.random.default_rng(0).standard_normal((8, 3))
Y = np.resize([1.0, -1.0], 8)


def run(parametrization: str, width: int, time: float, **model):
    scenario = {
        "model": {
            "kind": "dense",
            "widths": [width],
            "activation": "tanh",
            "parametrization": parametrization,
            **model,
        },
        "init": {"scale": 1.0},
        "flow": {"until": {"time": time}, "rtol": 1e-6},
        "observe": {"times": 3, "variables": ["loss", "kernel_drift", "margin"], "snapshots": "all"},
    }
    return flowsim.run(scenario, data=flowsim.Data(X, Y))


@pytest.mark.parametrize("parametrization", ["standard", "ntk", "mean_field", "mup"])
def test_the_output_is_that_of_the_formula(parametrization):
    kept = run(parametrization, 10, 0.5)
    first, last = kept["layer_1"].values, kept["layer_2"].values
    root = np.sqrt(10)
    before, after = {
        "standard": (1, 1),
        "ntk": (1 / np.sqrt(3), 1 / root),
        "mean_field": (1 / np.sqrt(3), 1 / 10),
        "mup": (root / np.sqrt(3), 1 / root),
    }[parametrization]
    outputs = after * np.einsum("tkm,tmn->tn", last, np.tanh(before * first @ X.T))
    np.testing.assert_allclose(kept["margin"], Y * outputs, rtol=1e-9, atol=1e-12)


def test_the_start_has_the_deviations_of_the_parametrisation():
    sizes = {"standard": (1, 1), "ntk": (1, 1), "mean_field": (1, 1), "mup": (1 / 20, 1 / 20)}
    for parametrization, deviations in sizes.items():
        kept = run(parametrization, 400, 1e-6)
        for name, deviation in zip(("layer_1", "layer_2"), deviations, strict=True):
            entries = kept[name].values[0]
            assert np.sqrt((entries**2).mean()) == pytest.approx(deviation, rel=5 / np.sqrt(2 * entries.size))


def test_with_one_hidden_layer_mup_is_the_mean_field_at_a_time_that_is_sped_up_by_the_width():
    mean_field, mup = run("mean_field", 16, 16 * 2.0), run("mup", 16, 2.0)
    np.testing.assert_allclose(mean_field["time"], 16 * mup["time"])
    np.testing.assert_allclose(mean_field["loss"], mup["loss"], rtol=2e-5)
    assert mup["loss"][-1] < 0.9 * mup["loss"][0]


def test_as_width_grows_the_kernel_stays_in_ntk_and_moves_in_mup():
    drift = {
        (name, width): float(run(name, width, 5.0, zero_output=True)["kernel_drift"][-1])
        for name in ("ntk", "mup")
        for width in (64, 1024)
    }
    assert drift["ntk", 64] / drift["ntk", 1024] > 8
    assert drift["mup", 64] / drift["mup", 1024] == pytest.approx(1.0, abs=0.3)
    assert drift["mup", 1024] > 0.3 > 0.1 > drift["ntk", 1024]


def test_with_a_zero_output_the_first_margin_is_0_and_the_start_is_not():
    kept = run("ntk", 10, 1.0, zero_output=True, widths=[6, 10])
    np.testing.assert_allclose(kept["margin"][0], 0.0, atol=1e-15)
    assert np.abs(kept["margin"][-1]).max() > 0.1
    np.testing.assert_array_equal(kept["layer_2"][0, :5], kept["layer_2"].values[0, 5:])


def test_the_output_s_scale_multiplies_the_output():
    np.testing.assert_allclose(
        run("ntk", 10, 1e-6, output_scale=3.0)["margin"][0], 3 * run("ntk", 10, 1e-6)["margin"][0], rtol=1e-12
    )


def test_it_flows_as_the_same_function_from_python_does():
    kept = run("mup", 10, 2.0, widths=[10, 6], output_scale=2.0)
    start = {name: kept[name].values[0] for name in ("layer_1", "layer_2", "layer_3")}

    def apply(params, x):
        hidden = jnp.tanh(np.sqrt(10 / 3) * x @ params["layer_1"].T)
        return 2.0 / np.sqrt(6) * jnp.tanh(hidden @ params["layer_2"].T) @ params["layer_3"].T

    other = flowsim.flow(apply, start, X, Y, until={"time": 2.0}, times=3, rtol=1e-6)
    np.testing.assert_allclose(kept["loss"], other["loss"], rtol=20e-6)


def test_with_homogeneous_neurons_a_factor_of_the_output_is_another_scale_and_speed():
    """f = s sum_j v_j h(w_j, x) is the network of two layers that starts at sqrt(s) (w, v), at the time s t."""
    kept = run("ntk", 10, 4.0, activation="relu", widths=[10])
    factor = 1 / np.sqrt(10 * 3)
    hidden, output = (np.sqrt(factor) * kept[name].values[0] for name in ("layer_1", "layer_2"))
    scenario = {
        "model": {"activation": "relu", "width": 10},
        "init": {"shape": "given"},
        "flow": {"until": {"time": 4.0 * factor}, "rtol": 1e-8},
        "observe": {"times": 3, "variables": ["loss"]},
    }
    other = flowsim.run(scenario, data=flowsim.Data(X, Y), init=flowsim.Weights(hidden, output[0]))
    np.testing.assert_allclose(kept["loss"], other["loss"], rtol=1e-4)


def test_classes_have_an_output_each():
    scenario = {
        "data": {"supervision": "cluster", "samples": 12, "dimension": 6, "positive": 2, "negative": 1},
        "model": {"kind": "dense", "widths": [8]},
        "init": {"scale": 1.0},
        "loss": {"kind": "cross_entropy"},
        "flow": {"until": {"time": 20.0}},
        "observe": {"times": 2},
    }
    kept = flowsim.run(scenario)
    assert kept["layer_2"].shape == (2, 3, 8)
    assert kept["accuracy"][-1] == 1.0


def test_a_layer_may_be_frozen_and_a_homogeneous_network_goes_by_the_loss_clock():
    scenario = {
        "model": {"kind": "dense", "widths": [12]},
        "init": {"scale": 1.0},
        "loss": {"kind": "logistic"},
        "flow": {"until": {"log10_loss": -30}, "clock": "loss", "rates": {"layer_1": 0.0}},
        "observe": {"times": 5, "snapshots": "all"},
    }
    kept = flowsim.run(scenario, data=flowsim.Data(X, np.sign(X[:, 0])))
    np.testing.assert_array_equal(kept["layer_1"], np.broadcast_to(kept["layer_1"][0], kept["layer_1"].shape))
    assert kept["log10_loss"][-1] <= -30


def test_wrong_keys_are_told():
    with pytest.raises(flowsim.ScenarioError, match=r"model\.zero_output: needs an even number of neurons .* not 7"):
        flowsim.loads('[model]\nkind = "dense"\nwidths = [7]\nzero_output = true\n')
    with pytest.raises(flowsim.ScenarioError, match=r'model\.activation: "tanhh" is not allowed; did you mean "tanh"'):
        flowsim.loads('[model]\nkind = "dense"\nactivation = "tanhh"\n')


@pytest.mark.parametrize(
    ("loss", "y", "outputs"),
    [("cross_entropy", np.arange(8) % 3, 3), ("square", np.random.default_rng(1).standard_normal((8, 2)), 2)],
)
def test_a_table_has_classes_or_vectors(tmp_path, loss, y, outputs):
    np.savez(tmp_path / "table.npz", x=X, y=y)
    scenario = f"""
[data]
kind = "table"
path = "table.npz"
[model]
kind = "dense"
widths = [16]
[init]
scale = 1.0
[loss]
kind = "{loss}"
[flow]
until = {{ time = 20.0 }}
"""
    kept = flowsim.run(flowsim.loads(scenario, folder=tmp_path))
    assert kept["layer_2"].shape == (2, outputs, 16)
    assert kept["loss"][-1] < 0.8 * kept["loss"][0]
