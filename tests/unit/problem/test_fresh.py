"""Test data come from the distribution of the training data, and are others."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.problem import build, fresh


def test_fresh_samples_lie_around_the_same_centres(small):
    scenario = small(data__centers="random_sphere", data__label_noise=0.25, data__noise={"per_coordinate": 0.5})
    samples = build(scenario).samples
    test = fresh(scenario, samples, 20_000)
    np.testing.assert_array_equal(test.centers, samples.centers)
    np.testing.assert_array_equal(test.cluster_label, samples.cluster_label)
    noise = test.inputs - samples.centers[test.sample_cluster]
    assert noise.mean() == pytest.approx(0, abs=4 * 0.5 / noise.size**0.5)
    assert noise.std() == pytest.approx(0.5, rel=0.01)
    np.testing.assert_allclose(np.bincount(test.sample_cluster) / 20_000, 0.25, atol=0.015)
    assert np.mean(test.targets != test.cluster_label[test.sample_cluster]) == 0.25


def test_fresh_samples_are_not_the_training_samples_and_are_the_same_again(small):
    scenario = small()
    samples = build(scenario).samples
    test, again = (fresh(scenario, samples, 24) for _ in range(2))
    np.testing.assert_array_equal(test.inputs, again.inputs)
    training = samples.inputs - samples.centers[samples.sample_cluster]
    assert not np.isin(np.round(test.inputs - test.centers[test.sample_cluster], 9), np.round(training, 9)).any()


def test_any_number_of_samples_can_be_drawn_whatever_the_clusters(small):
    scenario = small()
    assert len(fresh(scenario, build(scenario).samples, 7).targets) == 7


def test_a_table_has_no_distribution(on_table):
    scenario = on_table({"x": np.eye(3), "y": [1.0, -1.0, 1.0]})
    with pytest.raises(flowsim.UsageError, match="no distribution"):
        fresh(scenario, build(scenario).samples, 5)
