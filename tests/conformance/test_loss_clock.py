"""The loss clock goes where time cannot, and to the same places where both can go."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from support.clusters import CLUSTERS
from support.reading import angles, weight_error

import flowsim
from flowsim.scenario.shipped import find

#: scenarios/limits, to a tolerance and an end of these tests.
PRELU = {
    "flow": {"engine": "numba", "rtol": 1e-4, "until": {"log10_loss": -40000.0}},
    "observe": {"times": 60, "variables": ["log_norm", "output_weight", "log10_loss", "margin"]},
    "evaluate": {},
}

#: Two tight clusters in high dimension, along which neurons slide sample after sample, to a loss where that is stiff.
TIGHT = {
    **{"data.dimension": 400, "data.positive": 1, "data.negative": 1, "data.samples": 60},
    "data.noise": {"per_coordinate": 0.05},
    "model.width": 10,
    "flow.until": {"log10_loss": -3000.0},
    "observe.times": 100,
    "evaluate": {},
}

LINEAR = """
[data]
dimension = 5
positive = 1
negative = 1
samples = 40
noise = { total = 0.6 }

[model]
activation = "leaky_relu"
slope = 1.0
output = "fixed"
output_weight = 1.0
width = 1

[init]
scale = 0.1

[loss]
kind = "logistic"

