"""Samples of the XOR mixture: its four clusters and the laws of their noise."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

LAWS = ["gaussian", "laplace", "uniform"]
SAMPLES = 40_000


def xor(**overrides) -> flowsim.Problem:
    loss = "cross_entropy" if overrides.get("supervision") == "cluster" else "square"
    text = f'[data]\nkind = "xor"\ndimension = 3\nsamples = 8\n[model]\nwidth = 4\n[loss]\nkind = "{loss}"\n'
    return flowsim.build(flowsim.loads(text, overrides={f"data.{key}": value for key, value in overrides.items()}))


def noise_of(problem: flowsim.Problem) -> np.ndarray:
    return problem.inputs - problem.centers[problem.sample_cluster]


def test_clusters_are_mu_1_and_its_opposite_then_mu_2_and_its_opposite():
    centers = xor(basis="axes", radius=2.0).centers
    np.testing.assert_array_equal(centers, [[2, 0, 0], [-2, 0, 0], [0, 2, 0], [0, -2, 0]])


def test_the_pair_of_mu_1_is_positive_and_that_of_mu_2_negative():
    problem = xor()
    assert problem.cluster_label.tolist() == [1, 1, -1, -1]
    assert problem.sample_cluster.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert problem.targets.tolist() == [1, 1, 1, 1, -1, -1, -1, -1]


def test_no_linear_classifier_is_better_than_chance_on_the_centres():
    problem = xor()
    # a sum of four numbers below 1: 4 eps
    np.testing.assert_allclose(problem.cluster_label @ problem.centers, 0, atol=1e-15)


def test_unbalanced_data_draw_clusters_uniformly():
    counts = np.bincount(xor(samples=4001, balanced=False).sample_cluster, minlength=4)
    assert len(set(counts.tolist())) > 1
    # five standard deviations of a binomial
    assert np.abs(counts - 4001 / 4).max() < 5 * (4001 * 3 / 16) ** 0.5


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("noise", "variance"), [({"total": 0.6}, 0.36 / 3), ({"per_coordinate": 0.6}, 0.36)])
def test_every_law_has_mean_0_and_the_covariance_of_the_noise(law, noise, variance):
    deviation = noise_of(xor(law=law, noise=noise, samples=SAMPLES))
    # a square has the standard deviation sqrt(kurtosis - 1) times the variance; Laplace's kurtosis is the largest, 6
    np.testing.assert_allclose(
        deviation.T @ deviation / SAMPLES, variance * np.eye(3), atol=5 * variance * (5 / SAMPLES) ** 0.5
    )
    np.testing.assert_allclose(deviation.mean(axis=0), 0, atol=5 * (variance / SAMPLES) ** 0.5)


@pytest.mark.parametrize(("law", "kurtosis"), [("gaussian", 3.0), ("laplace", 6.0), ("uniform", 1.8)])
def test_every_law_has_its_own_fourth_moment(law, kurtosis):
    unit = noise_of(xor(law=law, noise={"per_coordinate": 1.0}, samples=SAMPLES)).ravel()
    error = (unit**4).std() / len(unit) ** 0.5
    assert (unit**4).mean() == pytest.approx(kurtosis, abs=5 * error)
    # so that the three cannot be taken for each other
    assert 5 * error < 3.0 - 1.8


def test_uniform_noise_fills_its_interval_and_no_more():
    size = np.abs(noise_of(xor(law="uniform", noise={"per_coordinate": 2.0}, samples=SAMPLES)))
    assert 0.999 < size.max() / (2 * 3**0.5) < 1 + 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_coordinates_are_independent_not_merely_uncorrelated(law):
    size = np.abs(noise_of(xor(law=law, noise={"per_coordinate": 1.0}, samples=SAMPLES)))
    # a law that is only isotropic would have coordinates whose sizes are correlated
    correlation = np.corrcoef(size.T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / SAMPLES**0.5


def arrays(problem: flowsim.Problem) -> dict[str, np.ndarray]:
    samples = problem.samples
    names = ("inputs", "targets", "sample_cluster", "centers", "cluster_label", "label", "clean_targets")
    return {name: getattr(samples, name) for name in names} | {"hidden": problem.hidden}


@pytest.mark.parametrize(
    ("override", "changes"),
    [
        ({}, set()),
        ({"law": "gaussian"}, set()),
        ({"law": "laplace"}, {"inputs"}),
        ({"law": "uniform"}, {"inputs"}),
        ({"noise": {"total": 0.5}}, {"inputs"}),
        ({"basis": "axes"}, {"inputs", "centers"}),
        ({"label_noise": 0.25}, {"targets", "label"}),
        ({"supervision": "cluster"}, {"targets", "clean_targets"}),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_a_key_changes_what_it_speaks_of_and_nothing_else(override, changes):
    before, after = arrays(xor()), arrays(xor(**override))
    assert {name for name in before if not np.array_equal(before[name], after[name])} == changes


def test_another_seed_draws_everything_anew():
    one, other = (flowsim.build(flowsim.loads(f'seed = {seed}\n[data]\nkind = "xor"')) for seed in (0, 1))
    for name in ("inputs", "centers", "hidden"):
        assert not np.isclose(getattr(one, name), getattr(other, name)).any()
