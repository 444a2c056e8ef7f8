"""The asymptotic flow: its steps against other solvers, what it says of a flow against the flow, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import flowsim
from flowsim.evaluate.kkt import asymptotic
from flowsim.evaluate.kkt.certificate import Network, residuals
from flowsim.evaluate.kkt.program import Program
from flowsim.evaluate.kkt.sizes import Hyperbolic
from flowsim.evaluate.kkt.smooth import polish
from flowsim.evaluate.kkt.state import State, System, View
from flowsim.problem import reduce

#: Sort -> a random problem whose neurons die slowly, or share their strength.
PROBLEMS = {
    "relu": {"model": {"activation": "relu", "width": 12}, "seed": 2},
    "leaky": {"model": {"activation": "leaky_relu", "slope": 0.5, "width": 8}, "seed": 0},
    "bias": {"model": {"activation": "relu", "width": 9, "bias": True}, "seed": 1},
    "fixed": {"model": {"activation": "relu", "width": 8, "output": "fixed", "output_weight": 0.5}, "seed": 0},
    "prelu": {"model": {"activation": "prelu", "degree": 3, "width": 6}, "seed": 4},
}


def problem(sort: str, log10_loss: float) -> flowsim.Scenario:
    return flowsim.Scenario(
        {
            "data": {"dimension": 8, "positive": 2, "negative": 2, "samples": 20, "noise": {"total": 0.8}},
            "init": {"scale": 0.3} if sort == "fixed" else {"scale": 0.3, "balanced": False},
            "loss": {"kind": "exponential"},
            "flow": {"until": {"log10_loss": log10_loss, "steps": 50_000}},
            "observe": {"times": 10, "spacing": "log"},
            **PROBLEMS[sort],
        }
    )


@pytest.fixture(scope="module", params=PROBLEMS)
def pair(request):
    """A flow at two losses, and the limits from there."""
    runs = [flowsim.run(problem(request.param, goal)) for goal in (-1e3, -3e4)]
    return runs, [flowsim.limit(run) for run in runs]


def values(found, power):
    """Of a limit's network, at random points."""
    points = np.random.default_rng(0).normal(size=(30, found.sizes["feature"]))
    bias = found["hidden_bias"].values[:, None] if "hidden_bias" in found else 0.0
    return found["output_weight"].values @ power(found["hidden"].values @ points.T + bias, found["hidden"].values)


RESPONSES = {
    "relu": lambda s, w: np.maximum(s, 0),
    "leaky_relu": lambda s, w: np.maximum(s, 0.5 * s),
    "prelu": lambda s, w: np.maximum(s, 0) ** 3 / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-100) ** 2,
}


def test_a_flow_has_the_same_limit_from_wherever_it_is_looked_for(pair):
    """Where that is one of a continuum, neurons of one direction share their strength as the flow has left it; the
    network is the same function."""
    runs, found = pair
    for limit in found:
        assert limit.attrs["verdict"].startswith("the flow's own limit")
        assert limit["residual"] < 1e-8
        assert limit["strictness"] > 1e-7
        assert (limit["exponent"].values[limit["exponent"] != 1] < 1).all()
    assert found[1]["normalised_margin"] == pytest.approx(float(found[0]["normalised_margin"]), rel=1e-6)
    np.testing.assert_allclose(found[0]["multiplier"], found[1]["multiplier"], atol=1e-6 * found[0]["multiplier"].max())
    response = RESPONSES[flowsim.reopen(runs[0]).scenario.model.activation]
    first, second = (values(limit, response) for limit in found)
    np.testing.assert_allclose(first, second, atol=1e-6 * np.abs(first).max())


def share(run, index):
    """(log10 of each neuron's share of |theta|^2, log10 |theta|)"""
    both = 2 * run["log_norm"].values[index], 2 * np.log(np.abs(run["output_weight"].values[index]))
    whole = np.logaddexp.reduce(np.logaddexp(*both))
    return (np.logaddexp(*both) - whole) / np.log(10), 0.5 * whole / np.log(10)


