"""Filters at every pixel as a dictionary: against JAX's convolution, and against the conditions of Lasso's minimum."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from flowsim.evaluate.placements import Placements
from flowsim.kinds.image_layers import _by_rows
from flowsim.kinds.trees import in_float64


@pytest.fixture(scope="module")
def placements() -> Placements:
    filters = np.random.default_rng(0).standard_normal((3, 2, 3, 3))
    size = np.linalg.norm(filters.reshape(3, -1), axis=1)
    return Placements(filters / size[:, None, None, None], (2, 5, 4))


@pytest.mark.parametrize(("kernel", "stride", "width"), [(1, 2, 7), (3, 1, 6), (3, 2, 7), (5, 2, 6)])
def test_rows_of_products_are_the_convolution(kernel, stride, width):
    random, rim = np.random.default_rng(1), (kernel // 2, kernel // 2)
    signal, weight = random.standard_normal((2, 3, 7, width)), random.standard_normal((4, 3, kernel, kernel))
    exact = in_float64(jax.lax.conv_general_dilated)(signal, weight, (stride, stride), (rim, rim))
    np.testing.assert_allclose(in_float64(_by_rows)(signal, weight, stride), exact, atol=1e-12)


def test_products_are_the_convolution_and_its_transpose_composes(placements):
    random = np.random.default_rng(2)
    images, coefficients = random.standard_normal((2, 40)), random.standard_normal((2, 3, 5, 4))
    products = placements.products(images)
    exact = in_float64(_by_rows)(images.reshape(2, 2, 5, 4), placements.filters, 1)
    np.testing.assert_allclose(products, exact, atol=1e-12)
    assert (products * coefficients).sum() == pytest.approx((images * placements.composed(coefficients)).sum())


def test_no_coefficient_could_be_better(placements):
    move = np.random.default_rng(3).standard_normal((1, 40))
    move /= np.linalg.norm(move)
    found = placements._reconstructed(move, 0.1, np.zeros((1, 3, 5, 4)))
    pull = 2 * placements.products(move - placements.composed(found))
    used = found != 0
    assert 0 < used.sum() < used.size
    np.testing.assert_allclose(pull[used], 0.1 * np.sign(found[used]), atol=2e-4)
    assert np.abs(pull[~used]).max() <= 0.1 + 2e-4
    density, residual = placements.measured(move, np.array([0.02, 0.1]))
    assert density[1] == pytest.approx(used.mean(), abs=0.02)
    assert residual[1] == pytest.approx(((placements.composed(found) - move) ** 2).sum(), abs=1e-3)
    assert residual[0] < residual[1]
