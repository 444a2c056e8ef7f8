"""Norms, singular values and effective ranks of leaves, one instant or many, of any size."""

from __future__ import annotations

import numpy as np
import pytest

from flowsim.observe.kinds.leaves import effective_rank, norm, singular_values
from flowsim.observe.parameters import as_matrix


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("scale", [1e-300, 1e-180, 1.0, 1e200])
def test_norms_are_relative_to_the_leaf_at_any_scale(scale):
    leaf = draw(5, 3, 4)
    expected = scale * np.linalg.norm(leaf)
    np.testing.assert_allclose(norm(scale * leaf, 3), expected, rtol=1e-12)
    np.testing.assert_allclose(norm(scale * leaf, 2), scale * np.sqrt((leaf**2).sum(axis=(1, 2))), rtol=1e-12)
    assert norm(np.zeros((2, 2)), 2) == 0.0
    assert norm(np.array(-3.0 * scale), 0) == pytest.approx(3 * scale)


@pytest.mark.parametrize("scale", [1e-310, 1e-180, 1.0, 1e200])
def test_singular_values_are_those_that_the_leaf_was_made_with(scale):
    values = np.array([5.0, 2.0, 0.5])
    left, right = np.linalg.qr(draw(4, 3))[0], np.linalg.qr(draw(6, 3))[0]
    leaf = (left * (scale * values)) @ right.T
    rtol = 1e-10 if scale > 1e-300 else 1e-5  # entries are subnormal
    np.testing.assert_allclose(singular_values(leaf, 2)[:3], scale * values, rtol=rtol)
    convolution = np.stack([leaf, 2 * leaf]).reshape(2, 4, 2, 3)
    np.testing.assert_allclose(singular_values(convolution, 3)[1, :3], 2 * scale * values, rtol=rtol)


def test_a_leaf_of_many_axes_is_a_matrix_of_its_first_axis_against_the_rest():
    assert as_matrix((8, 3, 2, 2)) == (8, 12)
    kernel = draw(8, 3, 2, 2)
    np.testing.assert_allclose(singular_values(kernel, 4), np.linalg.svd(kernel.reshape(8, 12))[1])


def test_the_effective_rank_counts_equal_singular_values_and_lies_between_for_others():
    values = np.array([[2.0, 2.0, 2.0, 0.0], [7.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [3.0, 1.0, 0.0, 0.0]])
    between = np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    np.testing.assert_allclose(effective_rank(values), [3.0, 1.0, 0.0, between])
    np.testing.assert_allclose(effective_rank(1e-308 * values), effective_rank(values))