@pytest.mark.parametrize("sort", ["relu", "leaky", "prelu"])
def test_a_flow_goes_where_the_asymptotic_flow_goes(sort):
    """From a loss of 1e-1000 on, the margins that pull are the smallest but for 1/2303 of them, and the asymptotic
    flow's step has an error of that order, too."""
    early, late = (flowsim.run(problem(sort, goal)) for goal in (-1e3, -1e5))
    found = flowsim.limit(early)
    (before, _), (after, where) = share(early, -1), share(late, -1)
    told = np.array([np.interp(where, found["log10_norm"], column) for column in found["asymptotic_share"].values.T])
    assert where > found["log10_norm"][0] + 0.9
    moved = np.abs(10**after - 10**before).max()
    assert moved > 1e-3
    assert np.abs(10**told - 10**after).max() < 0.1 * moved
    # an exponent is what the share of a dying neuron falls with
    end = found["asymptotic_share"].values[-4:]
    rate = np.diff(end, axis=0)[-1] / np.diff(found["log10_norm"].values[-4:])[-1]
    falls = end[-1] > -200
    np.testing.assert_allclose(rate[falls], 2 * (found["exponent"].values[falls] - 1), atol=0.02)


@pytest.mark.parametrize("kept", [0.7, 0.0, -0.7])
def test_sizes_grow_as_both_layers_do(kept):
    """w' = v H, v' = H w along a direction, for a pull that has v change its sign where |w| > |v|."""
    norm = 1.5
    output = -np.sqrt(norm**2 - kept)
    sizes = Hyperbolic.of(
        *(np.log(np.abs([one])) for one in (norm, output)), np.sign([output]), *np.log(np.abs([[norm], [output]]))
    )
    pull = 1.7
    (w, v) = solve_ivp(lambda t, y: [pull * y[1], pull * y[0]], (0, 1), [norm, output], rtol=1e-12, atol=1e-13).y[:, -1]
    grown = sizes.grown(np.array([pull]), np.zeros(1), np.zeros(1))
    if kept < 0:
        # |w| would have to pass 0, where its direction turns
        assert w < 0
        return
    assert np.exp(grown.log_norm[0]) == pytest.approx(w, rel=1e-9)
    assert grown.output_sign[0] * np.exp(grown.output_log[0]) == pytest.approx(v, rel=1e-9)
    assert grown.output_sign[0] == (1.0 if kept > 0 else -1.0)


