"""The handwritten digits that ship with scikit-learn."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

import flowsim

IMAGES, DIGIT = load_digits(return_X_y=True)


def digits(seed: int = 0, **overrides) -> flowsim.Problem:
    scenario = flowsim.loads(
        f'seed = {seed}\n[data]\nkind = "digits"\n[model]\nwidth = 20\n',
        overrides={f"data.{key}": value for key, value in overrides.items()}
        | ({"loss.kind": "cross_entropy"} if overrides.get("supervision") == "cluster" else {}),
    )
    return flowsim.build(scenario)


def rows_of(problem: flowsim.Problem) -> list[int]:
    """The images that the samples are, by their directions."""
    unit = IMAGES / np.linalg.norm(IMAGES, axis=1, keepdims=True)
    return (problem.inputs @ unit.T).argmax(axis=1).tolist()


def test_all_images_are_there_in_their_order_up_to_one_factor():
    problem = digits()
    factor = problem.inputs[0] @ IMAGES[0] / (IMAGES[0] @ IMAGES[0])
    np.testing.assert_allclose(problem.inputs, factor * IMAGES, rtol=1e-14)


def test_a_digit_is_a_cluster_and_its_parity_the_label():
    problem = digits()
    np.testing.assert_array_equal(problem.sample_cluster, DIGIT)
    np.testing.assert_array_equal(problem.targets, np.where(DIGIT % 2, -1.0, 1.0))
    assert problem.cluster_label.tolist() == [1, -1] * 5


@pytest.mark.parametrize("options", [{}, {"samples": 200}, {"center": True}], ids=str)
def test_centres_are_the_means_of_the_digits_in_use(options):
    problem = digits(**options)
    for digit in range(10):
        mean = problem.inputs[problem.sample_cluster == digit].mean(axis=0)
        np.testing.assert_allclose(problem.centers[digit], mean, atol=1e-13)


@pytest.mark.parametrize(("radius", "norm"), [({}, 8.0), ({"radius": "sqrt_dimension"}, 8.0), ({"radius": 0.5}, 0.5)])
@pytest.mark.parametrize("options", [{}, {"samples": 100}, {"center": True}], ids=str)
def test_the_mean_norm_of_the_samples_is_the_radius(radius, norm, options):
    problem = digits(**radius, **options)
    assert np.linalg.norm(problem.inputs, axis=1).mean() == pytest.approx(norm, rel=1e-14)


@pytest.mark.parametrize("options", [{}, {"samples": 57}], ids=str)
def test_centred_samples_have_mean_0_and_the_same_differences(options):
    plain, centred = digits(**options), digits(center=True, **options)
    np.testing.assert_allclose(centred.inputs.mean(axis=0), 0, atol=1e-13)
    difference, moved = (problem.inputs - problem.inputs[0] for problem in (plain, centred))
    factor = (difference * moved).sum() / (difference**2).sum()
    np.testing.assert_allclose(moved, factor * difference, atol=1e-12)


@pytest.mark.parametrize("samples", [10, 11, 57, 500, 1796, 1797])
def test_a_subset_keeps_the_share_of_every_digit_and_takes_no_image_twice(samples):
    problem = digits(samples=samples)
    assert len(problem.targets) == samples
    counts = np.bincount(problem.sample_cluster, minlength=10)
    assert counts.min() >= 1
    assert np.abs(counts - samples * np.bincount(DIGIT) / 1797).max() < 1
    rows = rows_of(problem)
    assert rows == sorted(set(rows))
    np.testing.assert_array_equal(problem.sample_cluster, DIGIT[rows])


def test_a_subset_comes_from_the_seed():
    first, again, other = (rows_of(digits(seed, samples=100)) for seed in (0, 0, 1))
    assert first == again != other


def test_the_pair_of_two_classes_and_ten_clusters_differs_in_its_targets_only():
    two, ten = (digits(samples=100, supervision=supervision) for supervision in ("class", "cluster"))
    assert set(two.targets.tolist()) == {-1.0, 1.0}
    np.testing.assert_array_equal(ten.targets, ten.sample_cluster)
    for name in ("inputs", "label", "sample_cluster", "centers", "hidden"):
        np.testing.assert_array_equal(getattr(two, name), getattr(ten, name))


def test_members_of_an_ensemble_share_all_images_and_draw_subsets_of_their_own():
    def members(samples: str) -> list[flowsim.Problem]:
        text = f'seed = [0, 1]\n[data]\nkind = "digits"\n{samples}\n[model]\nwidth = 2\n'
        first, second = flowsim.loads(text).members
        problem = flowsim.build(first)
        return [problem, flowsim.build(second, problem)]

    whole, part = members(""), members("samples = 50")
    assert whole[0].samples is whole[1].samples
    assert rows_of(part[0]) != rows_of(part[1])


def test_a_network_learns_the_parity_of_digits():
    text = """
[data]
kind = "digits"
samples = 50
center = true
radius = 1.0
[model]
activation = "relu"
width = 10
[init]
scale = 0.1
[loss]
kind = "logistic"
[flow]
until = { time = 200.0 }
[observe]
times = 3
"""
    run = flowsim.run(flowsim.loads(text)).to_dataset()
    assert run.attrs["status"] == "done"
    assert run.sizes["cluster"] == 10
    assert run["accuracy"][0] < 0.9 < run["accuracy"][-1]


def test_without_scikit_learn_the_kind_s_line_is_named_and_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    scenario = flowsim.loads('seed = 0\n[data]\nkind = "digits"\n')
    with pytest.raises(flowsim.ScenarioError, match=r"^data.kind: needs scikit-learn.*pip install 'flowsim\[learn\]'"):
        flowsim.build(scenario)
