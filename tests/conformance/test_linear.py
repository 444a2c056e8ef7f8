"""The linear classifier, whose flow has closed forms and whose limits other libraries know."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import flowsim


@pytest.fixture(params=[True, False], ids=["bias", "no bias"])
def linear(small, request):
    """The small scenario with a linear classifier."""
    model = {"kind": "linear", "bias": request.param}
    return lambda **overrides: small(model=model, init__scale=0.1, observe__snapshots=5, **overrides)


def parameters(run, snapshot=-1):
    """w, with the bias as its last entry where there is one"""
    kept = run.isel(snapshot=snapshot)
    norm = np.exp(run["log_norm"].sel(time=kept["snapshot"]).values[0])
    bias = kept["bias_weight"].values if "bias_weight" in run else np.zeros(0)
    return norm * np.append(kept["direction"].values[0], bias)


def features(problem):
    return np.column_stack([problem.inputs, np.ones(len(problem.inputs))]) if problem.bias else problem.inputs


def test_least_squares_follow_the_exponential_of_the_covariance(linear, followed):
    scenario = linear(flow__rtol=1e-9, data__samples=8)
    problem, run = flowsim.build(scenario), followed(scenario)
    x, start = features(problem), parameters(run, 0)
    covariance, pull = x.T @ x / len(x), x.T @ problem.targets / len(x)
    rates, axes = np.linalg.eigh(covariance)
    for snapshot, time in enumerate(run["snapshot"].values):
        shrink = np.exp(-rates * time)
        reach = np.where(rates > 1e-12, -np.expm1(-rates * time) / np.where(rates > 1e-12, rates, 1.0), time)
        wanted = axes @ (shrink * (axes.T @ start) + reach * (axes.T @ pull))
        np.testing.assert_allclose(parameters(run, snapshot), wanted, atol=1e-7)


def test_the_logistic_flow_on_data_that_overlap_ends_at_scikit_learn_s_regression(linear, followed):
    scenario = linear(
        data__noise={"per_coordinate": 1.0},
        data__samples=80,
        data__dimension=4,
        loss__kind="logistic",
        flow__until={"time": 400.0},
    )
    problem, run = flowsim.build(scenario), followed(scenario)
    found = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(
        features(problem), problem.targets
    )
    assert run["accuracy"][-1] < 1
    np.testing.assert_allclose(parameters(run), found.coef_[0], atol=1e-5)


def test_the_logistic_flow_on_separable_data_grows_along_the_largest_margin(small, followed):
    """w(t) - w^ log t stays bounded, w^ the separator with margins of at least 1 (Soudry et al. 2018)."""
    scenario = small(
        model={"kind": "linear"},
        init__scale=1e-3,
        loss__kind="logistic",
        data={"dimension": 5, "positive": 2, "negative": 2, "centers": "random_sphere", "noise": {"total": 0.0}},
        flow__until={"time": 1e6},
        observe={"times": 20, "spacing": "log", "snapshots": "all"},
    )
    problem, run = flowsim.build(scenario), followed(scenario)
    # without an intercept: every sample and its opposite
    mirrored, labels = np.vstack([problem.inputs, -problem.inputs]), np.append(problem.targets, -problem.targets)
    best = SVC(kernel="linear", C=1e10, tol=1e-9).fit(mirrored, labels).coef_[0]
    mean = problem.targets @ problem.inputs
    assert mean @ best < 0.9 * np.linalg.norm(mean) * np.linalg.norm(best)
    times = run["snapshot"].values
    grown = (parameters(run, -1) - parameters(run, -2)) / np.log(times[-1] / times[-2])
    np.testing.assert_allclose(grown, best, atol=1e-3 * np.linalg.norm(best))
