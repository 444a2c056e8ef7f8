"""What every gradient flow conserves, and in which direction it can only move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference import Plain

import flowsim
from flowsim import build

SMOOTH = [
    {"activation": "prelu", "degree": 3},
    {"activation": "relu_power", "degree": 3},
    {"activation": "tanh"},
]


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("model", SMOOTH[:2], ids=lambda model: model["activation"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_balance_is_conserved(small, coordinates, balanced, model, rtol):
    scenario = small(
        model={**model, "width": 6},
        init={"scale": 0.3, "balanced": balanced},
        flow__coordinates=coordinates,
        flow__rtol=rtol,
    )
    drift = flowsim.run(scenario).dataset["balance_drift"]
    assert drift.max() <= 10 * rtol
    if balanced and coordinates == "polar" and model["activation"] == "prelu":
        assert (drift == 0).all()


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("model", [*SMOOTH, {"activation": "relu"}], ids=lambda model: model["activation"])
def test_the_loss_never_rises_by_more_than_the_tolerance(small, followed, loss, model):
    rtol = 1e-5
    scenario = small(model={**model, "width": 6}, loss__kind=loss, init__scale=0.3, flow__rtol=rtol, observe__times=200)
    log_loss = followed(scenario)["log10_loss"].values * np.log(10)
    assert np.diff(log_loss).max() <= rtol
    assert log_loss[-1] < log_loss[0] - 0.1


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_loss_falls_at_the_rate_of_the_squared_gradient(small, loss, bias):
    scenario = small(
        loss__kind=loss,
        model__bias=bias,
        init__scale=0.2,
        flow__rtol=1e-11,
        flow__until={"time": 2.0},
        observe={"times": 201, "snapshots": "all"},
    )
    run = flowsim.run(scenario).dataset
    time, losses = run["time"].values, run["loss"].values
    rate = np.gradient(losses, time, edge_order=2)
    plain = Plain(build(scenario))
    for index in (50, 100, 150):
        size = np.exp(run["log_norm"].values[index])[:, None]
        hidden = size * run["direction"].values[index]
        if bias:
            hidden = np.column_stack([hidden, size[:, 0] * run["bias_weight"].values[index]])
        by_hidden, by_output = plain.gradient(hidden, run["output_weight"].values[index])
        assert rate[index] == pytest.approx(-(by_hidden**2).sum() - (by_output**2).sum(), rel=1e-4)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**31), scale=st.floats(1e-8, 1.0), degree=st.sampled_from([2.0, 3.0, 4.0]))
def test_for_any_start_the_loss_falls_and_balance_stays(small, seed, scale, degree):
    scenario = small(seed=seed, init__scale=scale, init__balanced=False, model__degree=degree)
    run = flowsim.run(scenario).dataset
    # pReLU at degree 2 has a kink in its second derivative, which costs the solver some of its order
    assert np.diff(run["log10_loss"].values).max() <= 1e-5
    assert run["balance_drift"].max() <= 1e-5
    assert np.isfinite(run["log_norm"]).all()
