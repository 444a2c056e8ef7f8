"""Learning rates of the arrays of a network."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import flowsim

X = np.random.default_rng(0).standard_normal((10, 3))
Y = np.random.default_rng(1).standard_normal(10)
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
START = {"a": np.random.default_rng(2).standard_normal((4, 3)), "v": np.random.default_rng(3).standard_normal(4)}


def smooth(params, x):
    return jnp.tanh(x @ params["a"].T) @ params["v"]


def products(params, x):
    """Homogeneous of degree 2."""
    return x @ params["a"].T @ params["v"]


def test_a_frozen_array_stays_and_the_others_flow_as_if_it_were_a_constant():
    run = flowsim.flow(smooth, START, X, Y, until={"time": 5.0}, rates={"a": 0.0}, times=5, snapshots="all")
    np.testing.assert_array_equal(run["a"], np.broadcast_to(START["a"], (5, 4, 3)))
    alone = flowsim.flow(
        lambda v, x: smooth({"a": START["a"], "v": v}, x), START["v"], X, Y, until={"time": 5.0}, times=5
    )
    # two programs round differently, which changes their steps: they agree to the tolerance
    np.testing.assert_allclose(run["loss"], alone["loss"], rtol=20 * 1e-6)
    assert run["loss"][-1] < 0.9 * run["loss"][0]


@pytest.mark.parametrize(
    ("apply", "targets", "keys"),
    [
        (smooth, {"loss": "square", "y": Y}, {"until": {"time": 5.0}, "times": [1.0, 5.0]}),
        (
            products,
            {"loss": "logistic", "y": LABELS},
            {"until": {"time": 1e12}, "clock": "loss", "degree": 2, "times": 3},
        ),
    ],
    ids=["time", "loss clock"],
)
def test_a_rate_is_that_of_a_rescaled_array(apply, targets, keys):
    """With a = sqrt(r) b, the rate r of a is the rate 1 of b."""
    root, rtol = np.sqrt(7.0), 1e-8
    shared = {"x": X, "rtol": rtol, "snapshots": "ends", **targets, **keys}
    run = flowsim.flow(apply, START, rates={"a": 7.0}, **shared)
    rescaled = {"b": START["a"] / root, "v": START["v"]}
    other = flowsim.flow(lambda params, x: apply({"a": root * params["b"], "v": params["v"]}, x), rescaled, **shared)
    np.testing.assert_allclose(run["loss"], other["loss"], rtol=20 * rtol)
    np.testing.assert_allclose(run["a"][-1], root * other["b"][-1], rtol=20 * rtol)


def test_without_names_the_rate_is_1():
    first = flowsim.flow(smooth, START, X, Y, until={"time": 1.0}, times=3)
    second = flowsim.flow(smooth, START, X, Y, until={"time": 1.0}, times=3, rates={"v": 1.0})
    np.testing.assert_array_equal(first["loss"], second["loss"])


def test_wrong_rates_are_told():
    with pytest.raises(flowsim.ScenarioError, match=r"flow\.rates\.b: unknown array; .*allowed: a, v"):
        flowsim.flow(smooth, START, X, Y, rates={"b": 0.0})
    with pytest.raises(flowsim.ScenarioError, match=r"flow\.rates: every array has the rate 0"):
        flowsim.flow(smooth, START, X, Y, rates={"a": 0.0, "v": 0.0})
    with pytest.raises(flowsim.ScenarioError, match=r"flow\.rates\.a: -1"):
        flowsim.flow(smooth, START, X, Y, rates={"a": -1.0})


def test_descent_multiplies_its_steps():
    kept = flowsim.flow(
        products, START, X, Y, method="gradient_descent", step=0.01, iterations=20, rates={"a": 3.0}, snapshots="ends"
    )
    a, v = START["a"].copy(), START["v"].copy()
    for _ in range(20):
        pull = (X @ a.T @ v - Y) / len(Y)
        a, v = a - 3 * 0.01 * np.outer(v, pull @ X), v - 0.01 * a @ (pull @ X)
    np.testing.assert_allclose(kept["a"][-1], a, rtol=1e-10)
    np.testing.assert_allclose(kept["v"][-1], v, rtol=1e-10)


@pytest.mark.parametrize(
    "keys", [{"method": "sgd", "batch": 4, "momentum": 0.9}, {"method": "adamw", "weight_decay": 0.1}]
)
def test_a_frozen_array_stays_in_every_kind_of_descent(keys):
    kept = flowsim.flow(smooth, START, X, Y, step=0.05, iterations=20, rates={"a": 0.0}, snapshots="ends", **keys)
    np.testing.assert_array_equal(kept["a"][-1], START["a"])
    assert (kept["v"][-1] != START["v"]).all()


def test_a_stage_may_freeze_what_the_next_one_trains():
    stages = [
        {"name": "head", "rates": {"layer_1": 0.0}, "until": {"time": 2.0}},
        {"name": "all", "until": {"time": 2.0}},
    ]
    scenario = {
        "model": {"kind": "dense", "widths": [6]},
        "init": {"scale": 1.0},
        "observe": {"times": 3, "snapshots": "all"},
        "stage": stages,
    }
    kept = flowsim.run(scenario, data=flowsim.Data(X, Y))
    first = kept["layer_1"].values
    np.testing.assert_array_equal(first[:3], np.broadcast_to(first[0], (3, 6, 3)))
    assert (first[-1] != first[0]).all()
    wrong = [{**stages[0], "rates": {"layer1": 0.0}}]
    with pytest.raises(
        flowsim.ScenarioError, match=r'stage\[0\]\.rates\.layer1: unknown array; did you mean "layer_1"'
    ):
        flowsim.run({**scenario, "stage": wrong}, data=flowsim.Data(X, Y))
