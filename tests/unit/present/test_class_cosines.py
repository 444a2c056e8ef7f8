"""Cosines of classes' parts of a network with centres, and between samples, as Li et al. 2025 draw them."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.present.plots import class_cosines, data_cosines
from flowsim.present.source import Source


@pytest.fixture(scope="module")
def data():
    """Three clusters of twenty samples in four features."""
    random = np.random.default_rng(0)
    centers, cluster = random.standard_normal((3, 4)), np.repeat(np.arange(3), 20)
    x = centers[cluster] + 0.2 * random.standard_normal((60, 4))
    return flowsim.Data(x, np.where(cluster < 2, 1.0, -1.0), cluster=cluster)


def trained(data, supervision, loss, width):
    scenario = {
        "data": {"kind": "table", "supervision": supervision},
        "model": {"width": width, "output": "fixed", "output_weight": 0.5},
        "init": {"signs": "half"},
        "loss": {"kind": loss},
        "flow": {"until": {"time": 3.0}},
        "observe": {"times": 3},
    }
    return flowsim.run(flowsim.Scenario(scenario), data=data)


@pytest.fixture(scope="module")
def of_clusters(data):
    return trained(data, "cluster", "cross_entropy", 6)


def by_hand(tree, parts):
    case = flowsim.reopen(tree)
    hidden = np.exp(tree["log_norm"].values[-1])[:, None] * tree["direction"].values[-1]
    means, centers = np.array([hidden[part].mean(axis=0) for part in parts]), case.problem.centers
    return means @ centers.T / np.outer(np.linalg.norm(means, axis=1), np.linalg.norm(centers, axis=1))


def test_a_part_is_the_neurons_of_an_output(of_clusters):
    found = class_cosines.series(Source.of(of_clusters))
    np.testing.assert_allclose(found.cosine, by_hand(of_clusters, [[0, 1], [2, 3], [4, 5]]), rtol=1e-9)
    first = class_cosines.series(Source.of(of_clusters), at=0.0)
    assert np.abs(first.cosine - found.cosine).max() > 0.01


def test_with_a_single_output_neurons_are_dealt_out_over_the_clusters_of_their_sign(data):
    tree = trained(data, "class", "logistic", 8)
    found = class_cosines.series(Source.of(tree))
    np.testing.assert_allclose(found.cosine, by_hand(tree, [[0, 1], [2, 3], [4, 5, 6, 7]]), rtol=1e-9)
    assert found.parts.tolist() == [2, 2, 4]


def test_neurons_that_are_fewer_than_clusters_are_told_of(data):
    with pytest.raises(flowsim.UsageError, match="it needs as many neurons as clusters of either label"):
        class_cosines.series(Source.of(trained(data, "class", "logistic", 2)))


def test_samples_stand_by_cluster(of_clusters, data):
    found = data_cosines.series(Source.of(of_clusters), per_cluster=5)
    assert found.ends.tolist() == [5, 10, 15]
    assert found.cosine.shape == (15, 15)
    means = np.array([data.x[data.cluster == one].mean(axis=0) for one in range(3)])
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(data_cosines.series(Source.of(of_clusters), of="means").cosine, unit @ unit.T)
    with pytest.raises(flowsim.UsageError, match='"samples" or "means", not "centres"'):
        data_cosines.series(Source.of(of_clusters), of="centres")


def test_the_page_shows_them_where_there_are_several_classes(of_clusters, tmp_path):
    flowsim.write_report(of_clusters, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "mean weights of each class" in text
    assert "cosines between the samples" in text
