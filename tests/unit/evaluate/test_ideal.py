"""Ideal classifiers against the probabilities and formulas that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import flowsim
from flowsim.evaluate.robustness import restricted
from flowsim.evaluate.robustness.ideal import bayes, ideal_classifier, nearest_cluster, power_classifier

SEEDS = st.integers(0, 9999)


def clusters(seed: int, count: int = 5, dimension: int = 4):
    """(centres of any norms and angles, labels of both signs, points among and far from them)"""
    generator = np.random.default_rng(seed)
    label = np.array([1, -1, *generator.choice([1, -1], count - 2)])
    centers = generator.standard_normal((count, dimension)) * generator.uniform(0.2, 3.0, (count, 1))
    return centers, label, 2 * generator.standard_normal((30, dimension))


@given(seed=SEEDS, deviation=st.floats(0.05, 3.0))
def test_bayes_gives_the_log_odds_of_gaussian_clusters(seed, deviation):
    centers, label, x = clusters(seed)
    prior = np.random.default_rng(seed).dirichlet(np.ones(len(label)))
    density = np.column_stack(
        [
            np.log(share) + multivariate_normal(center, deviation**2 * np.eye(4)).logpdf(x)
            for share, center in zip(prior, centers, strict=True)
        ]
    )
    odds = logsumexp(density[:, label > 0], axis=1) - logsumexp(density[:, label < 0], axis=1)
    value = bayes(centers, label, deviation, prior).value(x)
    np.testing.assert_allclose(value / deviation**2, odds, rtol=1e-9, atol=1e-9 / deviation**2)


@given(seed=SEEDS, deviation=st.sampled_from([1e-200, 1e-8, 1e-3, 0.0]))
def test_with_little_noise_bayes_is_the_nearest_cluster(seed, deviation):
    centers, label, x = clusters(seed)
    distance = ((x[:, None] - centers) ** 2).sum(axis=2)
    nearest = (distance[:, label < 0].min(axis=1) - distance[:, label > 0].min(axis=1)) / 2
    np.testing.assert_allclose(nearest_cluster(centers, label).value(x), nearest, atol=1e-12)
    np.testing.assert_allclose(bayes(centers, label, deviation).value(x), nearest, atol=1e-12 + 2 * deviation**2)


def test_bayes_is_the_paper_s_sum_of_exponentials():
    label, x = np.array([1, 1, -1]), np.random.default_rng(0).standard_normal((50, 3))
    odds = np.exp(x / 0.7**2)
    assert (np.sign(bayes(np.eye(3), label, 0.7).value(x)) == np.sign(odds @ label)).all()


@given(seed=SEEDS, degree=st.floats(1, 5))
def test_the_power_classifier_is_its_formula(seed, degree):
    centers, label, x = clusters(seed)
    products = np.maximum(x @ centers.T, 0) / (centers**2).sum(axis=1)
    # clusters of both labels cancel, so that rounding is relative to the largest that a cluster's term can be
    largest = np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(centers, axis=1)
    error = power_classifier(centers, label, degree)(x) - products**degree @ label
    assert (np.abs(error) <= 1e-12 * (largest**degree).sum(axis=1)).all()


@given(seed=SEEDS, kind=st.sampled_from(["bayes", "nearest", "ideal"]))
def test_gradients_are_slopes_in_the_span_of_the_centres_as_well(seed, kind):
    centers, label, x = clusters(seed, count=3)
    made = {"bayes": bayes(centers, label, 0.8), "nearest": nearest_cluster(centers, label)}
    classifier = made.get(kind) or power_classifier(centers, label, 3)
    value, gradient = classifier.value_and_gradient(x)
    move = 1e-6 * np.random.default_rng(seed + 1).standard_normal(x.shape)
    change = (classifier.value(x + move) - classifier.value(x - move)) / 2
    # a nearest cluster changes at few of the points
    error = np.abs(change - (gradient * move).sum(axis=1))
    assert np.median(error) <= 1e-11 * (1 + np.abs(gradient).max())
    inside, basis = restricted(classifier)
    # terms that cancel are as large as a sample's value can be
    np.testing.assert_allclose(
        inside.value(x @ basis), value, rtol=0, atol=1e-12 * (1 + np.abs(gradient).max() * np.abs(x).max())
    )


def test_the_ideal_classifiers_of_a_scenario(small):
    scenario = small(model__degree=4, data__noise={"total": 0.5})
    problem = flowsim.build(scenario)
    assert ideal_classifier("bayes", scenario, problem).temperature == pytest.approx(0.5**2 / 12)
    x, label = problem.centers, problem.cluster_label
    np.testing.assert_allclose(ideal_classifier("ideal", scenario, problem)(0.5 * x), label / 2**4, atol=1e-12)
    np.testing.assert_allclose(ideal_classifier("nearest", scenario, problem).value(x), label, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("bayes", {"data": {"kind": "xor", "law": "laplace", "samples": 8}}, "Gaussian"),
        ("bayes", {"data": {"kind": "digits", "samples": 20}}, "drawn around centres"),
        ("nearest", {"data": {"positive": 4, "negative": 0}}, "both labels"),
    ],
    ids=["another law", "digits", "one label"],
)
def test_data_without_such_a_classifier_say_so(name, data, message):
    scenario = flowsim.loads("[model]\nwidth = 2", overrides=data)
    with pytest.raises(flowsim.UsageError, match=message):
        ideal_classifier(name, scenario, flowsim.build(scenario))
