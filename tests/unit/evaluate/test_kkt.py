"""The KKT point that a flow goes to: against a maximum-margin separator, and against its conditions written out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

import flowsim

FLOW = {
    "init": {"scale": 0.1, "signs": "half"},
    "loss__kind": "logistic",
    "flow__until": {"log10_loss": -20.0, "steps": 20_000},
    "observe": {"times": 30, "spacing": "log", "snapshots": 8},
}
#: Networks of a kink, without, and with a bias.
NETWORKS = {
    "relu": {"activation": "relu", "width": 8},
    "relu with bias": {"activation": "relu", "width": 8, "bias": True},
    "leaky": {"activation": "leaky_relu", "slope": 0.2, "width": 8},
    "relu, fixed output": {"activation": "relu", "width": 8, "output": "fixed", "output_weight": 0.5},
    "prelu": {"activation": "prelu", "degree": 3, "width": 4},
}
#: Neurons of a power share the clusters out slowly.
LATER = {"prelu": {"flow__until__log10_loss": -80.0}}
LINEAR = {
    "fixed output": {"activation": "leaky_relu", "slope": 1.0, "width": 1, "output": "fixed", "output_weight": 1.0},
    "trained": {"activation": "leaky_relu", "slope": 1.0, "width": 3},
    "classifier": {"kind": "linear"},
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_linear_network_s_limit_is_the_maximum_margin_separator(small, name, seed):
    scenario = small(
        seed=seed,
        data={"dimension": 8, "positive": 1, "negative": 1, "noise": {"total": 0.6}, "samples": 40},
        model=LINEAR[name],
        **{**FLOW, "init": {"scale": 0.1} if name == "classifier" else FLOW["init"]},
    )
    problem, found = flowsim.build(scenario), flowsim.limit(flowsim.run(scenario))
    weights = found["output_weight"].values @ found["hidden"].values
    # without an intercept: samples and their mirror images. SVC keeps products of samples in single precision, so it is
    # asked for the support, and the shortest vector with margins of 1 there is computed from that
    mirrored = np.vstack([problem.inputs, -problem.inputs]), np.append(problem.label, -problem.label)
    fitted = SVC(kernel="linear", C=1e10, tol=1e-12).fit(*mirrored)
    support = mirrored[1][fitted.support_, None] * mirrored[0][fitted.support_]
    for separator, accuracy in ((fitted.coef_[0], 1e-6), (np.linalg.lstsq(support, np.ones(len(support)))[0], 1e-8)):
        assert np.linalg.norm(weights / np.linalg.norm(weights) - separator / np.linalg.norm(separator)) < accuracy
    assert found["residual"] < 1e-8


@pytest.fixture(params=NETWORKS, scope="module")
def pair(request, small):
    scenario = small(
        seed=3, model=NETWORKS[request.param], data__noise={"total": 0.3}, **FLOW, **LATER.get(request.param, {})
    )
    run = flowsim.run(scenario)
    return flowsim.build(scenario), run, flowsim.limit(run)


def test_the_limit_meets_the_kkt_conditions(pair):
    """Written out from the file's arrays: w_j = v_j sum_i lambda_i y_i k_ij x_i, k_ij the slopes."""
    problem, _, found = pair
    assert found.attrs["found"] == 1
    assert found["residual"] < 1e-8
    hidden, output, multiplier = (found[name].values for name in ("hidden", "output_weight", "multiplier"))
    inputs = problem.inputs
    if problem.bias:
        hidden = np.hstack([hidden, found["hidden_bias"].values[:, None]])
        inputs = np.hstack([inputs, np.ones((len(inputs), 1))])
    margin = found["margin"].values
    assert margin.min() == pytest.approx(1, abs=1e-8)
    assert multiplier.min() >= -1e-10 * multiplier.max()
    assert np.abs(multiplier * (margin - 1)).max() <= 1e-8 * multiplier.max()
    if problem.activation.degree != 1:
        pulled = sum(
            weight * gradient for weight, gradient in zip(multiplier, slopes(problem, hidden, output), strict=True)
        )
        theta = np.append(hidden.ravel(), output)
        # central differences have an error of (eps)^(2/3) at best
        np.testing.assert_allclose(pulled, theta, atol=1e-7 * np.abs(theta).max())
        return
    slope = problem.activation.inactive_slope
    norms = np.linalg.norm(hidden, axis=1)[:, None] * np.linalg.norm(inputs, axis=1)
    cosine = hidden @ inputs.T / np.where(norms > 0, norms, 1.0)
    response = np.where(cosine > 0, hidden @ inputs.T, slope * (hidden @ inputs.T))
    np.testing.assert_allclose(problem.label * (output @ response), margin, rtol=1e-7)
    for own, v, row in zip(hidden, output, cosine, strict=True):
        on = np.abs(row) < 1e-8
        gates = np.where(row > 0, 1.0, slope) * ~on
        rest = own / v - (gates * multiplier * problem.label) @ inputs if np.linalg.norm(own) else np.zeros_like(own)
        # what a neuron's planes add is between the slopes of their sides
        if on.any() and np.linalg.norm(own):
            columns = ((multiplier * problem.label)[:, None] * inputs)[on].T
            share = np.linalg.lstsq(columns, rest)[0]
            assert (share >= slope - 1e-6).all()
            assert (share <= 1 + 1e-6).all()
            rest = rest - columns @ share
        assert np.linalg.norm(rest) <= 1e-7 * max(np.linalg.norm(own / v) if v else 0.0, 1e-300)


