"""One neuron that learns one direction, against the overlap's own equation (Ben Arous, Gheissari & Jagannath 2021)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from support.designs import fifth_degree, grid, seventh_degree

import flowsim


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


def hermite(exponent, z):
    """Normalised: its square has mean 1 over N(0, 1)."""
    return {1: z, 2: (z**2 - 1) / 2**0.5, 3: (z**3 - 3 * z) / 6**0.5}[exponent]


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_the_overlap_of_the_population_flow_follows_its_scalar_equation(exponent):
    # over these samples means of polynomials of the losses' degree are exact, so that this is the population's flow
    x = (
        grid(fifth_degree(), fifth_degree(), fifth_degree())
        if exponent < 3
        else grid(seventh_degree(), seventh_degree())
    )
    start = 0.2
    weight = np.zeros(x.shape[1])
    weight[:2] = start, np.sqrt(1 - start**2)
    tree = flowsim.flow(
        lambda w, x: hermite(exponent, x @ w / (w @ w) ** 0.5),
        weight,
        x,
        hermite(exponent, x[:, 0]),
        until={"time": 3.0},
        times=31,
        rtol=1e-8,
        observe={"overlap": lambda w: w[0] / (w @ w) ** 0.5},
    )
    expected = [overlap(time, start, exponent) for time in tree["time"].values]
    assert expected[-1] > 0.9
    np.testing.assert_allclose(tree["overlap"].values, expected, atol=1e-6)
