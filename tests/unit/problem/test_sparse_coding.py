"""Sparse coding: what the draws have to do with Section 2 of Allen-Zhu & Li 2022."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chisquare

import flowsim
from flowsim.kinds.data import sparse_coding
from flowsim.problem.fresh import fresh

TEXT = """
[data]
kind = "sparse_coding"
dimension = {dimension}
sparsity = {sparsity}
large = {large}
samples = {samples}
basis = "{basis}"
label_weights = {weights}
noise = {{ total = {noise} }}
spike_noise = {spikes}
[init]
scale = 0.01
[loss]
kind = "logistic"
"""


def drawn(seed=0, **keys):
    given = {"dimension": 40, "sparsity": 4.0, "large": 0.5, "samples": 2000, "basis": "random", "noise": 0.0}
    text = TEXT.format(**{**given, "weights": [1.0, 1.0], "spikes": 0.0, **keys})
    scenario = flowsim.loads(text, overrides={"seed": seed})
    return scenario, flowsim.build(scenario).samples


@settings(max_examples=25)
@given(
    st.integers(0, 1000), st.sampled_from(["random", "axes"]), st.sampled_from([[1.0, 1.0], [0.5, 2.0]]), st.booleans()
)
def test_labels_are_signs_of_the_code_and_inputs_its_image(seed, basis, weights, spikes):
    _, samples = drawn(seed, basis=basis, weights=weights, samples=50, spikes=0.1 if spikes else 0.0)
    dictionary = samples.centers
    assert dictionary @ dictionary.T == pytest.approx(np.eye(40), abs=1e-12)
    score = samples.code @ samples.label_weight
    assert (score != 0).all()
    assert samples.label == pytest.approx(np.sign(score))
    assert set(np.round(np.abs(samples.code), 12).ravel()) <= {0.0, 0.5, 1.0}
    left = np.abs(samples.inputs @ dictionary.T - samples.code)
    assert set(np.round(left, 9).ravel()) <= ({0.0, round(4**-0.501, 9)} if spikes else {0.0})


@pytest.mark.parametrize(("size", "probability"), [(1.0, 0.5 / 40), (0.5, 4 / 40)])
def test_how_often_a_coordinate_is_large_and_small(size, probability):
    # every value of w* is told apart, so that no z is drawn anew but z = 0, which biases by its known probability
    _, samples = drawn(weights=[0.5, 2.0], samples=5000)
    empty = (1 - 4.5 / 40) ** 40
    count = int((np.abs(samples.code) == size).sum())
    assert binomtest(count, samples.code.size, probability / (1 - empty)).pvalue > 1e-4


def test_gaussian_and_spike_noise_have_the_variance_that_is_asked_for():
    _, samples = drawn(noise=0.3, spikes=0.2, samples=4000)
    left = samples.inputs - samples.code @ samples.centers
    assert (left**2).sum(axis=1).mean() == pytest.approx(0.3**2 + 0.2**2, rel=0.03)


@settings(max_examples=40)
@given(st.integers(0, 400), st.floats(1e-4, 1.0), st.integers(0, 1000))
def test_hits_are_distinct_trials_in_order(count, chance, seed):
    hits = sparse_coding._hits(count, chance, np.random.default_rng(seed))
    assert (np.diff(hits) > 0).all()
    assert ((hits >= 0) & (hits < count)).all()
    assert chance < 1 or len(hits) == count


def test_trials_succeed_independently_each_with_its_chance():
    generator, trials = np.random.default_rng(0), np.zeros((4000, 8))
    for row in trials:
        row[sparse_coding._hits(8, 0.3, generator)] = 1
    patterns = np.bincount((trials @ 2 ** np.arange(8)).astype(int), minlength=256)
    ones = np.array([int(pattern).bit_count() for pattern in range(256)])
    assert chisquare(patterns, 4000 * 0.3**ones * 0.7 ** (8 - ones)).pvalue > 1e-4


def test_fresh_samples_have_the_dictionary_and_the_labelling_of_the_training_set():
    scenario, samples = drawn(weights=[0.5, 2.0])
    test, batch = fresh(scenario, samples, 300), fresh(scenario, samples, 300, "another purpose")
    for new in (test, batch):
        assert new.centers is samples.centers
        assert new.label_weight is samples.label_weight
        assert len(new.inputs) == 300
        assert new.label == pytest.approx(np.sign(new.inputs @ samples.centers.T @ samples.label_weight))
    assert not np.array_equal(test.code, samples.code[:300])
    assert not np.array_equal(test.code, batch.code)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"dimension": 4}, "data.dimension"),
        ({"spikes": 10.0}, "data.spike_noise"),
        ({"weights": [2.0, 1.0]}, "data.label_weights"),
        ({"sparsity": 0.5}, "data.sparsity"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_its_key(keys, key):
    with pytest.raises(flowsim.ScenarioError, match=key.replace(".", r"\.")) as refused:
        drawn(**keys)
    assert refused.value.issues[0].key == key


def test_ties_are_drawn_anew_or_labelled_at_random_and_how_many_there_are_is_known():
    """k = 1 and nothing else: <w*, z> is a sum of signs, 0 as often as a walk of a binomial number of steps returns."""
    keys = {"sparsity": 1.0, "large": 0.0, "dimension": 10, "samples": 20_000}
    text = TEXT.format(**{**keys, "basis": "axes", "weights": [1.0, 1.0], "noise": 0.0, "spikes": 0.0})
    scenario = flowsim.loads(text, overrides={"data.ties": "random"})
    samples = flowsim.build(scenario).samples
    tied = samples.code @ samples.label_weight == 0
    returns = sum(binom.pmf(steps, 10, 0.1) * binom.pmf(steps / 2, steps, 0.5) for steps in range(0, 11, 2))
    assert binomtest(int(tied.sum()), len(tied), returns).pvalue > 1e-4
    assert scenario.data.tied_share(samples, 3) == pytest.approx(returns, abs=5 * (0.25 / 10_000) ** 0.5)
    # labels of the others are signs, those of ties are thrown
    assert (samples.label == np.sign(samples.code @ samples.label_weight))[~tied].all()
    assert binomtest(int((samples.label[tied] > 0).sum()), int(tied.sum()), 0.5).pvalue > 1e-4
    again = flowsim.build(flowsim.loads(text)).samples
    assert (again.code @ again.label_weight != 0).all()
