"""Attacks on networks with an output for every class, which are functions of a tree of arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import flowsim
from flowsim.errors import ScenarioError
from flowsim.evaluate.robustness import classifier_of
from flowsim.evaluate.robustness.classifier import difference, lead, odds
from flowsim.kinds import trees

CLASSES, SIDE = 3, 4
FLOW = {"method": "gradient_descent", "step": 0.3, "iterations": 40}


def samples(count=24, noise=0.6):
    """Noisy copies of three images."""
    random = np.random.default_rng(0)
    means = np.random.default_rng(7).standard_normal((CLASSES, SIDE**2))
    label = np.arange(count) % CLASSES
    return flowsim.Data(means[label] + noise * random.standard_normal((count, SIDE**2)), label)


def scenario(model, **robustness):
    return flowsim.Scenario(
        {
            "data": {"kind": "table"},
            "model": model,
            "init": {"shape": "he" if model["kind"] == "conv" else "orthonormal", "scale": 0.5},
            "loss": {"kind": "cross_entropy"},
            "flow": FLOW,
            "observe": {"times": 3, "variables": ["loss", "accuracy"]},
            "evaluate": {"robustness": {"attacks": ["pgd"], "samples": 24, "steps": 40, **robustness}},
        }
    )


CONV = {"kind": "conv", "channels": [4], "pool": "mean", "biases": True, "activation": "tanh"}
LINEAR = {"kind": "deep_linear", "depth": 2, "width": 5}
DUAL = {"l2": 2, "linf": 1}
RADII = {"l2": [0.0, 1.0, 1.6, 2.2], "linf": [0.0, 0.3, 0.5, 0.8]}


@pytest.mark.parametrize("norm", DUAL)
def test_linear_classes_are_lost_at_their_distance_from_the_nearest_other(norm):
    asked = scenario(LINEAR, norm=norm, radii=RADII[norm], attacks=["pgd", "minimal"], steps=200)
    tree, data = flowsim.run(asked, data=samples()), samples()
    found = tree["robustness"].to_dataset()
    weights = tree["layers_1"].values[-1] @ tree["layers_0"].values[-1]
    scores, own = data.x @ weights.T, data.y.astype(int)
    gaps = scores[np.arange(24), own][:, None] - scores
    sizes = np.linalg.norm(weights[own][:, None] - weights, ord=DUAL[norm], axis=2)
    with np.errstate(invalid="ignore"):
        exact = np.nanmin(gaps / sizes, axis=1).clip(0)
    assert 0 < (exact > RADII[norm][2]).mean() < 1
    np.testing.assert_allclose(found["attacked_radius"].values[0], exact, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(
        found["robust_accuracy"].sel(classifier="network", attack="pgd"), [(exact > r).mean() for r in RADII[norm]]
    )
    np.testing.assert_array_equal(np.sort(found["test_label"]), np.sort(own))


def lost_by_descent(network, arrays, x, own, radius, norm, steps=100):
    """(n,): whether projected descent on the lead of each sample's class, with steps of radius/10, makes it wrong."""

    def least(x):
        outputs = network.of_features(arrays, x).T
        mine = outputs[jnp.arange(len(x)), own]
        return (mine - jnp.where(jnp.arange(CLASSES) == own[:, None], -jnp.inf, outputs).max(axis=1)).sum()

    gradient, lost = jax.jit(jax.grad(least)), np.zeros(len(x), dtype=bool)
    move = np.zeros_like(x)
    for step in range(steps):
        outputs = np.asarray(network.of_features(arrays, x + move)).T
        lost |= outputs.argmax(axis=1) != own
        slope = np.asarray(gradient(x + move))
        size = radius * (1 - step / steps) / 5
        if norm == "l2":
            move = move - size * slope / np.linalg.norm(slope, axis=1, keepdims=True)
            move *= np.minimum(1, radius / np.linalg.norm(move, axis=1, keepdims=True))
        else:
            move = np.clip(move - size * np.sign(slope), -radius, radius)
    return lost


