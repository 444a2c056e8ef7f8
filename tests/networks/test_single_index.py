"""One neuron that learns one direction, against the overlap's own equation (Ben Arous, Gheissari & Jagannath 2021)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from support.designs import fifth_degree, grid, seventh_degree

import flowsim
from flowsim.kinds.networks import NETWORKS


def overlap(time, start, exponent):
    """m(t) of m' = k m^(k-1) (1 - m^2): the population flow on the sphere where student and teacher are the k-th
    normalised Hermite polynomial, k the information exponent."""
    if exponent == 1:
        return np.tanh(time + np.arctanh(start))
    if exponent == 2:
        odds = start**2 / (1 - start**2) * np.exp(4 * time)
        return np.sqrt(odds / (1 + odds))

    # the integral of dm / (k m^(k-1) (1 - m^2)) in closed form, for k = 3
    def elapsed(m):
        return (np.arctanh(m) - 1 / m) / 3

    def missing(m):
        return elapsed(m) - elapsed(start) - time

    return brentq(missing, start / 2, 1 - 1e-14, xtol=1e-14)


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_the_overlap_of_the_population_flow_follows_its_scalar_equation(exponent):
    # over these samples means of polynomials of the loss's degree are exact, so that this is the population's flow
    axis, features = (fifth_degree(), 3) if exponent < 3 else (seventh_degree(), 2)
    x, start = grid(*[axis] * features), 0.2
    weight = np.eye(features)[0] * start + np.eye(features)[1] * np.sqrt(1 - start**2)
    neuron = NETWORKS["hermite_neuron"](kind="hermite_neuron", exponent=exponent)
    target = {1: x[:, 0], 2: (x[:, 0] ** 2 - 1) / 2**0.5, 3: (x[:, 0] ** 3 - 3 * x[:, 0]) / 6**0.5}[exponent]
    tree = flowsim.flow(
        neuron.apply,
        {"weight": weight},
        x,
        target,
        until={"time": 3.0},
        times=31,
        rtol=1e-8,
        observe={"overlap": lambda params: params["weight"][0] / (params["weight"] @ params["weight"]) ** 0.5},
    )
    expected = np.array([overlap(time, start, exponent) for time in tree["time"].values])
    assert expected[-1] > 0.9
    np.testing.assert_allclose(tree["overlap"].values, expected, atol=1e-6)
    # Hermite polynomials of two directions have the mean product m^k
    np.testing.assert_allclose(tree["loss"].values, 1 - expected**exponent, atol=1e-5)


def test_many_samples_come_close_to_the_population():
    scenario = flowsim.Scenario(
        {
            "data": {"kind": "single_index", "dimension": 5, "exponent": 2, "samples": 20000},
            "model": {"kind": "hermite_neuron", "exponent": 2},
            "init": {"shape": "sphere", "scale": 1.0},
            "loss": {"kind": "square"},
            "flow": {"until": {"time": 4.0}},
            "observe": {"times": 41, "snapshots": "all"},
        }
    )
    (teacher,) = flowsim.build(scenario).centers
    tree = flowsim.run(scenario)
    found = tree["weight"].values @ teacher
    expected = [overlap(time, abs(found[0]), 2) for time in tree["time"].values]
    assert expected[-1] > 0.99
    # at a fixed overlap the means that drive it are off by about sqrt(dimension/samples)
    np.testing.assert_allclose(np.abs(found), expected, atol=0.05)
