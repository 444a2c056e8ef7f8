"""Coordinates in the span of centres, samples and weights have the law of all features, and their number is not d."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

import flowsim
from flowsim.errors import ScenarioError, UsageError
from flowsim.evaluate.robustness import transfer
from flowsim.kinds.span import Span
from flowsim.kinds.streams import stream
from flowsim.problem import beside, build, fresh

SEEDS = range(200)
#: With its seeds a test passes always or never. Of one law, 34 p-values are all above this in 97 of 100 choices of
#: the seeds; distribution functions that 200 draws of each show 0.195 apart have one below.
LEAST = 1e-3
DATA = {"samples": 8, "positive": 1, "negative": 1, "centers": "random_sphere", "test": {"samples": 3}}


def mixture(coordinates="span", dimension=2000, seed=0, **others):
    data = {
        **DATA,
        "dimension": dimension,
        "coordinates": coordinates,
        "noise": {"total": 1.5},
        **others.pop("data", {}),
    }
    model = {"activation": "relu", "width": 3, **others.pop("model", {})}
    return flowsim.Scenario({"seed": seed, "data": data, "model": model, "init": {"scale": 1e-2}, **others})


def statistics(problem):
    """Products of each sort of vector with each, one of each"""
    x, w, mu, t = problem.inputs, problem.hidden, problem.centers, problem.test.inputs
    sorts = {"x": x[0], "own": x[1], "other": x[4], "w": w[0], "w'": w[1], "mu": mu[0], "mu'": mu[1], "t": t[0]}
    names = [*sorts]
    products = {(a, b): float(sorts[a] @ sorts[b]) for i, a in enumerate(names) for b in names[i:]}
    # of norm 1; and the first centre's own sample and the test sample are of any two of the clusters
    return {pair: value for pair, value in products.items() if pair not in {("mu", "mu"), ("mu'", "mu'")}}


def test_products_of_centres_samples_weights_and_test_samples_have_the_law_of_all_features():
    drawn = {}
    for coordinates in ("features", "span"):
        members = mixture(coordinates, seed=[*SEEDS]).members
        first = build(members[0])
        drawn[coordinates] = [statistics(build(member, sibling=first)) for member in members]
    for pair in drawn["span"][0]:
        plain, span = ([of_seed[pair] for of_seed in drawn[name]] for name in ("features", "span"))
        assert ks_2samp(plain, span).pvalue > LEAST, pair


@pytest.mark.parametrize(("dimension", "vectors"), [(7, 5), (5, 5), (5, 8)])
def test_each_length_has_the_degrees_of_freedom_that_are_left(dimension, vectors):
    """Where d is small, one degree of freedom shows: of N(0, I_d) vectors E<x, y>^2 is d and E|x|^4 is d (d + 2)."""
    span, generator, count = Span(dimension, vectors, vectors), stream(0, "a"), 10_000
    grams = []
    for _ in range(count):
        rows = span.normal(generator, 0, vectors + 1)
        grams.append(rows @ rows.T)
    assert rows.shape == (vectors + 1, min(vectors, dimension) + (dimension > vectors))
    found = np.array(grams)
    square, expected = found**2, dimension * (np.ones((vectors + 1,) * 2) + (dimension + 1) * np.eye(vectors + 1))
    # five standard errors, which the draws themselves tell
    assert (np.abs(square.mean(axis=0) - expected) < 5 * square.std(axis=0) / count**0.5).all()
    mean = found.mean(axis=0) - dimension * np.eye(vectors + 1)
    assert (np.abs(mean) < 5 * found.std(axis=0) / count**0.5).all()


def test_a_span_that_grows_keeps_all_products_and_gives_rests_a_direction():
    span = Span(dimension=9, vectors=4, taken=4)
    wide = span.wider(3)
    old, beyond = (span.normal(stream(1, name), first, count) for name, first, count in (("o", 0, 4), ("b", 4, 4000)))
    one, other = span.widened(old, wide, stream(1, "w")), span.widened(beyond, wide, stream(1, "w"))
    assert wide.features == 8
    assert other.shape == (4000, 8)
    np.testing.assert_array_equal(one @ one.T, old @ old.T)
    np.testing.assert_allclose(other @ one.T, beyond @ old.T, rtol=1e-14)
    # a rotation of the rest: rounding of a sum of 4 squares, and of the root that they are divided by
    np.testing.assert_allclose((other**2).sum(axis=1), (beyond**2).sum(axis=1), rtol=1e-14)
    for column in (4, 5, 6):
        assert kstest(other[:, column], "norm").pvalue > LEAST
    assert kstest(other[:, 7] ** 2, "chi2", args=(2,)).pvalue > LEAST


def test_another_training_set_lies_beside_the_first_and_not_along_it():
    """Of noise of length 1.5 two samples have products of some 2.25/sqrt(d) beyond those of their centres."""
    scenario = mixture(dimension=10**8, data={"test": None, "noise": {"total": 1.5}}, model={"bias": True})
    problem = build(scenario)
    other, wider = beside(scenario, problem, 8, "b")
    np.testing.assert_array_equal(other.centers @ other.centers.T, problem.centers @ problem.centers.T)
    np.testing.assert_array_equal(other.hidden_bias, problem.hidden_bias)
    np.testing.assert_allclose(other.hidden @ other.hidden.T, problem.hidden @ problem.hidden.T, rtol=1e-15)
    noise = [
        wider(problem.inputs - problem.centers[problem.sample_cluster]),
        other.inputs - other.centers[other.sample_cluster],
        wider(
            fresh(scenario, problem.samples, 8).inputs
            - problem.centers[fresh(scenario, problem.samples, 8).sample_cluster]
        ),
    ]
    every = np.concatenate(noise)
    # 24 * 23 / 2 products of standard deviation 2.25e-4: six of these
    np.testing.assert_allclose(every[:16] @ every.T, 2.25 * np.eye(16, 24), atol=6 * 2.25e-4 + 6 * 2.25 * 2e-4)


def test_with_all_features_another_training_set_is_a_fresh_one():
    scenario = mixture("features", dimension=20)
    problem = build(scenario)
    other, wider = beside(scenario, problem, 8, "b")
    np.testing.assert_array_equal(other.inputs, fresh(scenario, problem.samples, 8, "b").inputs)
    assert wider(problem.inputs) is problem.inputs


@pytest.mark.parametrize("dimension", [4, 30, 10**9])
def test_centres_have_exactly_their_radius_and_products(dimension):
    rows = {}
    for centers, cosine in (("orthonormal", None), ("equicorrelated", 0.25), ("random_sphere", None)):
        data = {"centers": centers, "cosine": cosine, "radius": "sqrt_dimension", "positive": 2, "negative": 2}
        data = {key: value for key, value in data.items() if value is not None}
        rows[centers] = build(mixture(dimension=dimension, data=data)).centers / dimension**0.5
    np.testing.assert_allclose(rows["orthonormal"] @ rows["orthonormal"].T, np.eye(4), atol=1e-15)
    gram = 0.75 * np.eye(4) + 0.25
    # Cholesky's error: some eps for each of 4 columns
    np.testing.assert_allclose(rows["equicorrelated"] @ rows["equicorrelated"].T, gram, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(rows["random_sphere"], axis=1), 1, rtol=1e-15)


def test_the_same_seed_gives_the_same_numbers_and_another_others():
    one, again, other = (build(mixture(dimension=10**9, seed=seed)) for seed in (3, 3, 4))
    for name in ("inputs", "hidden", "output"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    np.testing.assert_array_equal(one.test.inputs, again.test.inputs)
    assert (one.inputs[0, :3] != other.inputs[0, :3]).all()


def test_one_seed_of_the_data_has_the_same_centres_for_all_seeds_of_a_scenario():
    one, other = (build(mixture(seed=seed, data={"seed": 7})) for seed in (0, 1))
    np.testing.assert_array_equal(one.centers, other.centers)
    assert (one.inputs != other.inputs)[:, :2].all()


@pytest.mark.parametrize("shape", ["gaussian", "sphere", "he", "nudged"])
def test_starts_that_look_alike_in_any_basis_have_their_law(shape):
    """At d = 10^6 norms vary by a thousandth of themselves: 6 standard deviations are 5e-3."""
    problem = build(mixture(dimension=10**6, init={"shape": shape, "scale": 1.0}, model={"width": 40}))
    size = {"gaussian": 1e3, "sphere": 1.0, "he": 2**0.5, "nudged": 0.95e3}[shape]
    # a nudge adds 0.05 of the norm, orthogonal to the rest but for a thousandth
    expected = np.hypot(size, 50.0) if shape == "nudged" else size
    np.testing.assert_allclose(np.linalg.norm(problem.hidden, axis=1), expected, rtol=5e-3)
    cosine = problem.hidden_direction @ problem.hidden_direction.T
    same_centre = 0.05**2 if shape == "nudged" else 0.0
    assert np.abs(cosine - np.eye(40)).max() < 6e-3 + same_centre / 0.9
    towards = problem.hidden_direction @ problem.centers.T
    if shape == "nudged":
        np.testing.assert_allclose(towards.max(axis=1), 50 / expected, atol=6e-3)
    else:
        assert np.abs(towards).max() < 6e-3


def test_what_a_run_costs_does_not_know_the_dimension():
    facts = {}
    for dimension in (10**4, 10**9):
        problem = build(mixture(dimension=dimension))
        assert problem.dimension == dimension
        arrays = (problem.inputs, problem.hidden, problem.centers, problem.test.inputs)
        facts[dimension] = [array.shape for array in arrays]
    # 2 centres, 8 samples, 3 neurons and the rest of a test sample
    assert facts[10**9] == facts[10**4] == [(8, 14), (3, 14), (2, 14), (3, 14)]


def test_a_space_smaller_than_the_vectors_has_a_basis_of_its_own_size():
    assert build(mixture(dimension=6)).inputs.shape == (8, 6)


def test_a_run_writes_what_its_features_are_and_is_opened_again(tmp_path):
    scenario = mixture(dimension=10**8, loss={"kind": "logistic"}, flow={"until": {"time": 3.0}}, observe={"times": 3})
    tree = flowsim.run(scenario, tmp_path / "run.nc", progress=False)
    assert "not one of the 100000000 features" in tree["direction"].attrs["feature"]
    assert tree.sizes["feature"] == 14
    with flowsim.reopen(tmp_path / "run.nc") as case:
        assert case.problem.dimension == 10**8
        np.testing.assert_array_equal(case.problem.inputs, build(scenario).inputs)
    with pytest.raises(UsageError, match="span"):
        transfer(tree, tree, [0.1])


REFUSED = {
    "init.shape": {"init.shape": "ones"},
    "model.kind": {"model": {"kind": "mlp", "widths": [4, 4], "activation": "relu"}},
    "flow.method": {"flow": {"method": "adam", "step": 0.1, "iterations": 5}},
    "flow.fresh": {"flow": {"method": "sgd", "step": 0.1, "iterations": 5, "batch": 2, "fresh": True}},
    "evaluate.robustness.norm": {"evaluate.robustness": {"radii": [0.1], "norm": "linf"}},
    "observe.probes": {"observe.probes": [[1.0, 2.0]]},
    "observe.grid": {"observe.grid": [{"from": 0.0, "to": 1.0, "count": 2}]},
    "data.test.path": {"data.test": {"path": "test.npz"}},
    "data.coordinates": {"data.centers": "centers.npz"},
    "stage[0].attack.norm": {
        "stage": [{"name": "a", "until": {"time": 1.0}, "attack": {"kind": "fgm", "norm": "linf", "radius": 0.1}}]
    },
}


@pytest.mark.parametrize("key", REFUSED)
def test_what_needs_features_is_refused_at_its_key(key):
    with pytest.raises(ScenarioError) as error:
        mixture().replace(REFUSED[key])
    assert key in [issue.key for issue in error.value.issues]


def test_too_many_features_for_the_memory_are_answered_with_the_span():
    with pytest.raises(ScenarioError, match=r'data\.coordinates = "span" takes'):
        build(mixture("features", dimension=10**12))


# 200 runs of each sort; a few take seconds
@pytest.mark.papers
def test_trajectories_and_test_errors_have_the_law_of_all_features():
    found = {}
    for coordinates in ("features", "span"):
        scenario = mixture(
            coordinates,
            seed=[*SEEDS],
            data={"samples": 16, "noise": {"total": 6.0}, "test": {"samples": 200}},
            loss={"kind": "logistic"},
            flow={"until": {"time": 60.0}},
            observe={"times": 4},
        )
        tree = flowsim.run(scenario, progress=False)
        last = tree.to_dataset().isel(time=-1)
        middle = tree.to_dataset().isel(time=1)
        found[coordinates] = {
            "loss half-way": middle["loss"],
            "loss": last["log10_loss"],
            "test error": 1 - last["test_accuracy"],
            "test loss": last["test_loss"],
            "largest norm": last["log_norm"].max("neuron"),
            "margin": last["margin"].min("sample"),
            "cosine": last["cosine"].isel(neuron=0, cluster=0),
        }
    error = found["features"]["test error"].values
    # there is something to compare
    assert 0.02 < error.mean() < 0.4
    assert error.std() > 0.01
    for name, plain in found["features"].items():
        assert ks_2samp(plain.values, found["span"][name].values).pvalue > LEAST, name
