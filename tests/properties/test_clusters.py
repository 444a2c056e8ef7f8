"""Data drawn around centres, for all sizes, norms and levels of noise."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import flowsim

SIZES = st.integers(2, 40)
LAWS = st.sampled_from(["gaussian", "laplace", "uniform"])


def build(seed: int, **data) -> flowsim.Problem:
    overrides = {f"data.{key}": value for key, value in data.items()}
    return flowsim.build(flowsim.loads(f"seed = {seed}\n[model]\nwidth = 1\n", overrides=overrides))


@given(
    seed=st.integers(0, 99),
    dimension=SIZES,
    per_cluster=st.integers(1, 6),
    radius=st.floats(1e-6, 1e6) | st.just("sqrt_dimension"),
    basis=st.sampled_from(["random", "axes"]),
    law=LAWS,
)
def test_xor_has_two_orthogonal_pairs_of_opposite_centres(seed, dimension, per_cluster, radius, basis, law):
    problem = build(
        seed,
        kind="xor",
        dimension=dimension,
        samples=4 * per_cluster,
        radius=radius,
        basis=basis,
        law=law,
        noise={"total": 0.0},
    )
    norm = dimension**0.5 if radius == "sqrt_dimension" else radius
    pairs = np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]])
    np.testing.assert_allclose(problem.centers @ problem.centers.T / norm**2, pairs, atol=1e-13)
    assert np.bincount(problem.sample_cluster).tolist() == [per_cluster] * 4
    np.testing.assert_array_equal(problem.inputs, problem.centers[problem.sample_cluster])


@given(seed=st.integers(0, 99), law=LAWS, level=st.floats(1e-3, 1e3), dimension=SIZES)
def test_noise_is_the_same_draw_at_every_level(seed, law, level, dimension):
    common = {"kind": "xor", "dimension": dimension, "samples": 8, "law": law}
    unit, scaled = (build(seed, **common, noise={"per_coordinate": size}) for size in (1.0, level))
    difference = [problem.inputs - problem.centers[problem.sample_cluster] for problem in (unit, scaled)]
    np.testing.assert_allclose(difference[1], level * difference[0], rtol=1e-9, atol=1e-12)


@given(
    seed=st.integers(0, 99), fraction=st.floats(0, 1), kind=st.sampled_from(["gaussian_mixture", "xor"]), count=SIZES
)
def test_label_noise_flips_its_fraction_of_the_labels_and_nothing_else(seed, fraction, kind, count):
    common = {"kind": kind, "dimension": 4, "samples": 4 * count}
    noisy, clean = (build(seed, **common, label_noise=share) for share in (fraction, 0.0))
    np.testing.assert_array_equal(noisy.clean_targets, clean.targets)
    np.testing.assert_array_equal(noisy.inputs, clean.inputs)
    flipped = noisy.samples.flipped
    assert flipped.sum() == round(fraction * 4 * count)
    np.testing.assert_array_equal(noisy.targets, np.where(flipped, -clean.targets, clean.targets))


@given(samples=st.integers(10, 1797), seed=st.integers(0, 99))
def test_digits_keep_their_shares_in_every_subset(samples, seed):
    whole = np.array([178, 182, 177, 183, 181, 182, 181, 179, 174, 180])
    counts = np.bincount(build(seed, kind="digits", samples=samples).sample_cluster, minlength=10)
    assert counts.sum() == samples
    assert counts.min() >= 1
    assert np.abs(counts - samples * whole / whole.sum()).max() < 1
