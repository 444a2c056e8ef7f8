"""Attacks in input space against those of Foolbox on the same network, written anew in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.evaluate.robustness.attacks.pgd import FIRST, LAST

torch = pytest.importorskip("torch")
foolbox = pytest.importorskip("foolbox")
eagerpy = pytest.importorskip("eagerpy")

RADII = {"l2": [0.5, 1.0, 1.5, 2.0], "linf": [0.1, 0.15, 0.2, 0.3]}
LIBRARY = {"l2": foolbox.attacks.L2PGD, "linf": foolbox.attacks.LinfPGD}
STEPS = 50


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


class FallingSteps:
    """Of the sizes of flowsim's, for a radius."""

    def __init__(self, radius):
        self.sizes = iter(radius * np.geomspace(FIRST, LAST, STEPS))

    def __call__(self, gradient):
        return float(next(self.sizes)) * gradient


def the_same(library):
    """The library's descent with flowsim's settings: as many steps of the same sizes from the clean sample, up what the
    largest other output is ahead by."""

    class Same(library):
        def get_optimizer(self, x, stepsize):
            return FallingSteps(stepsize)

        def get_loss_fn(self, model, labels):
            def ahead(inputs):
                logits = model(inputs)
                own = eagerpy.onehot_like(logits, labels)
                others = eagerpy.where(own > 0, -np.inf * eagerpy.ones_like(logits), logits).max(axis=-1)
                return (others - (logits * own).sum(axis=-1)).sum()

            return ahead

    return Same(rel_stepsize=1.0, steps=STEPS, random_start=False)


@pytest.mark.parametrize("norm", RADII)
def test_projected_gradients_with_the_same_settings_leave_as_many_samples_right(trained, norm):
    _, tree, x, label = trained
    model, library = in_torch(tree), the_same(LIBRARY[norm])
    keys = {"steps": STEPS, "restarts": 0}
    # each radius by itself, for flowsim's otherwise begin where they got to at the one before
    ours = [float(measured(trained, norm, ["pgd"], radii=[radius], **keys).item()) for radius in RADII[norm]]
    theirs = [by_library([library], model, x, label, [radius])[0] for radius in RADII[norm]]
    assert theirs[0] - theirs[-1] > 0.4
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.01)


@pytest.mark.parametrize("norm", RADII)
def test_projected_gradients_are_as_strong_as_the_library_s_own(trained, norm):
    _, tree, x, label = trained
    theirs = by_library([LIBRARY[norm](steps=STEPS)], in_torch(tree), x, label, RADII[norm])
    ours = measured(trained, norm, ["pgd"], steps=STEPS)
    assert (ours.sel(attack="pgd") <= theirs + 0.01).all()


@pytest.mark.parametrize("norm", RADII)
def test_the_fast_gradient_of_two_classes_is_the_same(trained, norm):
    classes, tree, x, label = trained
    if classes != 2:
        pytest.skip("with more classes the library climbs another loss")
    fast = {"l2": foolbox.attacks.L2FastGradientAttack, "linf": foolbox.attacks.LinfFastGradientAttack}[norm]
    theirs = by_library([fast()], in_torch(tree), x, label, RADII[norm])
    np.testing.assert_allclose(measured(trained, norm, ["fgm"]).sel(attack="fgm"), theirs, atol=1.5 / len(x))
