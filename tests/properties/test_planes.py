"""Samples are grouped by the planes on which an activation with a kink bends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowsim.problem.planes import planes

seeds = st.integers(0, 2**31)
dimensions = st.integers(2, 6)


def check(inputs: np.ndarray) -> None:
    """What is true of any samples."""
    found = planes(inputs)
    np.testing.assert_allclose(
        found.factor[:, None] * inputs[found.first[found.plane]], inputs, rtol=1e-11, atol=1e-300
    )
    np.testing.assert_array_equal(found.plane[found.first], np.arange(len(found.first)))
    np.testing.assert_allclose(found.factor[found.first], 1.0, rtol=1e-14)
    np.testing.assert_array_equal(np.sort(found.member), np.arange(len(inputs)))
    for h, (begin, end) in enumerate(zip(found.member_start, found.member_start[1:], strict=False)):
        members = found.member[begin:end]
        np.testing.assert_array_equal(members, np.flatnonzero(found.plane == h))
        assert found.first[h] in members
        norm = np.linalg.norm(inputs, axis=1)
        # norms differ by d eps with the order of their sums: of equally long samples any may stand for the plane
        assert norm[found.first[h]] >= norm[members].max() * (1 - inputs.shape[1] * np.finfo(float).eps)


@given(seed=seeds, dimension=dimensions, directions=st.integers(1, 4), samples=st.integers(1, 20))
def test_multiples_of_few_directions_have_as_many_planes(seed, dimension, directions, samples):
    random = np.random.default_rng(seed)
    lines = random.standard_normal((directions, dimension))
    line = random.integers(directions, size=samples)
    multiple = random.choice([-1.0, 1.0], samples) * 10.0 ** random.uniform(-100, 100, samples)
    inputs = multiple[:, None] * lines[line]
    check(inputs)
    found = planes(inputs)
    np.testing.assert_array_equal(found.plane[:, None] == found.plane, line[:, None] == line)
    np.testing.assert_allclose(found.factor, multiple / multiple[found.first[found.plane]], rtol=1e-11)


@given(seed=seeds, dimension=dimensions, samples=st.integers(1, 40))
def test_samples_in_general_position_have_a_plane_each(seed, dimension, samples):
    inputs = np.random.default_rng(seed).standard_normal((samples, dimension))
    check(inputs)
    found = planes(inputs)
    np.testing.assert_array_equal(found.plane, np.arange(samples))
    np.testing.assert_allclose(found.factor, 1.0, rtol=1e-14)


@given(seed=seeds, dimension=st.integers(1, 4), samples=st.integers(1, 20))
def test_samples_that_are_0_have_a_plane_each(seed, dimension, samples):
    # small whole numbers: duplicates, opposites and zeros abound
    inputs = np.random.default_rng(seed).integers(-1, 2, (samples, dimension)).astype(float)
    check(inputs)
    found = planes(inputs)
    zero = ~inputs.any(axis=1)
    assert (np.bincount(found.plane)[found.plane[zero]] == 1).all()
    lines = {tuple(row * np.sign(row[np.flatnonzero(row)[0]]) / np.linalg.norm(row)) for row in inputs[~zero]}
    assert len(found.first) == zero.sum() + len({tuple(np.round(line, 9)) for line in lines})


@given(seed=seeds, dimension=dimensions, angle=st.floats(1e-9, 1e-3))
def test_directions_that_are_almost_parallel_are_two(seed, dimension, angle):
    random = np.random.default_rng(seed)
    line, across = np.linalg.qr(random.standard_normal((dimension, 2)))[0].T
    inputs = np.stack([line, -3.0 * (np.cos(angle) * line + np.sin(angle) * across)])
    assert len(planes(inputs).first) == 2
