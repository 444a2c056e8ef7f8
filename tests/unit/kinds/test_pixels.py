"""Images that stay bytes: what is made of them does not depend on how many are looked at at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flowsim.kinds import pixels as of_pixels
from flowsim.kinds.pixels import Moves, Pixels, mean_norm, moments, parts

BYTES = np.random.default_rng(0).integers(256, size=(11, 6), dtype=np.uint8)
ROWS = [slice(2, 5), slice(None), slice(9, 40), np.array([7, 0, 7]), np.array([3])]
MOVES = [
    Moves(np.zeros(6), np.ones(6), False, 1.0),
    Moves(np.linspace(0.1, 0.9, 6), np.linspace(0.5, 2, 6), False, 3.0),
    Moves(np.linspace(0.1, 0.9, 6), np.ones(6), True, 0.3),
]


@pytest.fixture(params=[2**22, 12, 1], ids=["at once", "two at a time", "one at a time"])
def at_a_time(request, monkeypatch):
    monkeypatch.setattr(of_pixels, "AT_A_TIME", request.param)
    return request.param


@pytest.mark.parametrize("moves", MOVES, ids=["as they are", "by entries", "by norm"])
def test_a_row_is_the_same_whichever_others_are_asked_for(moves):
    images = Pixels(BYTES, moves)
    expected = (BYTES / 255 - moves.mean) / moves.deviation
    if moves.by_norm:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(images[:], moves.factor * expected, rtol=1e-14, atol=1e-15)
    for rows in ROWS:
        np.testing.assert_array_equal(images[rows], images[:][rows])
    np.testing.assert_array_equal(images.only(ROWS[3])[1:], images[ROWS[3]][1:])
    assert (images.shape, len(images), images.nbytes) == ((11, 6), 11, 66)


def test_moments_are_exact(at_a_time):
    for power, found in zip((1, 2), moments(BYTES), strict=True):
        exact = [Fraction(sum(int(one) ** power for one in column), 255**power * 11) for column in BYTES.T]
        np.testing.assert_allclose(found, [float(one) for one in exact], rtol=2e-16)


def test_means_and_norms_do_not_depend_on_the_parts(at_a_time):
    images, cluster = Pixels(BYTES, MOVES[1]), np.arange(11) % 3
    assert len(list(parts(images))) == -(-11 // max(at_a_time // 6, 1))
    means = [images[:][cluster == one].mean(axis=0) for one in range(3)]
    np.testing.assert_allclose(images.means(cluster), means, rtol=1e-13, atol=1e-14)
    assert mean_norm(images) == pytest.approx(np.linalg.norm(images[:], axis=1).mean(), rel=1e-14)
    assert mean_norm(images[:]) == mean_norm(images)
