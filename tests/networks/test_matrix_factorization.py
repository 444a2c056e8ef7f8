"""Matrix factorisation against Gunasekar et al. (2017), least nuclear norm, and Arora et al. (2019), its depth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.optimize import linprog, minimize

import flowsim


def limit_at(alpha, values, y):
    """Eigenvalues of the limit from alpha I, where measurements commute: alpha times exp of a combination of the
    measurements' eigenvalues (Gunasekar et al. 2017, proof of Theorem 1). Found by a convex problem in the
    combination."""

    def spectrum(multiplier):
        return alpha * np.exp(multiplier @ values)

    found = minimize(
        lambda multiplier: spectrum(multiplier).sum() - multiplier @ y,
        np.zeros(len(y)),
        jac=lambda multiplier: values @ spectrum(multiplier) - y,
        hess=lambda multiplier: (values * spectrum(multiplier)) @ values.T,
        method="trust-exact",
        options={"gtol": 1e-12, "maxiter": 5000},
    )
    return spectrum(found.x)


def least_trace(values, y):
    """Eigenvalues of the positive matrix of least nuclear norm with these measurements, which commute."""
    return linprog(np.ones(values.shape[1]), A_eq=values, b_eq=y).x


def power(matrix, exponent):
    """Of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0) ** exponent) @ vectors.T


def end_to_end(product, measured, y, depth, times):
    """(times, size, size): the product of balanced factors, by the equation that it obeys alone (Arora, Cohen & Hazan
    2018, Theorem 1)."""
    shape = product.shape

    def rate(_, flat):
        matrix = flat.reshape(shape)
        gradient = np.einsum("n,nij->ij", np.einsum("nij,ij->n", measured, matrix) - y, measured) / len(y)
        left, right = matrix @ matrix.T, matrix.T @ matrix
        parts = [power(left, k / depth) @ gradient @ power(right, (depth - 1 - k) / depth) for k in range(depth)]
        return -sum(parts).ravel()

    found = solve_ivp(rate, (0, times[-1]), product.ravel(), "DOP853", times, rtol=1e-11, atol=1e-14)
    return found.y.T.reshape(-1, *shape)


def symmetric(basis, scale):
    """The flow of U U^T from U(0) = scale I: its limit, and the measurements' common eigenvectors, eigenvalues (n,
    size) and values."""
    scenario = flowsim.Scenario(
        {
            "seed": 1,
            "data": {
                "kind": "matrix_sensing",
                "size": 6,
                "strengths": [1.5, 0.5],
                "measurements": "commuting",
                "basis": basis,
                "samples": 3,
            },
            "model": {"kind": "matrix_factorization", "symmetric": True},
            "init": {"shape": "identity", "scale": scale},
            "loss": {"kind": "square"},
            "flow": {"rtol": 1e-8, "until": {"loss": 1e-13}},
        }
    )
    problem, tree = flowsim.build(scenario), flowsim.run(scenario)
    measured = problem.inputs.reshape(-1, 6, 6)
    vectors = np.linalg.eigh(measured[0])[1] if basis == "random" else np.eye(6)
    factor = tree["factor"].values[-1]
    return factor @ factor.T, vectors, np.einsum("ij,nik,kj->nj", vectors, measured, vectors), problem.targets


@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
def test_the_limit_from_a_multiple_of_the_identity_is_that_of_commuting_measurements(alpha):
    found, vectors, values, y = symmetric("random", alpha**0.5)
    np.testing.assert_allclose(vectors.T @ found @ vectors, np.diag(limit_at(alpha, values, y)), atol=1e-5)


def test_from_a_tiny_start_it_ends_at_the_least_nuclear_norm():
    # with common eigenvectors along the axes no entry is lost in the rounding of a larger one, as 1e-80 would be beside
    # 1
    found, _, values, y = symmetric("axes", 1e-40)
    least = least_trace(values, y)
    assert np.abs(limit_at(1e-1, values, y) - least).max() > 0.1
    np.testing.assert_allclose(found, np.diag(least), atol=1e-4)


def completed(depth, times):
    """Matrices (n, 4, 4) that show some entries of another, these entries, and the factors' product over time."""
    scenario = flowsim.Scenario(
        {
            "data": {
                "kind": "matrix_sensing",
                "size": 4,
                "strengths": [4.0, 1.0],
                "measurements": "entries",
                "samples": 10,
            },
            "model": {"kind": "matrix_factorization", "depth": depth},
            "init": {"shape": "identity", "scale": 0.5},
            "loss": {"kind": "square"},
            "flow": {"rtol": 1e-6, "until": {"time": 20.0}},
            "observe": {"times": times, "snapshots": "all"},
        }
    )
    problem, tree = flowsim.build(scenario), flowsim.run(scenario)
    product = tree["factors_0"].values
    for factor in range(1, depth):
        product = tree[f"factors_{factor}"].values @ product
    return problem.inputs.reshape(-1, 4, 4), problem.targets, tree["time"].values, product


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_product_of_balanced_factors_follows_an_equation_of_its_own(depth):
    measured, y, time, product = completed(depth, 41)
    expected = end_to_end(product[0], measured, y, depth, time)
    size = np.linalg.svd(expected[-1], compute_uv=False)
    assert size[0] > 2
    np.testing.assert_allclose(product, expected, rtol=0, atol=1e-5 * size[0])


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_singular_values_of_the_product_grow_by_their_own_power(depth):
    # sigma_r' = -L sigma_r^(2 - 2/L) <gradient, u_r v_r^T>  (Arora et al. 2019, Theorem 3), integrated over the
    # instants
    measured, y, time, product = completed(depth, 2001)
    # at the start they are all alike, with no singular vectors of their own
    time, product = time[1:], product[1:]
    left, size, right = np.linalg.svd(product)
    residual = np.einsum("nij,tij->tn", measured, product) - y
    pull = -np.einsum("tn,nij,tir,trj->tr", residual, measured, left, right) / len(y)
    grown = cumulative_simpson(depth * size ** (2 - 2 / depth) * pull, x=time, axis=0, initial=0)
    assert np.ptp(size[:, 0]) > 2
    np.testing.assert_allclose(size[0] + grown, size, rtol=0, atol=1e-5 * size.max())