def test_a_step_solves_its_program():
    """The samples' weights and the gates of all pairs at once, by another solver: theirs is no smaller value."""
    rng = np.random.default_rng(3)
    inputs, label = rng.normal(size=(5, 3)), np.array([1.0, 1, -1, -1, 1])
    inputs /= np.linalg.norm(inputs, axis=1).max()
    direction = rng.normal(size=(4, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    sign, slope, length = np.array([1.0, 1, -1, -1]), 0.2, 3.0
    system = System(inputs, label, 1.0, 1.0, slope, True, inputs @ inputs.T)
    state = State(direction, Hyperbolic.of(*(np.zeros(4),) * 2, sign, *(np.zeros(4),) * 2))
    view = View.of(system, state)
    near = label * sign[:, None] < 0
    program = Program(system, state, view, near, np.arange(5), length)
    weight = program.weights(1.0)
    while program.improve(weight):
        weight = program.weights(1.0)
    gate = program.gates(weight)
    # some pairs slide, some have come to either side
    assert ((gate > slope + 1e-6) & (gate < 1 - 1e-6))[near].any()
    assert (np.isin(gate, (slope, 1.0)))[near].any()

    def value(weight, pulls):
        force = (pulls * label) @ inputs
        along = (force * direction).sum(axis=1)
        share = 1 / 8
        return share * (length / 2 * ((force**2).sum() + (along**2).sum()) + sign @ along)

    def unpacked(unknown):
        pulls = view.slope * unknown[:5]
        pulls[near] = unknown[5:]
        return unknown[:5], pulls

    of = np.nonzero(near)[1]
    limits = [
        {"type": "eq", "fun": lambda x: x[:5].sum() - 1},
        {"type": "ineq", "fun": lambda x: x[of] - x[5:]},
        {"type": "ineq", "fun": lambda x: x[5:] - slope * x[of]},
    ]
    start = np.full(5 + len(of), 0.2)
    other = minimize(
        lambda x: value(*unpacked(x)), start, bounds=[(0, 1)] * len(start), constraints=limits, options={"ftol": 1e-14}
    )
    assert value(weight, gate * weight) == pytest.approx(other.fun, abs=1e-7)
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    assert (gate >= slope).all()
    assert (gate <= 1).all()


def test_a_step_lets_no_margin_fall_below_those_that_it_raises(monkeypatch):
    """The samples that it begins with are so few that others have to join."""
    rng = np.random.default_rng(1)
    inputs, direction = rng.normal(size=(40, 5)), rng.normal(size=(8, 5))
    inputs /= np.linalg.norm(inputs, axis=1).max()
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    sign = np.where(np.arange(8) < 4, 1.0, -1.0)
    label = np.sign(sign @ np.maximum(direction @ inputs.T, 0.0))
    system = System(inputs, label, 1.0, 1.0, 0.0, True, inputs @ inputs.T)
    state = State(direction, Hyperbolic.of(*(np.zeros(8),) * 2, sign, *(np.zeros(8),) * 2))
    monkeypatch.setattr(asymptotic, "UNKNOWN", 2)
    after, pull = asymptotic.step(system, state, 0.3)
    raised, margin = pull.weight > 1e-6, View.of(system, after).margin
    assert raised.sum() > 2
    # what a step lets pass
    assert margin[~raised].min() >= margin[raised].min() * (1 - 1e-9)


def test_neurons_that_are_split_in_two_have_the_same_limit(small):
    """Each half has half of the strength, which a flow keeps; halves may share it otherwise, too."""
    whole = small(
        model={"activation": "relu", "width": 5},
        init={"scale": 0.3},
        data__noise={"total": 0.5},
        loss__kind="exponential",
        flow__until={"log10_loss": -200.0, "steps": 20_000},
        observe={"times": 5, "spacing": "log"},
    )
    start = flowsim.build(whole)
    half = flowsim.Weights(np.vstack([start.hidden] * 2) / np.sqrt(2), np.tile(start.output, 2) / np.sqrt(2))
    one = flowsim.limit(flowsim.run(whole))
    two = flowsim.limit(flowsim.run(whole.replace({"model.width": 10}), init=half))
    for found in (one, two):
        assert found.attrs["verdict"].startswith("the flow's own limit")
    assert two["normalised_margin"] == pytest.approx(float(one["normalised_margin"]), rel=1e-9)
    np.testing.assert_allclose(two["multiplier"], one["multiplier"], rtol=1e-7, atol=1e-9)
    assert two["freedom"] == one["freedom"] + one["alive"]


def test_a_search_ends_with_its_wall_time_and_tells_how_far_it_is(small):
    run = flowsim.run(
        small(
            model={"activation": "relu", "width": 5},
            init={"scale": 0.3},
            loss__kind="exponential",
            flow__until={"log10_loss": -20.0, "steps": 20_000},
        )
    )
    told: list[str] = []
    found = flowsim.limit(run, wall_time=0.0, progress=told.append)
    assert found.attrs["found"] == 0
    assert "wall time" in found.attrs["verdict"]
    assert len(told) == 1
    assert told[0].startswith("limit: log10 |theta|")


def test_two_neurons_of_a_power_that_share_a_sample_are_a_saddle(small):
    """max(w x, 0)^2 v: of two equal neurons the one that is ahead grows faster, and alone has the smaller norm."""
    power = {"activation": "relu_power", "degree": 2, "width": 2}
    problem = flowsim.build(
        small(model=power, loss__kind="exponential"),
        data=flowsim.Data(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])),
    )
    reduced = reduce(problem)
    counts = {}
    for count in (1, 2):
        # w = 2 lambda v w and v = lambda w^2, for each, with sum v w^2 = 1 at either sample
        size = (1 / count) ** (1 / 3)
        first, other = size * 2 ** (1 / 6), size * 2 ** (-1 / 3)
        rows = np.repeat(reduced.inputs, count, axis=0) * first
        start = Network(rows, np.repeat(reduced.targets, count) * other)
        multiplier = np.full(2, 1 / (2 * other))
        assert max(residuals(start, reduced, multiplier, None).values()) < 1e-12
        counts[count] = polish(start, reduced, multiplier, np.ones(2, dtype=bool)).curvature
    assert counts[1] > -1e-6
    assert counts[2] < -0.1


def test_a_neuron_of_a_fixed_output_that_dies_beside_others_is_left_dead(small):
    """Its |w| stays as it is while theirs grow, its direction comes to where no sample pulls at it, and turns at once."""
    run = flowsim.run(
        small(
            seed=9,
            data={"dimension": 5, "positive": 3, "negative": 3, "samples": 6, "centers": "random_sphere"},
            data__noise={"total": 0.3},
            model={"activation": "prelu", "degree": 3, "width": 11, "output": "fixed", "output_weight": 0.5},
            init={"scale": 0.1},
            loss__kind="exponential",
            flow__until={"log10_loss": -1000.0, "steps": 20_000},
            observe={"times": 5, "spacing": "log"},
        )
    )
    found = flowsim.limit(run)
    assert found.attrs["verdict"].startswith("the flow's own limit")
