"""Attacks in input space against those of Foolbox on the same network, written anew in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

torch = pytest.importorskip("torch")
foolbox = pytest.importorskip("foolbox")

RADII = {"l2": [0.5, 1.0, 1.5, 2.0], "linf": [0.1, 0.15, 0.2, 0.3]}


def digits(classes):
    """A convolutional network that tells digits, or even from odd ones, apart; pixels are from 0 to 1."""
    loss = {"loss.kind": "cross_entropy", "data.supervision": "cluster"} if classes == 10 else {"loss.kind": "logistic"}
    scenario = flowsim.Scenario(
        {
            "data": {"kind": "digits", "center": True, "test": {"fraction": 0.3}},
            "model": {"kind": "conv", "channels": [6], "biases": True},
            "init": {"shape": "he"},
            "flow": {"method": "sgd", "step": 0.1, "batch": 50, "momentum": 0.9, "iterations": 150},
            "observe": {"times": 2, "variables": ["loss"]},
        }
    ).replace(loss)
    return flowsim.run(scenario)


def in_torch(tree):
    """The same network: one output f becomes the logits (f, 0)."""
    named = {name: torch.tensor(tree[name].values[-1]) for name in ("conv_1", "norm_1_bias", "output", "output_bias")}

    def apply(x):
        signal = torch.nn.functional.conv2d(x, named["conv_1"], named["norm_1_bias"], padding=1)
        signal = torch.nn.functional.max_pool2d(torch.relu(signal), 2)
        outputs = signal.flatten(1) @ named["output"].T + named["output_bias"]
        return torch.cat([outputs, torch.zeros_like(outputs)], dim=1) if outputs.shape[1] == 1 else outputs

    class Net(torch.nn.Module):
        def forward(self, x):
            return apply(x)

    return foolbox.PyTorchModel(Net().eval(), bounds=(-100, 100), device="cpu")


def by_library(attacks, model, x, label, radii):
    """The share of samples that none of the attacks turns, at any radius up to each."""
    images, lost = torch.tensor(x.reshape(-1, 1, 8, 8)), np.zeros((len(radii), len(x)), dtype=bool)
    for attack in attacks:
        *_, found = attack(model, images, torch.tensor(label), epsilons=radii)
        lost |= found.numpy()
    return 1 - np.maximum.accumulate(lost, axis=0).mean(axis=1)


@pytest.fixture(scope="module", params=[2, 10])
def trained(request):
    tree = digits(request.param)
    test = flowsim.reopen(tree).problem.test
    label = test.sample_cluster if request.param == 10 else (test.label < 0).astype(np.int64)
    return request.param, tree, test.inputs, label


def measured(trained, norm, attacks, **keys):
    classes, tree, x, _ = trained
    asked = {"norm": norm, "radii": RADII[norm], "attacks": attacks, "samples": len(x), **keys}
    found = flowsim.robustness(tree, {**asked, "compare": ["classes"] if classes == 10 else []})
    return found["robust_accuracy"].sel(classifier="classes" if classes == 10 else "network")


@pytest.mark.parametrize("norm", RADII)
def test_projected_gradients_leave_as_many_samples_right(trained, norm):
    _, tree, x, label = trained
    library = {"l2": foolbox.attacks.L2PGD, "linf": foolbox.attacks.LinfPGD}[norm]
    # their steps are of one size, ours fall; that matters in l-infinity
    sizes = {"l2": (0.025,), "linf": (0.1, 0.03, 0.01)}[norm]
    attacks = [library(rel_stepsize=size, steps=200, random_start=size == 0.03) for size in sizes]
    theirs = by_library(attacks, in_torch(tree), x, label, RADII[norm])
    ours = measured(trained, norm, ["pgd"], steps=200)
    assert (theirs > 0.02).any()
    more = theirs - ours.sel(attack="pgd").values
    assert more.min() >= -0.01
    # at larger radii of l-infinity ours, which go on from the radius before, find more
    assert more[: None if norm == "l2" else 2].max() <= 0.01


@pytest.mark.parametrize("norm", RADII)
def test_the_fast_gradient_of_two_classes_is_the_same(trained, norm):
    classes, tree, x, label = trained
    if classes != 2:
        pytest.skip("with more classes the library climbs another loss")
    library = {"l2": foolbox.attacks.L2FastGradientAttack, "linf": foolbox.attacks.LinfFastGradientAttack}[norm]
    theirs = by_library([library()], in_torch(tree), x, label, RADII[norm])
    np.testing.assert_allclose(measured(trained, norm, ["fgm"]).sel(attack="fgm"), theirs, atol=1.5 / len(x))
