"""Samples of the gaussian mixture: their noise, their clusters, their labels, their weights in the loss."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim


@pytest.mark.parametrize(
    ("noise", "variance"), [({"total": 0.6}, 0.36 / 4), ({"per_coordinate": 0.6}, 0.36), ({"total": 0.0}, 0.0)]
)
def test_the_noise_has_the_covariance_of_its_convention(small, noise, variance):
    # total: (total^2 / dimension) I; per_coordinate: per_coordinate^2 I
    problem = flowsim.build(small(data__noise=noise, data__dimension=4, data__samples=40_000))
    deviation = problem.inputs - problem.centers[problem.sample_cluster]
    tolerance = 5 * variance * (2 / 40_000) ** 0.5
    np.testing.assert_allclose(deviation.T @ deviation / 40_000, variance * np.eye(4), atol=tolerance)
    np.testing.assert_allclose(deviation.mean(axis=0), 0, atol=5 * (variance / 40_000) ** 0.5)


def test_balanced_data_have_the_same_number_from_every_cluster(small):
    problem = flowsim.build(small(data__samples=40))
    assert np.bincount(problem.sample_cluster).tolist() == [10, 10, 10, 10]


def test_unbalanced_data_draw_clusters_uniformly(small):
    problem = flowsim.build(small(data__samples=4001, data__balanced=False))
    counts = np.bincount(problem.sample_cluster, minlength=4)
    assert counts.sum() == 4001
    assert len(set(counts.tolist())) > 1
    # five standard deviations of a binomial
    assert np.abs(counts - 4001 / 4).max() < 5 * (4001 * 3 / 16) ** 0.5


def test_a_sample_has_the_label_of_its_cluster(small):
    problem = flowsim.build(small())
    np.testing.assert_array_equal(problem.targets, problem.cluster_label[problem.sample_cluster])


@pytest.mark.parametrize(("fraction", "flipped"), [(0.0, 0), (0.25, 6), (0.3, 7), (1.0, 24)])
def test_label_noise_flips_exactly_its_fraction(small, fraction, flipped):
    problem = flowsim.build(small(data__label_noise=fraction))
    assert (problem.targets != problem.cluster_label[problem.sample_cluster]).sum() == flipped


def test_more_label_noise_flips_the_same_labels_and_more(small):
    clean, some, more = (flowsim.build(small(data__label_noise=share)).targets for share in (0.0, 0.25, 0.5))
    assert set(np.flatnonzero(some != clean)) < set(np.flatnonzero(more != clean))


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("reduction", "weight"), [("mean", 1 / 24), ("sum", 1.0), ("per_cluster", 4 / 24)])
def test_the_loss_is_a_mean_a_sum_or_a_sum_over_clusters_of_means(small, reduction, weight, balanced):
    problem = flowsim.build(small(loss__reduction=reduction, data__balanced=balanced))
    np.testing.assert_allclose(problem.sample_weight, np.full(24, weight), rtol=1e-15)
