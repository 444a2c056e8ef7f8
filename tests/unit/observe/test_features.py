"""Observables of sparse coding against their definitions, written out neuron by neuron."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flowsim
from flowsim.observe import OBSERVABLES, Instant, Setting
from flowsim.observe.kinds.features import GAMMA, sure_winners
from flowsim.problem import reduce
from flowsim.solve import Snapshot

TEXT = """
[data]
kind = "sparse_coding"
dimension = 30
samples = 50
label_weights = [0.5, 1.5]
[model]
kind = "symmetric_relu"
width = 400
threshold = 0.2
[init]
scale = 0.1
[loss]
kind = "logistic"
[flow]
method = "gradient_descent"
step = 1.0
iterations = 1
"""


@pytest.fixture
def setting():
    return Setting(reduce(flowsim.build(flowsim.loads(TEXT))))


def instant(setting, hidden):
    norm = np.linalg.norm(hidden, axis=1)
    ones = np.ones(len(hidden))
    return Instant(setting, Snapshot(0.0, hidden / norm[:, None], np.log(norm), ones, 0 * ones))


def test_a_neuron_that_is_made_of_a_pure_part_and_a_mixture_decomposes_into_these(setting):
    samples, generator = setting.problem.samples, np.random.default_rng(0)
    feature, size = generator.integers(30, size=400), generator.uniform(1, 2, size=400)
    mixture = generator.uniform(-0.05, 0.1, size=400)
    coefficient = mixture[:, None] * samples.label_weight * np.ones((400, 30))
    coefficient[np.arange(400), feature] = size
    now = instant(setting, coefficient @ samples.centers)
    assert OBSERVABLES["feature_coefficient"].value(now) == pytest.approx(coefficient)
    assert OBSERVABLES["pure_part"].value(now) == pytest.approx(size)
    assert OBSERVABLES["dense_mixture"].value(now) == pytest.approx(mixture)
    assert OBSERVABLES["dense_ratio"].value(now) == pytest.approx(mixture.mean() / size.mean())


def test_who_surely_wins_and_who_has_kept_it(setting):
    problem, won = setting.problem, sure_winners(setting)
    spare = math.log(400) / math.log(30) - 1
    high, low = 2 + 2 * (1 - GAMMA) * spare + GAMMA * spare, 2 + 2 * (1 - GAMMA) * spare - GAMMA * spare
    level = (problem.hidden @ problem.centers.T) ** 2 / ((problem.hidden**2).mean() * math.log(30))
    product = problem.hidden @ problem.centers.T
    for neuron in range(400):
        others = [
            j
            for j in range(30)
            if level[neuron, j] >= high and product[neuron, j] > 0 and (np.delete(level[neuron], j) < low).all()
        ]
        assert others == ([won[neuron]] if won[neuron] >= 0 else [])
    sure = np.flatnonzero(won >= 0)
    assert 0 < len(sure) < 400
    lost = problem.hidden.copy()
    lost[sure[0]] *= -1
    assert OBSERVABLES["winners_kept"].value(instant(setting, problem.hidden)) == 1
    assert OBSERVABLES["winners_kept"].value(instant(setting, lost)) == pytest.approx(1 - 1 / len(sure))


def test_cosine_with_the_start_and_share_of_active_pairs(setting):
    problem = setting.problem
    hidden = np.random.default_rng(1).standard_normal(problem.hidden.shape)
    now = instant(setting, hidden)
    norms = np.linalg.norm(hidden, axis=1) * np.linalg.norm(problem.hidden, axis=1)
    assert OBSERVABLES["initial_cosine"].value(now) == pytest.approx(
        np.abs((hidden * problem.hidden).sum(axis=1)) / norms
    )
    active = (np.abs(problem.inputs @ hidden.T) > 0.2).mean()
    assert OBSERVABLES["active_share"].value(now) == pytest.approx(active)
