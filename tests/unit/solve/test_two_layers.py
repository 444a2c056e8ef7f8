"""Two layers of neurons are functions of arrays as every network is: optimisers and rates of arrays go for them, too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import flowsim
from flowsim.kinds.trees import in_float64

RNG = np.random.default_rng(5)
X, Y = RNG.standard_normal((12, 4)), RNG.choice([-1.0, 1.0], 12)
STEPS = 25


def leaky(params, x):
    z = x @ params["hidden"][:, :-1].T + params["hidden"][:, -1]
    return jnp.where(z > 0, z, 0.3 * z) @ params["output"]


def linear(params, x):
    return x @ params["hidden"][0, :-1] + params["hidden"][0, -1]


def symmetric(params, x):
    """With noise of standard deviation s = 0.2 and the threshold 0.5: R(a) = a N(a/s) + s n(a/s)."""
    z, s = x @ params["hidden"].T, 0.2
    normal = jax.scipy.stats.norm

    def ramp(a):
        return a * normal.cdf(a / s) + s * normal.pdf(a / s)

    return (ramp(z - 0.5) - ramp(-z - 0.5)).sum(axis=1)


NETWORKS = {
    "two_layer": (leaky, {"activation": "leaky_relu", "slope": 0.3, "width": 6, "bias": True}),
    "linear": (linear, {"kind": "linear", "bias": True}),
    "symmetric_relu": (symmetric, {"kind": "symmetric_relu", "width": 6, "threshold": 0.5, "smoothing": 0.4}),
}
OPTIMIZERS = {
    "adam": ({"method": "adam"}, optax.adam(0.02)),
    "adamw": ({"method": "adamw", "weight_decay": 0.3}, optax.adamw(0.02, weight_decay=0.3)),
    "momentum": (
        {"method": "gradient_descent", "momentum": 0.9, "weight_decay": 0.1},
        optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.02, 0.9)),
    ),
}


def run(model, flow, loss="square", **sections):
    scenario = {"model": model, "loss": {"kind": loss}, "init": {"scale": 0.7}, "flow": flow, **sections}
    return flowsim.run(scenario, data=flowsim.Data(X, Y))


@in_float64
def optimized(apply, params, optimizer, rates):
    """The same by optax, in a loop of one's own."""
    params, x, y = jax.tree.map(jnp.asarray, params), jnp.asarray(X), jnp.asarray(Y)
    gradient = jax.jit(jax.grad(lambda params: 0.5 * jnp.mean((apply(params, x) - y) ** 2)))
    state = optimizer.init(params)
    for _ in range(STEPS):
        updates, state = optimizer.update(gradient(params), state, params)
        params = optax.apply_updates(params, {name: rates[name] * update for name, update in updates.items()})
    return jax.tree.map(np.asarray, params)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_an_optimizer_moves_them_as_optax_moves_the_function(network, optimizer):
    (apply, model), (keys, by_optax) = NETWORKS[network], OPTIMIZERS[optimizer]
    rates = {"hidden": 0.5}
    with flowsim.reopen(run(model, {"step": 0.02, "iterations": STEPS, "rates": rates, **keys})) as case:
        first, last = case.params_at(0), case.params_at(-1)
    found = optimized(apply, first, by_optax, {**dict.fromkeys(first, 1.0), **rates})
    assert found.keys() == last.keys()
    for name, array in found.items():
        assert np.abs(array - first[name]).max() > 1e-3, "it has moved"
        np.testing.assert_allclose(last[name], array, rtol=1e-8, atol=1e-10)


def test_label_noise_and_a_schedule_move_them():
    """Without noise, and at a constant step, the mean goes elsewhere."""
    model = NETWORKS["two_layer"][1]
    flow = {"method": "sgd", "batch": 4, "step": 0.05, "iterations": 40}
    plain, noisy, slower = (
        run(model, {**flow, **keys})["loss"].values
        for keys in ({}, {"label_noise": 0.5}, {"schedule": {"kind": "linear"}})
    )
    np.testing.assert_allclose([noisy[0], slower[0]], plain[0], rtol=1e-12)
    assert len({round(float(found[-1]), 12) for found in (plain, noisy, slower)}) == 3


@pytest.mark.parametrize("clock", ["time", "loss"])
def test_flows_have_rates_of_arrays(clock):
    """The same as the plain function has, to the tolerance, and other than without rates."""

    def apply(params, x):
        z = x @ params["hidden"].T
        norm = jnp.linalg.norm(params["hidden"], axis=1)
        return (jnp.maximum(z, 0) ** 3 / norm**2) @ params["output"]

    model, rates, rtol = {"activation": "prelu", "degree": 3, "width": 5}, {"output": 0.2}, 1e-8
    loss, end = ("logistic", {"time": 50.0}) if clock == "loss" else ("square", {"time": 3.0})
    flow = {"rates": rates, "rtol": rtol, "clock": clock, "until": end}
    tree = run(model, flow, loss, observe={"times": 5, "snapshots": "all"})
    with flowsim.reopen(tree) as case:
        first, last = case.params_at(0), case.params_at(-1)
    alone = flowsim.flow(
        apply, first, X, Y, loss=loss, rates=rates, rtol=rtol, clock=clock, until=end, times=5, degree=2
    )  # fmt: skip
    np.testing.assert_allclose(tree["loss"], alone["loss"], rtol=20 * rtol)
    np.testing.assert_allclose(last["output"], alone["output"][-1], rtol=20 * rtol)
    without = run(model, {**flow, "rates": None}, loss, observe={"times": 5})
    assert np.abs(without["loss"].values[1:] / tree["loss"].values[1:] - 1).max() > 1e-2


def test_a_frozen_output_is_one_that_is_not_trained():
    model = {"activation": "tanh", "width": 6}
    frozen = run(model, {"rates": {"output": 0.0}, "rtol": 1e-8, "until": {"time": 4.0}}, observe={"times": 4})
    output = frozen["output_weight"].values
    np.testing.assert_array_equal(output, np.broadcast_to(output[0], output.shape))

    def apply(hidden, x):
        return jnp.tanh(x @ hidden.T) @ output[0]

    with flowsim.reopen(frozen) as case:
        start = case.params_at(0)["hidden"]
    alone = flowsim.flow(apply, start, X, Y, rtol=1e-8, until={"time": 4.0}, times=4)
    np.testing.assert_allclose(frozen["loss"], alone["loss"], rtol=20 * 1e-8)


@pytest.mark.parametrize(
    ("model", "flow", "told"),
    [
        (
            {"activation": "tanh"},
            {"rates": {"hiden": 0.0}},
            r'flow\.rates\.hiden: unknown array; did you mean "hidden"',
        ),
        (
            {"activation": "tanh"},
            {"rates": {"output": 2.0}, "coordinates": "polar"},
            r"flow\.coordinates: .*flow\.rates",
        ),
        ({"activation": "tanh"}, {"rates": {"output": 2.0}, "engine": "numba"}, r"flow\.engine: .*flow\.rates"),
        (
            {"kind": "symmetric_relu", "threshold": 0.5, "growth": 0.1, "cap": 1.0},
            {"method": "adam", "step": 0.1, "iterations": 5},
            r"flow\.method: not where the threshold moves",
        ),
        (
            {"activation": "tanh"},
            {"method": "adam", "step": 0.1, "iterations": 5, "precision": "mixed"},
            r'flow\.precision: optax\'s iterations of neurons compute in "float64"',
        ),
    ],
)
def test_what_cannot_be_is_told(model, flow, told):
    with pytest.raises(flowsim.ScenarioError, match=told):
        run(model, flow)