@pytest.mark.parametrize("norm", DUAL)
def test_the_attack_is_as_strong_as_a_plain_one(norm):
    radii = {"l2": [0.0, 0.5, 1.0, 1.5], "linf": [0.0, 0.2, 0.35, 0.5]}[norm]
    data = samples()
    tree = flowsim.run(scenario(CONV, norm=norm, radii=radii), data=data)
    case = flowsim.reopen(tree)
    arrays = [tree[leaf.name].values[-1] for leaf in case.problem.network.leaves]
    with jax.enable_x64(True):
        lost = [
            lost_by_descent(case.problem.network, arrays, data.x, data.y.astype(int), max(radius, 1e-12), norm)
            for radius in radii
        ]
    plain = 1 - np.mean(lost, axis=1)
    assert plain[0] > plain[2] > plain[3]
    accuracy = tree["robustness/robust_accuracy"].sel(classifier="network", attack="pgd").values
    assert accuracy[0] == plain[0]
    # either may be ahead by a sample
    np.testing.assert_allclose(accuracy, plain, atol=1.5 / len(data.x))


def test_inputs_that_come_in_parts_give_the_same(monkeypatch):
    asked = scenario(CONV, radii=[0.0, 0.5], restarts=0, steps=5)
    whole = flowsim.run(asked, data=samples())
    monkeypatch.setattr(trees, "BYTES", 1)
    parts = flowsim.robustness(whole)
    np.testing.assert_allclose(parts["robust_accuracy"], whole["robustness/robust_accuracy"])
    np.testing.assert_allclose(parts["attacked_radius"], whole["robustness/attacked_radius"], rtol=1e-9)


def test_parts_are_as_large_as_fit_and_of_few_sizes(monkeypatch):
    case = flowsim.reopen(flowsim.run(scenario(CONV, radii=[0.0]), data=samples()))
    network = classifier_of(case.setting, case.weights_at(-1, "at"))
    seen = []

    def sizes(part):
        seen.append(len(part))
        return (part,)

    (same,) = network._in_parts(sizes, samples(13).x)
    np.testing.assert_array_equal(same, samples(13).x)
    monkeypatch.setattr(trees, "BYTES", 8 * 5 * trees.entries_of_one(network.network))
    network._in_parts(sizes, samples(13).x)
    assert seen == [16, 4, 4, 4, 1]


DIGITS = {
    "data": {"kind": "digits", "samples": 60, "supervision": "cluster", "test": {"fraction": 0.4}},
    "evaluate.robustness.compare": ["outputs", "classes"],
}


def test_clusters_with_labels_are_told_apart_by_label_and_by_cluster():
    asked = scenario({**CONV, "channels": [8]}, radii=[0.0, 1.0], steps=10).replace(DIGITS)
    tree = flowsim.run(asked)
    found, problem = tree["robustness/robust_accuracy"], flowsim.build(asked)
    outputs = flowsim.reopen(tree).network(problem.test.inputs)
    cluster, label = problem.test.sample_cluster, problem.cluster_label
    share = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    clean = {
        "network": np.sign(share @ label) == label[cluster],
        "outputs": np.sign(outputs @ label) == label[cluster],
        "classes": outputs.argmax(axis=1) == cluster,
    }
    for name, right in clean.items():
        assert found.sel(classifier=name, attack="pgd", radius=0.0) == pytest.approx(right.mean())
    assert (found.sel(radius=1.0) < found.sel(radius=0.0)).all()


@pytest.mark.parametrize(
    ("read", "by"),
    [(odds, np.array([1, -1, 1])), (lead, 1), (difference, np.array([1.0, -1.0, 1.0]))],
    ids=["odds", "lead", "difference"],
)
def test_what_is_read_from_outputs_has_the_derivative_of_differences(read, by):
    outputs, step = np.random.default_rng(0).standard_normal((5, 3)), 1e-6
    _, slope = read(outputs, by, np)
    for place in range(3):
        ends = [read(outputs + sign * step * np.eye(3)[place], by, np)[0] for sign in (1, -1)]
        np.testing.assert_allclose(slope[:, place], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def test_classifiers_of_labels_are_none_for_classes_without_labels():
    asked = scenario(CONV, radii=[0.1], compare=["nearest"])
    with pytest.raises(ScenarioError, match=r"evaluate.robustness.compare\[0\]: is for labels \+1 and -1"):
        flowsim.run(asked, data=samples())
