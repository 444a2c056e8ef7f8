"""Networks with a first layer of neurons are ordinary networks: what every network can do, and the neurons' reduction."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.problem import fresh, reduce

MODEL: dict[str, Any] = {"kind": "mlp", "widths": [5, 3], "activation": "tanh"}
ADAM = {"method": "adam", "step": 0.02, "iterations": 30}
FLOW = {"rtol": 1e-8, "until": {"time": 3.0}}


def scenario(**keys: Any) -> flowsim.Scenario:
    data = {"kind": "gaussian_mixture", "dimension": 30, "positive": 2, "negative": 1, "samples": 9}
    usual = {"data": {**data, "noise": {"total": 0.3}}, "model": MODEL, "init": {"scale": 0.4}, "observe": {"times": 4}}
    return flowsim.Scenario({**usual, **keys})


def handed(asked: flowsim.Scenario, **keys: Any) -> xr.DataTree:
    """A run of the same network, written as a function, that knows nothing of neurons."""
    problem = flowsim.build(asked)
    params = [problem.hidden, *problem.leaves]

    def apply(params: list[Any], x: Any) -> Any:
        for matrix in params[:-1]:
            x = jnp.tanh(x @ matrix.T)
        return x @ params[-1][0]

    return flowsim.flow(apply, params, problem.inputs, problem.targets, times=4, snapshots=2, **keys)


@pytest.mark.parametrize("flow", [FLOW, ADAM], ids=["flow", "adam"])
def test_in_the_span_of_the_data_it_is_the_function_in_all_features(flow):
    asked = scenario(flow=flow)
    # Adam goes by single entries: in other coordinates it would be another descent
    assert reduce(flowsim.build(asked), project=asked.project).projected == (flow is FLOW)
    tree, plain = flowsim.run(asked), handed(asked, **flow)
    np.testing.assert_allclose(tree["loss"], plain["loss"], rtol=1e-6 if flow is FLOW else 1e-12)
    neurons = np.exp(tree["log_norm"][-1].values)[:, None] * tree["direction"][-1].values
    np.testing.assert_allclose(neurons, plain["leaf_0"][-1], atol=1e-6 if flow is FLOW else 1e-12)
    np.testing.assert_allclose(tree["layer_2_weight"][-1], plain["leaf_1"][-1], atol=1e-6 if flow is FLOW else 1e-12)


LAYERS = ("bias_weight", "layer_2_weight", "layer_3_bias")


@pytest.mark.parametrize(
    ("model", "above"),
    [({**MODEL, "bias": True}, LAYERS), ({"kind": "ntk_features", "width": 4, "threshold": 0.5}, ())],
    ids=["mlp", "ntk_features"],
)
def test_the_members_of_an_ensemble_are_the_runs_of_their_seeds(model, above):
    flow = {"method": "gradient_descent", "step": 0.1, "iterations": 6}
    several = flowsim.run(scenario(seed=[3, 4], flow=flow, model=model))
    for seed in (3, 4):
        alone = flowsim.run(scenario(seed=seed, flow=flow, model=model))
        for name in ("direction", "loss", *above):
            assert several[name].dims == ("seed", *alone[name].dims)
            np.testing.assert_allclose(several[name].sel(seed=seed), alone[name], rtol=1e-12, atol=1e-15)


def test_a_homogeneous_one_goes_on_by_the_loss_clock():
    model = {"kind": "mlp", "widths": [12, 12], "activation": "relu"}
    flow = {"rtol": 1e-4, "until": {"log10_loss": -40.0}}
    keys = {"loss": {"kind": "logistic"}, "init": {"scale": 0.5}, "observe": {"times": 20, "spacing": "log"}}
    with pytest.warns(UserWarning, match="relu has a kink"):
        tree = flowsim.run(scenario(model=model, flow=flow, **keys))
    assert tree.attrs["clock"] == "loss"
    assert tree["log10_loss"].values[-1] == pytest.approx(-40, abs=1)
    # Lyu & Li 2020: the smoothed margin never falls
    margin = tree["kkt/smoothed_margin"].dropna("time").values
    assert len(margin) > 5
    assert (np.diff(margin) > -1e-4).all()


@pytest.mark.parametrize(("kind", "norm"), [("fgm", "linf"), ("pgd", "l2")])
def test_any_network_descends_on_fresh_samples_that_an_attacker_moves(kind, norm):
    radius, steps, batch = 0.2, 1 if kind == "fgm" else 3, 7
    attack = {"kind": kind, "norm": norm, "radius": radius, **({"steps": steps} if kind == "pgd" else {})}
    part = {"method": "sgd", "step": 0.5, "batch": batch, "fresh": True, "iterations": 2, "attack": attack}
    model = {"kind": "dense", "widths": [4], "activation": "tanh", "parametrization": "standard"}
    asked = scenario(model=model, stage=[{"name": "a", **part}], loss={"kind": "logistic"})
    problem = flowsim.build(asked)
    length = radius if kind == "fgm" else 2.5 * radius / steps

    def losses(weights: Any, at: Any, y: Any) -> Any:
        return jnp.logaddexp(0, -y * (jnp.tanh(at @ weights[0].T) @ weights[1][0]))

    with jax.enable_x64(True):
        weights = [jnp.asarray(matrix) for matrix in problem.leaves]
        for iteration in range(2):
            seen = fresh(asked, problem.samples, batch, f"flow.fresh.{iteration}")
            x, y = jnp.asarray(seen.inputs), jnp.asarray(seen.targets)
            moved = x
            for _ in range(steps):
                rise = jax.grad(lambda at, weights=weights, y=y: losses(weights, at, y).sum())(moved)
                unit = jnp.sign(rise) if norm == "linf" else rise / jnp.linalg.norm(rise, axis=1, keepdims=True)
                move = moved - x + length * unit
                size = jnp.maximum(jnp.linalg.norm(move, axis=1, keepdims=True), radius)
                moved = x + (jnp.clip(move, -radius, radius) if norm == "linf" else move * radius / size)
            slope = jax.grad(lambda weights, moved=moved, y=y: losses(weights, moved, y).mean())(weights)
            weights = [matrix - 0.5 * change for matrix, change in zip(weights, slope, strict=True)]
    tree = flowsim.run(asked)
    for name, matrix in zip(("layer_1", "layer_2"), weights, strict=True):
        np.testing.assert_allclose(tree[name][-1], np.asarray(matrix), atol=1e-12)
        assert np.abs(tree[name][-1] - tree[name][0]).max() > 1e-3


def test_mixed_precision_of_any_network_is_close_to_float64():
    model = {"kind": "dense", "widths": [6], "activation": "tanh"}
    asked = {"model": model, "init": {"scale": 1.0}, "observe": {"times": 3}}
    exact, mixed = (
        flowsim.run(scenario(**asked, flow={"rtol": 1e-4, "precision": precision, "until": {"time": 3.0}}))["layer_1"][
            -1
        ]
        for precision in ("float64", "mixed")
    )
    assert 0 < np.abs(mixed - exact).max() < 1e-3


def test_with_mixed_precision_products_of_weights_are_to_be_floats_of_single_precision():
    flow = {"until": {"time": 1.0}, "precision": "mixed"}
    with pytest.raises(flowsim.ScenarioError, match=r"init.scale: with 3 layers, .* below 1e-30"):
        scenario(init={"scale": 1e-11}, flow=flow)
