"""Shipped scenarios of real images, at full size: only where FLOWSIM_DATA names a folder that has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import flowsim
from flowsim.scenario.shipped import shipped

#: What FLOWSIM_DATA named before the tests gave it tiny files.
DATA = Path(os.environ.get("FLOWSIM_DATA", ""))

pytestmark = [
    pytest.mark.papers,
    pytest.mark.skipif(not (DATA / "mnist").is_dir(), reason="FLOWSIM_DATA names no folder with the real images"),
]


@pytest.mark.parametrize("name", ["mnist_small", "mnist_conv_small"])
def test_small_networks_read_mnist(name):
    tree = flowsim.run(flowsim.load(shipped()[f"images/{name}"]), warn=lambda message: None)
    assert tree["test_accuracy"].values[-1] > 0.97


def trained_on(data, classes):
    return flowsim.run(flowsim.load(shipped()[f"images/{data}_{classes}class_small"]), warn=lambda message: None)


def test_on_cifar10_training_on_ten_classes_is_more_robust():
    two, ten = (
        trained_on("cifar10", classes)["robustness/robust_accuracy"].sel(classifier="network", attack="strong")
        for classes in (2, 10)
    )
    for radius in (0.2, 0.3, 0.4, 0.5):
        assert ten.sel(radius=radius) > two.sel(radius=radius) + 0.02


def test_on_mnist_training_on_ten_classes_is_more_robust():
    two, ten = (trained_on("mnist", classes) for classes in (2, 10))
    lost = [tree["robustness/attacked_radius"].sel(classifier="network").median() for tree in (two, ten)]
    assert lost[1] > 1.2 * lost[0]
    accuracy = [tree["robustness/robust_accuracy"].sel(classifier="network", attack="strong") for tree in (two, ten)]
    for radius in (0.5, 0.75, 1.0, 1.25):
        assert accuracy[1].sel(radius=radius) > accuracy[0].sel(radius=radius) + 0.08
