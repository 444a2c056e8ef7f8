"""Matrix factorisation against Gunasekar et al. (2017), least nuclear norm, and Arora et al. (2019), its depth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linprog, minimize

import flowsim


def commuting(vectors, measurements):
    """Measurements (n, size, size) with these eigenvectors, their eigenvalues (n, size), and what they measure of a
    positive matrix of rank 2 with the same eigenvectors."""
    size = len(vectors)
    values = np.random.default_rng(1).standard_normal((measurements, size))
    spectrum = np.zeros(size)
    spectrum[:2] = 1.5, 0.5
    return np.einsum("ij,nj,kj->nik", vectors, values, vectors), values, values @ spectrum


def rotation(size):
    return np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0]


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


def product_of(factors):
    product = factors[0]
    for factor in factors[1:]:
        product = factor @ product
    return product


def entries_of_the_product(factors, x):
    return (x * product_of(factors)).sum(axis=(1, 2))


def symmetric(measured, y, alpha):
    """The limit of U U^T from U(0) = sqrt(alpha) I."""
    tree = flowsim.flow(
        lambda factor, x: (x * (factor @ factor.T)).sum(axis=(1, 2)),
        np.sqrt(alpha) * np.eye(measured.shape[1]),
        measured,
        y,
        degree=2,
        until={"loss": 1e-18},
        rtol=1e-6,
        observe={"product": lambda factor: factor @ factor.T},
    )
    return tree["product"].values[-1]


def spectrum_of(matrix, vectors):
    return np.diag(vectors.T @ matrix @ vectors)


@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-5])
def test_the_limit_from_a_multiple_of_the_identity_is_that_of_commuting_measurements(alpha):
    vectors = rotation(6)
    measured, values, y = commuting(vectors, 3)
    found = spectrum_of(symmetric(measured, y, alpha), vectors)
    np.testing.assert_allclose(found, limit_at(alpha, values, y), atol=1e-5)


def test_from_a_tiny_start_it_ends_at_the_least_nuclear_norm():
    # with common eigenvectors along the axes no entry is lost in the rounding of a larger one, as 1e-40 would be beside
    # 1
    vectors = np.eye(6)
    measured, values, y = commuting(vectors, 3)
    least = least_trace(values, y)
    assert np.abs(limit_at(1e-1, values, y) - least).max() > 0.3
    found = symmetric(measured, y, 1e-80)
    np.testing.assert_allclose(found, np.diag(least), atol=1e-4)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_singular_values_of_the_product_follow_their_own_equation(depth):
    random = np.random.default_rng(depth)
    size, seen = 4, 10
    wanted = random.standard_normal((size, 2)) @ random.standard_normal((2, size))
    entries = random.permutation(size * size)[:seen]
    measured, y = np.eye(size * size)[entries].reshape(-1, size, size), wanted.ravel()[entries]
    factors = [0.5 * np.linalg.qr(random.standard_normal((size, size)))[0] for _ in range(depth)]
    tree = flowsim.flow(
        entries_of_the_product,
        factors,
        measured,
        y,
        until={"time": 20.0},
        times=41,
        rtol=1e-6,
        observe={"product": product_of},
    )
    products = end_to_end(product_of(factors), measured, y, depth, tree["time"].values)
    expected = np.linalg.svd(products, compute_uv=False)
    found = np.linalg.svd(tree["product"].values, compute_uv=False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * expected.max())
