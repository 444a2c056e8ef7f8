"""Clean and adversarial training of a small convolutional network, as docs/images.md tells of it."""

from __future__ import annotations

import pytest

import flowsim
from flowsim.scenario.shipped import shipped

pytestmark = pytest.mark.papers


def test_adversarial_training_makes_a_convolutional_network_more_robust_and_no_worse():
    tree = flowsim.run(flowsim.load(shipped()["images/digits_conv_small"]), warn=lambda message: None)
    assert tree["test_accuracy"].values[-1] > 0.95
    clean = flowsim.robustness(tree, {"attacks": ["pgd"]}, at=1)["robust_accuracy"].sel(attack="pgd")
    adversarial = tree["robustness/robust_accuracy"].sel(attack="pgd")
    for classifier in ("network", "classes"):
        before, after = (found.sel(classifier=classifier) for found in (clean, adversarial))
        assert before.sel(radius=0.0) > 0.95
        assert after.sel(radius=0.0) > 0.95
        for radius in (0.75, 1.0, 1.25):
            assert after.sel(radius=radius) > before.sel(radius=radius) + 0.15
