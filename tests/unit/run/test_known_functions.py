"""Networks written as functions go where a closed form, or what is built in, says."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flowsim

RTOL = 1e-6


def diagonal(params, x):
    return x @ (params["u"] ** 2 - params["v"] ** 2)


def weights(params):
    return params["u"] ** 2 - params["v"] ** 2


def by_logarithms(x, y, alpha, times):
    """w over time of the diagonal network, from u = alpha e^s and v = alpha e^-s: s' = -2 X^T (X w - y)."""

    def w(s):
        # trial steps of the reference may be far too long
        return np.exp(np.minimum(2 * (s + np.log(alpha)), 50)) - np.exp(np.minimum(2 * (np.log(alpha) - s), 50))

    def rate(time, s):
        return -2 * x.T @ (x @ w(s) - y)

    start = np.zeros(x.shape[1])
    followed = solve_ivp(rate, (0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    return w(followed.y.T)


@pytest.mark.parametrize(("alpha", "end"), [(1e-8, 60.0), (1e-20, 120.0)])
def test_a_diagonal_network_is_followed_from_any_scale(alpha, end):
    random = np.random.default_rng(0)
    x = random.standard_normal((12, 8)) / np.sqrt(12)
    y = x[:, :3] @ [1.0, -0.6, 0.4]
    start = {"u": np.full(8, alpha), "v": np.full(8, alpha)}
    run = flowsim.flow(
        diagonal,
        start,
        x,
        y,
        loss={"kind": "square", "reduction": "sum"},
        until={"time": end},
        units="entries",
        observe={"w": weights},
        rtol=RTOL,
    )
    expected = by_logarithms(x, y, alpha, run["time"].values)
    error = np.linalg.norm(run["w"] - expected, axis=1)[1:] / np.linalg.norm(expected, axis=1)[1:]
    assert error.max() <= 1e-5


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
def test_a_mode_of_a_deep_linear_network_follows_its_equation(depth):
    """Saxe, McClelland & Ganguli (2014): from aligned layers, a' = L a^(2 - 2/L) (s - a) for each singular value s."""
    random = np.random.default_rng(depth)
    strengths, begin = np.array([3.0, 1.5, 0.7]), 1e-2
    left, right = (np.linalg.qr(random.standard_normal((3, 3)))[0] for _ in range(2))
    layers = [begin ** (1 / depth) * np.eye(3) for _ in range(depth)]
    layers[0], layers[-1] = layers[0] @ right.T, left @ layers[-1]

    def apply(params, x):
        for matrix in params:
            x = x @ matrix.T
        return x

    def modes(params):
        return jnp.diag(left.T @ apply(params, jnp.eye(3)).T @ right)

    x = np.eye(3)
    run = flowsim.flow(
        apply,
        layers,
        x,
        (left * strengths @ right.T).T,
        loss={"kind": "square", "reduction": "sum"},
        until={"time": 20.0},
        observe={"modes": modes},
        rtol=RTOL,
        times=80,
    )
    expected = solve_ivp(
        lambda time, a: depth * a ** (2 - 2 / depth) * (strengths - a),
        (0, 20.0),
        np.full(3, begin),
        "DOP853",
        t_eval=run["time"].values,
        rtol=1e-12,
        atol=1e-14,
    )
    assert np.abs(run["modes"] / expected.y.T - 1).max() <= 1e-5


def test_neurons_written_as_a_function_go_where_the_built_in_ones_go():
    scenario = flowsim.Scenario(
        {
            "data": {"dimension": 6, "samples": 24, "noise": {"total": 0.3}},
            "model": {"activation": "prelu", "degree": 3.0, "width": 6},
            "init": {"scale": 1e-2},
            "flow": {"engine": "diffrax", "solver": "dopri8", "until": {"time": 20.0}, "reduce": False, "rtol": RTOL},
            "observe": {"times": 20, "snapshots": "all"},
        }
    )
    problem = flowsim.build(scenario)

    def apply(params, x):
        along, norm = x @ params["w"].T, jnp.linalg.norm(params["w"], axis=1)
        return jnp.maximum(along, 0) ** 3 / norm**2 @ params["v"]

    built_in = flowsim.run(scenario)
    written = flowsim.flow(
        apply,
        {"w": problem.hidden, "v": problem.output},
        problem.inputs,
        problem.targets,
        until={"time": 20.0},
        units={"v": "entries"},
        rtol=RTOL,
        times=20,
        snapshots="all",
    )
    hidden = np.exp(built_in["log_norm"].values)[:, :, None] * built_in["direction"].values
    apart = np.linalg.norm(written["w"] - hidden, axis=2) / np.linalg.norm(hidden, axis=2)
    assert apart.max() <= 20 * RTOL
