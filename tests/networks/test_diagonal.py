"""Diagonal networks against Woodworth et al. (2020): which interpolant they end at, from kernel to rich, and how."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.optimize import linprog, minimize

import flowsim


def least_potential(x, y, alpha):
    """argmin of Q_alpha over x beta = y  (Woodworth et al. 2020, Theorem 1; u = v = alpha at time 0)."""
    free, some = null_space(x), np.linalg.lstsq(x, y)[0]

    def beta(coordinates):
        return some + free @ coordinates

    def potential(coordinates):
        ratio = beta(coordinates) / alpha**2
        return alpha**2 * np.sum(2 - np.sqrt(4 + ratio**2) + ratio * np.arcsinh(ratio / 2))

    def gradient(coordinates):
        return free.T @ np.arcsinh(beta(coordinates) / (2 * alpha**2))

    def hessian(coordinates):
        return free.T @ (free / np.sqrt(4 * alpha**4 + beta(coordinates) ** 2)[:, None])

    # the potential is flat to rounding before its gradient is: what is asked for is the gradient
    start = np.zeros(free.shape[1])
    found = minimize(potential, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-12})
    assert np.abs(gradient(found.x)).max() < 1e-6
    return beta(found.x)


def least_l1(x, y):
    """argmin of |beta|_1 over x beta = y."""
    features = x.shape[1]
    found = linprog(np.ones(2 * features), A_eq=np.hstack([x, -x]), b_eq=y)
    return found.x[:features] - found.x[features:]


def logarithms(x, y, alpha, times):
    """(times, features) twice: log u and log v. In the flow u = alpha e^(2 s) and v = alpha e^(-2 s) with s = X^T r,
    where r' is the residual over n: all of order 1 at any alpha."""
    samples = len(y)

    def residual(_, total):
        return (y - x @ (2 * alpha**2 * np.sinh(4 * (total @ x)))) / samples

    # a trial step of any length would overflow, as the residual hardly changes for long
    total = solve_ivp(
        residual, (0, times[-1]), np.zeros(samples), "DOP853", times, rtol=1e-13, atol=1e-14, max_step=1.0
    )
    shift = 2 * (total.y.T @ x)
    return np.log(alpha) + shift, np.log(alpha) - shift


def flow(samples, features, sparsity, alpha, rtol, until, **observe):
    """x, y and the trajectory from u = v = alpha."""
    scenario = flowsim.Scenario(
        {
            "data": {"kind": "sparse_regression", "dimension": features, "sparsity": sparsity, "samples": samples},
            "model": {"kind": "diagonal"},
            "init": {"shape": "ones", "scale": alpha},
            "loss": {"kind": "square"},
            "flow": {"rtol": rtol, "until": until},
            "observe": observe,
        }
    )
    problem = flowsim.build(scenario)
    return problem.inputs, problem.targets, flowsim.run(scenario)


def limit(tree):
    return tree["u"].values[-1] ** 2 - tree["v"].values[-1] ** 2


@pytest.mark.parametrize("alpha", [1e-3, 1e-2, 0.1, 1.0, 10.0])
def test_the_limit_has_the_least_potential_of_all_interpolants(alpha):
    # u^2 - v^2 loses the digits that alpha^2 has and beta has not
    x, y, tree = flow(10, 20, 2, alpha, 1e-8 / max(1, alpha**2), {"loss": 1e-13})
    np.testing.assert_allclose(limit(tree), least_potential(x, y, alpha), atol=1e-5)


def test_it_goes_from_the_least_l2_norm_to_the_least_l1_norm_as_the_start_gets_smaller():
    x, y, large = flow(24, 40, 3, 10.0, 1e-10, {"loss": 1e-13})
    least_l2 = np.linalg.lstsq(x, y)[0]
    assert np.abs(least_l1(x, y) - least_l2).max() > 0.1
    np.testing.assert_allclose(limit(large), least_l2, atol=1e-5)
    _, _, tiny = flow(24, 40, 3, 1e-20, 1e-6, {"time": 200.0})
    np.testing.assert_allclose(limit(tiny), least_l1(x, y), atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-8, 1e-20])
def test_every_weight_is_followed_to_a_relative_error_of_1e_5(alpha):
    x, y, tree = flow(24, 40, 3, alpha, 1e-6, {"time": 200.0}, times=101, snapshots="all")
    for name, expected in zip("uv", logarithms(x, y, alpha, tree["time"].values), strict=True):
        assert np.ptp(expected) > 20
        np.testing.assert_allclose(np.log(tree[name].values), expected, atol=1e-5)
