"""How far two results are apart: nothing from itself, the same both ways, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import flowsim
from flowsim.evaluate.compare import Instants

DESCENT = {"method": "gradient_descent", "step": 0.5, "until": {"time": 30.0}}


@pytest.fixture(scope="module")
def flow(small) -> xr.DataTree:
    return flowsim.run(small(observe__snapshots="all"))


@pytest.fixture(scope="module")
def descent(small) -> xr.DataTree:
    return flowsim.run(small(observe__snapshots="all", flow=DESCENT))


def test_a_run_is_at_no_distance_from_itself(flow):
    found = flowsim.compare(flow, flow)
    assert set(found.data_vars) == {
        "cosine_difference",
        "log_norm_difference",
        "output_weight_difference",
        "loss_ratio",
        "angle",
        "relative_weight_distance",
    }
    assert not found["interpolated"].any()
    for name, variable in found.data_vars.items():
        np.testing.assert_array_equal(variable, 1.0 if name == "loss_ratio" else 0.0, err_msg=str(name))


@pytest.fixture(scope="module")
def far(small) -> dict[float, xr.DataTree]:
    """Two runs beyond the largest float, by their tolerance."""
    shared = {"loss__kind": "exponential", "flow__until": {"log10_loss": -600.0}, "observe__spacing": "log"}
    return {rtol: flowsim.run(small(**shared, flow__rtol=rtol, observe__snapshots="all")) for rtol in (1e-6, 1e-7)}


def test_where_time_is_no_float_runs_are_compared_by_its_logarithm(far):
    coarse, fine = far.values()
    assert np.isinf(coarse["time"][-1])
    found = flowsim.compare(coarse, fine)
    both = found.isel(time=~found["interpolated"].values)
    assert both.sizes["time"] > 10
    assert both["log10_time"][-1] > 308
    assert found["snapshot_log10_time"][-1] > 308
    # instants of the same grid, and the ends where these are nearer than what tells instants apart
    apart = np.abs(np.subtract.outer(both["log10_time"].values[1:], fine["log10_time"].values[1:]))
    assert (apart.min(axis=1) <= 1e-9 * both["log10_time"].values[-1]).all()
    # what was kept at one instant is close, and what is interpolated is no further than the interpolation lets it be
    assert both["cosine_difference"].max() < 1e-3
    assert np.abs(both["log_norm_difference"]).max() < 1e-3
    assert found["angle"].max() < 1e-3
    assert found["relative_weight_distance"].max() < 1e-3
    assert np.isfinite(found["log_norm_difference"]).all()
    itself = flowsim.compare(fine, fine)
    assert not itself["interpolated"].any()
    assert itself["angle"].max() == 0 == np.abs(itself["log_norm_difference"]).max()


def test_a_run_that_ends_in_time_is_compared_with_one_that_goes_beyond(far, small):
    near = flowsim.run(small(loss__kind="exponential", observe__snapshots="all"))
    found = flowsim.compare(near, far[1e-7])
    assert found["log10_time"][-1] == pytest.approx(np.log10(30), rel=1e-14)
    assert np.isfinite(found["log_norm_difference"]).all()


def test_distances_are_the_same_both_ways(flow, descent):
    one, other = flowsim.compare(flow, descent), flowsim.compare(descent, flow)
    for name in ("cosine_difference", "angle"):
        np.testing.assert_array_equal(one[name], other[name])
        assert one[name].max() > 1e-3
    np.testing.assert_array_equal(one["log_norm_difference"], -other["log_norm_difference"])
    np.testing.assert_allclose(one["loss_ratio"] * other["loss_ratio"], 1.0, rtol=1e-12)


def test_distances_are_those_of_the_weights(small):
    bias = {"model": {"activation": "relu", "width": 6, "bias": True}, "observe__snapshots": "all"}
    flow, descent = flowsim.run(small(**bias)), flowsim.run(small(**bias, flow=DESCENT))
    found = flowsim.compare(descent, flow)

    def weights(run: xr.DataTree) -> Any:
        rows = np.concatenate([run["direction"].values, run["bias_weight"].values[..., None]], axis=-1)
        return np.exp(run["log_norm"].values)[..., None] * rows

    one, other = weights(descent), weights(flow)
    norms = np.linalg.norm(one, axis=-1), np.linalg.norm(other, axis=-1)
    distance = np.linalg.norm(one - other, axis=-1) / norms[1]
    np.testing.assert_allclose(found["relative_weight_distance"], distance, rtol=1e-6, atol=1e-14)
    angle = np.arccos(np.clip((one * other).sum(axis=-1) / (norms[0] * norms[1]), -1, 1))
    np.testing.assert_allclose(found["angle"], angle, atol=1e-7)
    np.testing.assert_allclose(found["log_norm_difference"], np.log(norms[0] / norms[1]), atol=1e-12)
    np.testing.assert_allclose(found["loss_ratio"], descent["loss"].values / flow["loss"].values, rtol=1e-9)
    difference = np.abs(descent["cosine"].values - flow["cosine"].values).max(axis=-1)
    np.testing.assert_array_equal(found["cosine_difference"], difference)
    assert found["iteration"].values.tolist() == [0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60]


def test_between_its_instants_the_second_is_interpolated_and_that_is_said(small, flow):
    # 21 instants of the same run against its 11: every other one is the same
    fine = flowsim.run(small(observe__times=21))
    found = flowsim.compare(fine, flow)
    np.testing.assert_array_equal(found["interpolated"], np.arange(21) % 2 == 1)
    exact = found["log_norm_difference"].values[::2]
    np.testing.assert_allclose(exact, 0.0, atol=1e-12)
    between = found["log_norm_difference"].values[1::2]
    norms = flow["log_norm"].values
    expected = fine["log_norm"].values[1::2] - (norms[:-1] + norms[1:]) / 2
    np.testing.assert_allclose(between, expected, atol=1e-12)
    assert np.abs(between).max() > 1e-4
    # start and end are where both have weights
    assert found["snapshot"].values.tolist() == [0.0, 30.0]


def test_only_the_span_of_both_is_compared(small, flow):
    short = flowsim.run(small(flow__until={"time": 12.0}, observe__times=5))
    for found in (flowsim.compare(flow, short), flowsim.compare(short, flow)):
        assert found["time"].values[-1] == 12.0
    assert flowsim.compare(flow, short)["time"].size == 5
    assert flowsim.compare(flow, short)["snapshot"].values.tolist() == [0.0, 12.0]


@given(
    first=st.lists(st.floats(0.01, 10), min_size=1, max_size=20),
    second=st.lists(st.floats(0.01, 10), min_size=1, max_size=20),
)
def test_a_straight_line_is_met_exactly(first, second):
    one, other = np.cumsum([0.0, *first]), np.cumsum([0.0, *second])
    instants = Instants.of(one, other)
    np.testing.assert_allclose(instants.of_second(2 * other + 1), 2 * one[instants.place] + 1, rtol=1e-8)
    assert (one[instants.place] <= min(one[-1], other[-1]) * (1 + 1e-9)).all()
    assert not Instants.of(one, one).interpolated.any()


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"model__width": 5}, "a has 6 neurons and b has 5"),
        ({"data__positive": 1, "data__samples": 21}, "a has 4 clusters and b has 3; they have different data"),
        ({"data__noise": {"total": 0.3}}, "they have different data"),
        ({"seed": 1}, "a is of seed 0 and b of seed 1"),
        ({"init__signs": "half"}, "of their neurons have output weights of different signs"),
    ],
)
def test_what_is_not_of_the_same_neurons_on_the_same_data_is_not_compared(small, flow, overrides, reason):
    with pytest.raises(flowsim.UsageError, match=reason):
        flowsim.compare(flow, flowsim.run(small(**overrides)))


def test_of_an_ensemble_a_member_is_compared(small, flow):
    ensemble = flowsim.run_ensemble(small(), [0, 1])
    with pytest.raises(flowsim.UsageError, match="one member is needed: choose its seed; there are 0, 1"):
        flowsim.compare(flow, ensemble)
    assert float(np.abs(flowsim.compare(flow, ensemble, seed=0)["log_norm_difference"]).max()) < 1e-4
    with pytest.raises(flowsim.UsageError, match="a is of seed 0 and b of seed 1"):
        flowsim.compare(flow, flowsim.reopen(ensemble, seed=1))


def test_tables_are_told_apart_by_what_they_hold(on_table):
    x, y = np.random.default_rng(0).standard_normal((6, 3)), np.array([1.0, -1.0] * 3)
    first, again = (flowsim.run(on_table({"x": x, "y": y}, flow__until={"time": 1.0})) for _ in range(2))
    other = flowsim.run(on_table({"x": 2 * x, "y": y}, flow__until={"time": 1.0}))
    assert not flowsim.compare(first, again)["angle"].any()
    with pytest.raises(flowsim.UsageError, match="different data"):
        flowsim.compare(first, other)


def test_what_one_of_the_two_has_not_kept_is_left_out(small, flow):
    scarce = flowsim.run(small(observe={"variables": ["loss", "log10_loss"], "snapshots": "none", "times": 11}))
    assert set(flowsim.compare(flow, scarce).data_vars) == {"loss_ratio"}
