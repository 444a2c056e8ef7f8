"""Sparse reconstruction of perturbations: against the closed form for orthonormal features, and Lasso's own conditions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import flowsim
from flowsim.evaluate.density import measured, reconstructed

LINEAR = """
[data]
kind = "sparse_coding"
dimension = 6
sparsity = 2.0
samples = 60
[model]
kind = "linear"
[loss]
kind = "logistic"
[flow]
until = { time = 5.0 }
"""


#: How far off the coefficients of the solver are.
SOLVED = 1e-5


def shares(exact: np.ndarray, penalty: float) -> tuple[float, float]:
    """The least and the most of the shares of coefficients that half the penalty does not shrink to 0: one that is at it
    but for the solver's error may be 0 or not."""
    size = np.abs(exact)
    return float((size > penalty / 2 + SOLVED).mean()), float((size > penalty / 2 - SOLVED).mean())


@settings(max_examples=25)
@given(st.integers(0, 1000), st.floats(0.005, 3))
def test_orthonormal_features_shrink_every_coefficient_by_half_the_penalty(seed, penalty):
    atoms = ortho_group.rvs(7, random_state=seed)
    move = np.random.default_rng(seed).standard_normal(7)
    move /= np.linalg.norm(move)
    exact = atoms @ move
    shrunk = np.sign(exact) * np.maximum(np.abs(exact) - penalty / 2, 0)
    found = reconstructed(atoms, move, np.array([penalty]))[0]
    assert found == pytest.approx(shrunk, abs=SOLVED)
    share, residual = measured(atoms, move[None], np.array([penalty]))
    fewest, most = shares(exact, penalty)
    assert fewest <= share[0] <= most
    assert residual[0] == pytest.approx((np.minimum(np.abs(exact), penalty / 2) ** 2).sum(), abs=1e-4)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_no_coefficient_of_dependent_features_could_be_better(seed):
    random = np.random.default_rng(seed)
    atoms = random.standard_normal((12, 5))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    move = random.standard_normal(5)
    move /= np.linalg.norm(move)
    penalties = np.array([0.1, 1.0, 0.3])

    def objective(y, penalty):
        return ((y @ atoms - move) ** 2).sum() + penalty * np.abs(y).sum()

    for y, penalty in zip(reconstructed(atoms, move, penalties), penalties, strict=True):
        best = objective(y, penalty)
        for step in 10.0 ** np.arange(-4, 0):
            for k in range(12):
                for sign in (-step, step):
                    assert objective(y + sign * np.eye(12)[k], penalty) > best - 1e-5


def test_of_a_linear_classifier_it_is_the_density_of_its_weights():
    tree = flowsim.run(flowsim.loads(LINEAR))
    problem = flowsim.build(flowsim.loads(LINEAR))
    penalties = [0.05, 0.5]
    found = flowsim.density(tree, 0.1, penalties=penalties, samples=20)
    for index, direction in enumerate(tree["direction"].values[:, 0]):
        exact = np.abs(problem.centers @ direction)
        for penalty in penalties:
            at = found.isel(snapshot=index).sel(penalty=penalty)
            fewest, most = shares(exact, penalty)
            assert fewest * (1 - 1e-12) <= float(at["density"]) <= most * (1 + 1e-12)  # a mean over samples
            assert float(at["residual"]) == pytest.approx((np.minimum(exact, penalty / 2) ** 2).sum(), abs=1e-4)
    own = flowsim.density(tree, 0.1, features="weights", penalties=[0.2], samples=20)
    assert own["density"].values[-1] == 1.0  # of a single feature, the weights themselves
    assert own["residual"].values[-1] == pytest.approx(0.1**2, abs=1e-6)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"penalties": [0.0]}, "penalties"),
        ({"radius": 0.0, "attack": "minimal"}, "radius: above 0; attack: one of fgm, pgd"),
        ({"features": "pixels", "samples": 0}, "features: .*; samples"),
    ],
)
def test_what_cannot_be_measured_is_answered(keys, words):
    tree = flowsim.run(flowsim.loads(LINEAR))
    with pytest.raises(flowsim.UsageError, match=words):
        flowsim.density(tree, **{"radius": 0.1, **keys})


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    tree = flowsim.run(flowsim.loads(LINEAR))
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(flowsim.UsageError, match=r"pip install 'flowsim\[learn\]'"):
        flowsim.density(tree, 0.1)


@pytest.mark.parametrize(("test", "origin"), [({"data.test": {"samples": 4}}, "test"), ({}, "fresh")])
def test_it_says_which_samples_were_perturbed(test, origin):
    tree = flowsim.run(flowsim.loads(LINEAR, overrides=test))
    assert flowsim.density(tree, radius=0.1, samples=9).attrs["samples"] == origin
