"""Cosines of features against clusters whose cosines are known, and against loops."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.papers.feature_cosines import feature_cosines


def test_clusters_without_noise_have_the_cosines_of_their_centres():
    centers = np.array([[2.0, 0.0, 0.0], [1.0, np.sqrt(3.0), 0.0], [0.0, 0.0, 5.0]])
    cluster = np.array([2, 0, 1, 1, 0, 2])
    found = feature_cosines(centers[cluster], cluster)
    expected = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found["mean_cosine"], expected, atol=1e-15)
    np.testing.assert_allclose(found["pair_cosine"], expected, atol=1e-15)
    np.testing.assert_array_equal(found["sample_cluster"], [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(found["sample_cosine"], np.repeat(np.repeat(expected, 2, axis=0), 2, axis=1), atol=1e-15)


def test_means_are_over_pairs_of_different_samples():
    random = np.random.default_rng(0)
    x, cluster = random.standard_normal((9, 4)) + 0.5, np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    found = feature_cosines(x, cluster)

    def mean(a, b):
        pairs = [(i, j) for i in np.flatnonzero(cluster == a) for j in np.flatnonzero(cluster == b) if i != j]
        return np.mean([x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]) for i, j in pairs])

    expected = [[mean(a, b) if (a, b) != (2, 2) else np.nan for b in range(3)] for a in range(3)]
    np.testing.assert_allclose(found["pair_cosine"], expected, rtol=1e-12)


def test_samples_are_chosen_by_the_seed_and_means_are_of_all():
    random = np.random.default_rng(1)
    x, cluster = random.standard_normal((40, 3)), np.arange(40) % 2
    first, again, other = (feature_cosines(x, cluster, per_cluster=5, seed=seed) for seed in (0, 0, 1))
    assert first.sizes["sample"] == 10
    np.testing.assert_array_equal(first["sample_cosine"], again["sample_cosine"])
    assert not np.array_equal(first["sample_cosine"], other["sample_cosine"])
    np.testing.assert_array_equal(first["mean_cosine"], feature_cosines(x, cluster)["mean_cosine"])


@pytest.mark.parametrize(
    ("x", "cluster"), [(np.eye(3), [0, 2, 2]), (np.eye(3), [0, 1]), (np.ones(3), [0, 0, 0]), (np.eye(2), [0, -1])]
)
def test_clusters_that_are_not_all_there_are_refused(x, cluster):
    with pytest.raises(flowsim.UsageError, match="whole numbers from 0 on"):
        feature_cosines(x, cluster)


def test_a_vector_of_norm_0_has_the_cosine_0():
    found = feature_cosines([[0.0, 0.0], [1.0, 0.0]], [0, 0])
    np.testing.assert_array_equal(found["sample_cosine"], [[0.0, 0.0], [0.0, 1.0]])