[flow]
until = { log10_loss = -1e6 }
"""


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("model", [{}, {"bias": True}, {"output": "fixed", "output_weight": 0.5}])
def test_time_and_loss_clocks_agree_where_both_can_go(small, loss, model):
    runs = [
        flowsim.run(
            small(
                loss__kind=loss,
                model={"width": 6, **model},
                flow__clock=clock,
                flow__rtol=1e-9,
                flow__until={"time": 2000.0},
                observe__snapshots="all",
            )
        ).dataset
        for clock in ("time", "loss")
    ]
    on_time, on_loss = runs
    np.testing.assert_array_equal(on_time["time"], on_loss["time"])
    fallen = on_loss["log10_loss"][0] - on_loss["log10_loss"][-1]
    assert fallen > 0.25, "the run ends before the clocks differ"
    # with fixed output weights a neuron passes close to 0, on either clock, which costs a few digits
    assert weight_error(on_loss, on_time) < 1e-5
    np.testing.assert_allclose(on_loss["log_norm"], on_time["log_norm"], atol=1e-5)
    np.testing.assert_allclose(10 ** on_loss["log10_time"], on_loss["time"], rtol=1e-12)


def test_clocks_agree_where_every_cluster_has_an_output(small):
    shared = {"data__supervision": "cluster", "loss__kind": "cross_entropy", "model__width": 8, "flow__rtol": 1e-7}
    shared |= {"flow__until": {"time": 100.0}, "observe__snapshots": "all"}
    on_time, on_loss = (flowsim.run(small(**shared, flow__clock=clock)).dataset for clock in ("time", "loss"))
    assert angles(on_loss, on_time).max() < 1e-5
    np.testing.assert_allclose(on_loss["log_norm"], on_time["log_norm"], atol=1e-5)


def test_flow_time_is_exact_far_beyond_the_largest_float(scenario_of):
    # one aligned neuron w of fixed output weight 1: dw/dt = e^-w, so t = e^w - e^w(0)
    text = """
    [data]
    dimension = 3
    positive = 1
    negative = 0
    noise = { total = 0.0 }
    samples = 1
    [model]
    width = 1
    output = "fixed"
    output_weight = 1.0
    [init]
    shape = "nudged"
    nudge = 1.0
    scale = 0.5
    signs = "half"
    [loss]
    kind = "exponential"
    [flow]
    rtol = 1e-8
    until = { log10_loss = -3000.0 }
    [observe]
    spacing = "solver"
    """
    run = flowsim.run(scenario_of(text)).dataset
    size = np.exp(run["log_norm"].values[:, 0])
    expected = (size[1:] + np.log1p(-np.exp(size[0] - size[1:]))) / np.log(10)
    # where the loss falls by more than e within a step, time is known less well than the state
    np.testing.assert_allclose(run["log10_time"][1:-1], expected[:-1], atol=1e-5)
    np.testing.assert_allclose(run["log10_time"][-2], expected[-2], rtol=1e-8)
    # the goal is met within the last step, where an interpolant of order 4 leaves some rtol^(4/5) = 4e-7 of the size
    np.testing.assert_allclose(run["log10_time"][-1], expected[-1], rtol=4e-6)
    assert np.isinf(run["time"][-1])
    np.testing.assert_allclose(run["log10_loss"], -size / np.log(10), rtol=1e-12)


def at_common_times(first, second):
    """Two runs at the instants of time that both have kept: multiples of a first step, which two programs may round
    otherwise."""
    one, other = first["time"].values, second["time"].values
    place = np.searchsorted(other, one * (1 - 1e-9)).clip(max=len(other) - 1)
    common = np.abs(other[place] - one) <= 1e-9 * one
    return first.isel(time=common), second.isel(time=place[common])


@pytest.mark.parametrize(
    ("loss", "spacing"),
    [
        ("exponential", "linear"),
        ("logistic", "log"),
        pytest.param("exponential", "log", marks=pytest.mark.papers),
        pytest.param("logistic", "linear", marks=pytest.mark.papers),
    ],
)
def test_a_flow_that_goes_over_to_the_loss_clock_stays_on_its_trajectory(small, loss, spacing):
    shared = {"loss__kind": loss, "flow__until": {"loss": 1e-6}, "flow__rtol": 1e-8, "observe__spacing": spacing}
    shared |= {"observe__times": 40}
    auto, on_time = (flowsim.run(small(**shared, flow__clock=clock)).dataset for clock in ("auto", "time"))
    assert (auto.attrs["clock"], on_time.attrs["clock"]) == ("time+loss", "time")
    began = auto.attrs["loss_clock_from"]
    assert 0 < began < auto["time"][-1]
    assert "loss_clock_from" not in on_time.attrs
    if spacing == "linear":
        one, other = at_common_times(auto, on_time)
        assert (one["time"] > began).sum() >= 10
        np.testing.assert_allclose(one["log_norm"], other["log_norm"], atol=1e-6)
        np.testing.assert_allclose(one["log10_loss"], other["log10_loss"], atol=1e-5)
    else:  # instants are evenly spaced from before the change to after it
        log_time = auto["log10_time"].values[1:-1]
        np.testing.assert_allclose(np.diff(log_time), log_time[1] - log_time[0], rtol=1e-9)
        assert log_time[0] < np.log10(began) < log_time[-1]
        by_time = np.log10(on_time["time"].values[1:])
        both = log_time <= by_time[-1]  # each ends with the step that reached the loss
        assert both.sum() >= len(both) - 2
        seen = np.interp(log_time[both], by_time, on_time["log10_loss"].values[1:])
        np.testing.assert_allclose(auto["log10_loss"][1:-1][both], seen, atol=0.02)
    np.testing.assert_allclose(auto["log10_time"][1:], np.log10(auto["time"][1:]), rtol=1e-12)


def test_the_loss_clock_begins_at_the_first_step_at_whose_start_all_samples_are_right(small):
    scenario = small(loss__kind="exponential", flow__until={"loss": 1e-3}, observe__spacing="solver")
    run = flowsim.run(scenario).dataset
    first = int((run["margin"].values.min(axis=1) > 0).argmax())
    assert first > 0
    assert run.attrs["loss_clock_from"] == run["time"][first]


def test_neurons_that_slide_go_over_without_a_trace():
    overrides = {"flow.until": {"loss": 1e-7}, "flow.rtol": 1e-7, "observe.times": 40}
    auto, on_time = (
        flowsim.run(flowsim.loads(CLUSTERS, overrides={**overrides, "flow.clock": clock})).dataset
        for clock in ("auto", "time")
    )
    one, other = at_common_times(auto, on_time)
    assert (one["time"] > auto.attrs["loss_clock_from"]).sum() >= 10
    assert auto["sliding_pairs"].max() > 10
    np.testing.assert_allclose(one["log_norm"], other["log_norm"], atol=1e-5)
    np.testing.assert_array_equal(one["sliding_pairs"], other["sliding_pairs"])


@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_a_flow_that_has_gone_over_goes_on_where_time_is_no_float_any_more(small, spacing, engine):
    shared = {"loss__kind": "exponential", "flow__until": {"steps": 150}, "flow__rtol": 1e-4}
    # evenly in time, every doubling of it keeps as many instants
    scenario = small(**shared, observe__spacing=spacing, observe__times=4)
    run = flowsim.run(scenario).dataset
    assert run.attrs["status"] == "done"
    assert np.isinf(run["time"][-1])
    assert run["log10_time"][-1] > 309
    assert (np.diff(run["log10_time"]) > 0).all()


def smoothed_margin(run, homogeneity: float) -> np.ndarray:
    """log(1/sum exp(-q)) / |theta|^L of Lyu & Li 2020"""
    square = (np.exp(2 * run["log_norm"]) + run["output_weight"] ** 2).sum("neuron").values
    total = run["log10_loss"].values * np.log(10) + np.log(run.sizes["sample"])
    return -total / square ** (homogeneity / 2)


@pytest.mark.parametrize(
    ("engine", "solver"), [("numba", "auto"), ("numba", "rkc2"), ("diffrax", "rkc2"), ("diffrax", "auto")]
)
def test_a_prelu_network_gets_to_a_loss_of_1e_minus_40000(engine, solver):
    tree = flowsim.run(
        flowsim.load(find("limits/prelu_mixture"), {**PRELU, "flow.engine": engine, "flow.solver": solver})
    )
    run = tree.dataset
    assert tree.attrs["status"] == "done"
    assert run["log10_loss"][-1] <= -40_000
    assert tree["numerics/evaluations"][-1] <= 10_000
    assert np.isfinite(run["log10_time"][-1])
    assert np.isinf(run["time"][-1])
    separated = run["margin"].min("sample").values > 0
    smoothed = smoothed_margin(run, 2)[separated]
    assert (np.diff(smoothed) >= -1e-4 * smoothed[1:]).all()
    assert smoothed[-1] > 2 * smoothed[smoothed > 0][0]


def test_chebyshev_steps_of_both_engines_follow_one_trajectory():
    shared = {**PRELU, "flow.solver": "rkc2", "flow.rtol": 1e-5, "flow.until": {"log10_loss": -1000.0}}
    shared |= {"observe.spacing": "log", "observe.variables": ["log_norm", "log10_loss", "margin"]}
    compiled, traced = (
        flowsim.run(flowsim.load(find("limits/prelu_mixture"), {**shared, "flow.engine": engine})).dataset
        for engine in ("numba", "diffrax")
    )
    both = min(compiled.sizes["time"], traced.sizes["time"]) - 1  # each stops at a step of its own
    one, other = compiled.isel(time=slice(1, both)), traced.isel(time=slice(1, both))
    assert both > 60
    np.testing.assert_allclose(one["log10_time"], other["log10_time"], rtol=1e-9)
    np.testing.assert_allclose(one["log_norm"], other["log_norm"], atol=2e-4)
    np.testing.assert_allclose(one["log10_loss"], other["log10_loss"], rtol=1e-4, atol=1e-4)
    # differences of margins tell which samples support the network
    for run in (one, other):
        margin = run["margin"].values[-1]
        assert np.ptp(np.sort(margin)[:5]) < 20.0 < margin.min()


def test_cost_grows_like_a_square_root():
    evaluations = [
        int(
            flowsim.run(flowsim.load(find("limits/prelu_mixture"), {**PRELU, "flow.until": {"log10_loss": goal}}))[
                "numerics/evaluations"
            ][-1]
        )
        for goal in (-1e3, -1e4, -1e5)
    ]
    second, third = np.diff(evaluations)
    # sqrt(10) = 3.2, to be told from 10
    assert third / second < 6.0, evaluations


@pytest.mark.parametrize("seed", [2, 3])
def test_instants_in_stiff_steps_that_an_event_ends_are_those_of_the_flow(seed):
    scenario = find("frei_vardi_2023/k8")
    run, exact = (flowsim.run(flowsim.load(scenario, {**TIGHT, "seed": seed, "flow.rtol": r})) for r in (1e-4, 1e-7))
    (loss, residual), (loss_exact, residual_exact) = (
        (tree["log10_loss"].values, np.log(tree["kkt/kkt_residual"].values)) for tree in (run, exact)
    )
    stiff = loss < -100.0
    events = run["numerics/events"].values[stiff]
    assert events[-1] - events[0] >= 10
    # multipliers go by differences of margins that are 1e4 and more
    there = np.interp(-loss[stiff], -loss_exact, residual_exact)
    np.testing.assert_allclose(residual[stiff], there, rtol=0, atol=0.2)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_relu_network_whose_pairs_slide_gets_to_1e_minus_1000(loss):
    overrides = {"flow.until": {"log10_loss": -1000.0}, "loss.kind": loss, "observe.times": 60}
    tree = flowsim.run(flowsim.loads(CLUSTERS, overrides=overrides))
    run = tree.dataset
    assert tree.attrs["status"] == "done"
    assert run["sliding_pairs"].max() > 10
    assert tree["numerics/evaluations"][-1] < 30_000
    assert (np.diff(run["log10_loss"]) <= 0).all()
    if loss == "exponential":
        smoothed = smoothed_margin(run, 2)
        smoothed = smoothed[smoothed > 0]
        assert (np.diff(smoothed) >= -1e-5 * smoothed[1:]).all()


def test_the_direction_of_a_linear_model_tends_to_the_hard_margin_separator():
    scenario = flowsim.loads(LINEAR, overrides={"flow.engine": "numba"})
    run, problem = flowsim.run(scenario).dataset, flowsim.build(scenario)
    direction = run["direction"].values[-1, 0] * run["neuron_sign"].values[0]
    signed = problem.targets[:, None] * problem.inputs
    found = minimize(
        lambda w: w @ w / 2,
        direction / (signed @ direction).min(),
        jac=lambda w: w,
        constraints={"type": "ineq", "fun": lambda w: signed @ w - 1, "jac": lambda w: signed},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 200},
    )
    best = found.x / np.linalg.norm(found.x)
    assert np.linalg.norm(direction - best) < 1e-6


def test_contradictory_labels_end_with_a_status_that_says_so(scenario_of):
    overrides = {"data.noise": {"total": 3.0}, "flow.until": {"log10_loss": -10.0}}
    tree = flowsim.run(scenario_of(LINEAR, overrides))
    assert tree.attrs["status"] == "not_separated"
    assert tree["numerics"].attrs["exit_code"] == 3
    assert tree["margin"][-1].min() < 0


@pytest.mark.parametrize("clock", ["auto", "time"])
def test_contradictory_labels_end_a_flow_by_time_as_well(scenario_of, clock):
    overrides = {"data.noise": {"total": 3.0}, "flow.until": {"loss": 1e-10}, "flow.clock": clock}
    tree = flowsim.run(scenario_of(LINEAR, overrides))
    assert tree.attrs["status"] == "not_separated"
    assert tree["numerics"].attrs["exit_code"] == 3
    assert tree["numerics/evaluations"][-1] < 20_000
    # what was reached is the least loss, where the gradient is 0
    problem = flowsim.build(scenario_of(LINEAR, overrides))
    found = minimize(
        lambda w: np.logaddexp(0.0, -problem.targets * (problem.inputs @ w)).mean(), np.zeros(5), tol=1e-12
    )
    assert tree["loss"][-1] == pytest.approx(found.fun, rel=1e-6)


def test_a_loss_that_is_out_of_reach_ends_at_the_least_one(scenario_of):
    overrides = {"data.noise": {"total": 3.0}, "flow.until": {"loss": 1e-10}, "loss.kind": "square"}
    tree = flowsim.run(scenario_of(LINEAR, overrides))
    assert (tree.attrs["status"], tree["numerics"].attrs["exit_code"]) == ("at_rest", 3)
    problem = flowsim.build(scenario_of(LINEAR, overrides))
    residual = problem.targets - problem.inputs @ np.linalg.lstsq(problem.inputs, problem.targets)[0]
    assert tree["loss"][-1] == pytest.approx((residual**2).mean() / 2, rel=1e-6)


def test_an_alignment_that_the_limit_does_not_have_ends_the_flow(small):
    tree = flowsim.run(small(loss__kind="exponential", flow__until={"alignment": 1 - 1e-9}, data__noise={"total": 0.5}))
    assert tree.attrs["status"] == "at_rest"
    assert "hardly turn" in tree.attrs["status_cause"]
    assert tree["numerics/evaluations"][-1] < 20_000


@pytest.mark.parametrize("spacing", ["linear", "log", "solver"])
def test_instants_are_kept_evenly_in_what_the_clock_goes_by(small, spacing, engine):
    goal = -2000.0 if engine == "numba" else -100.0
    scenario = small(
        loss__kind="exponential",
        flow__until={"log10_loss": goal},
        observe__spacing=spacing,
        observe__times=20,
        flow__rtol=1e-4,
    )
    run = flowsim.run(scenario).dataset
    log_time = run["log10_time"].values
    assert (np.diff(log_time) > 0).all()
    assert log_time[0] == -np.inf
    assert run["log10_loss"][-1] <= goal
    if spacing == "log":
        assert 20 <= len(log_time) <= 41
        np.testing.assert_allclose(np.diff(log_time[2:-1]), log_time[3] - log_time[2], rtol=1e-6)