def slopes(problem, hidden, output):
    """Of y_i f(x_i) in all weights, for each sample, by differences; f as the docs write pReLU."""
    degree, shape = problem.activation.degree, hidden.shape

    def margins(theta):
        rows, v = theta[: hidden.size].reshape(shape), theta[hidden.size :]
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-100)[:, None]
        return problem.label * (v @ (np.maximum(rows @ problem.inputs.T, 0) ** degree / norms ** (degree - 1)))

    theta, step = np.append(hidden.ravel(), output), 1e-5 * np.abs(hidden).max()
    moves = step * np.eye(len(theta))
    living = np.append(np.repeat(np.linalg.norm(hidden, axis=1) > 0, shape[1]), np.ones(len(output), dtype=bool))
    columns = [(margins(theta + move) - margins(theta - move)) / (2 * step) for move in moves]
    return (np.array(columns) * living[:, None]).T


def test_the_flow_comes_closer_to_it(pair):
    _, _, found = pair
    angle = found["angle"].values
    assert angle[-1] < 0.5 * angle[0]
    assert (np.diff(angle[len(angle) // 2 :]) < 0).all()


def test_the_limit_s_margin_is_no_smaller_than_the_flow_s(pair):
    problem, run, found = pair
    hidden, output = found["hidden"].values, found["output_weight"].values * problem.trained_output
    bias = found["hidden_bias"].values if problem.bias else np.zeros(1)
    size = np.sqrt((hidden**2).sum() + (bias**2).sum() + (output**2).sum())
    power = 1 + problem.trained_output
    assert run["kkt/normalised_margin"].values[-1] <= size**-power * (1 + 1e-9)


def test_an_early_state_of_a_flow_shows_the_limit_that_a_late_one_does(small):
    """At a loss of 1e-20, one neuron of a class has most of its strength, and the nearest KKT point has it alone."""
    early = {"model": NETWORKS["prelu"], "data__noise": {"total": 0.3}, **FLOW}
    from_early, from_late = (
        flowsim.limit(flowsim.run(small(seed=3, **{**early, **at}))) for at in ({}, LATER["prelu"])
    )
    for found in (from_early, from_late):
        assert found.attrs["verdict"].startswith("the flow's own limit")
    np.testing.assert_allclose(from_early["hidden"], from_late["hidden"], atol=1e-8)
    np.testing.assert_allclose(from_early["multiplier"], from_late["multiplier"], atol=1e-8)


def test_a_run_says_what_its_limit_is(small):
    run = flowsim.run(small(seed=3, model=NETWORKS["relu"], data__noise={"total": 0.3}, evaluate__limit=True, **FLOW))
    assert run["limit"].attrs["found"] == 1
    assert run["limit"].attrs["verdict"].startswith("the flow's own limit")


def test_a_flow_that_has_not_separated_its_samples_shows_no_way_to_a_limit(small):
    early = {**FLOW, "flow__until": {"time": 1e-3}}
    found = flowsim.limit(flowsim.run(small(model=NETWORKS["relu"], data__noise={"total": 3.0}, **early)))
    assert found.attrs["found"] == 0
    assert "separated" in found.attrs["verdict"]


def test_a_loss_that_has_a_minimum_has_no_limit(small):
    found = flowsim.limit(flowsim.run(small(flow__until={"time": 1.0})))
    assert found.attrs["found"] == 0
    assert "logistic or exponential" in found.attrs["verdict"]
