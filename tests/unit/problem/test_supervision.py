"""What is trained on, beside the labels: clusters or classes, noisy or clean."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

KINDS = {
    "gaussian_mixture": '[data]\npositive = 3\nnegative = 1\nsamples = 12\nlabel_noise = {noise}\nsupervision = "{how}"',
    "xor": '[data]\nkind = "xor"\nsamples = 12\nlabel_noise = {noise}\nsupervision = "{how}"',
    "digits": '[data]\nkind = "digits"\nsamples = 30\nsupervision = "{how}"',
}
BY_CLUSTER = {"data__supervision": "cluster", "loss__kind": "cross_entropy", "model__width": 6}
X, Y, CLUSTER = np.eye(4), np.array([1.0, -1.0, -1.0, 1.0]), np.array([2.0, 0.0, 1.0, 2.0])


def problem(kind: str, how: str, noise: float = 0.0) -> flowsim.Problem:
    text = KINDS[kind].replace("{how}", how).replace("{noise}", str(noise))
    loss = "cross_entropy" if how == "cluster" else "square"
    return flowsim.build(flowsim.loads(f'{text}\n[model]\nwidth = 20\n[loss]\nkind = "{loss}"\n'))


@pytest.mark.parametrize("kind", KINDS)
def test_by_class_the_targets_are_the_labels(kind):
    found = problem(kind, "class")
    np.testing.assert_array_equal(found.targets, found.label)
    np.testing.assert_array_equal(found.label, found.cluster_label[found.sample_cluster])
    np.testing.assert_array_equal(found.clean_targets, found.targets)


@pytest.mark.parametrize("kind", KINDS)
def test_by_cluster_the_targets_are_clusters_and_the_labels_stay(kind):
    found, by_class = problem(kind, "cluster"), problem(kind, "class")
    assert found.targets.dtype == np.float64
    np.testing.assert_array_equal(found.targets, found.sample_cluster)
    np.testing.assert_array_equal(found.clean_targets, found.sample_cluster)
    for name in ("inputs", "label", "sample_cluster", "centers", "cluster_label"):
        np.testing.assert_array_equal(getattr(found, name), getattr(by_class, name))


@pytest.mark.parametrize("kind", ["gaussian_mixture", "xor"])
def test_labels_are_kept_clean_beside_noisy_ones(kind):
    noisy, clean = problem(kind, "class", noise=0.25), problem(kind, "class")
    np.testing.assert_array_equal(noisy.clean_targets, clean.targets)
    np.testing.assert_array_equal(noisy.label, noisy.targets)
    assert noisy.samples.flipped.sum() == 3
    np.testing.assert_array_equal(noisy.targets, np.where(noisy.samples.flipped, -1, 1) * clean.targets)
    assert not clean.samples.flipped.any()


def test_a_table_by_cluster_keeps_its_labels(on_table):
    found = flowsim.build(on_table({"x": X, "y": Y, "cluster": CLUSTER}, **BY_CLUSTER))
    np.testing.assert_array_equal(found.targets, CLUSTER)
    np.testing.assert_array_equal(found.label, Y)
    assert found.cluster_label.tolist() == [-1, -1, 1]


def test_a_table_by_cluster_needs_clusters_and_labels(on_table):
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.build(on_table({"x": X, "y": Y / 2}, **BY_CLUSTER))
    first, second = caught.value.issues
    assert (first.key, first.message[:19]) == ("data.path", "y must be +1 or -1;")
    assert second.key == "data.supervision"
    assert "needs the array cluster" in second.message
