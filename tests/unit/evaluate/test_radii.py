"""Certified and exact radii: against closed forms, brute force, attacks, and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import flowsim
from flowsim.evaluate.robustness import (
    Classifier,
    Ordinary,
    TwoLayer,
    bayes,
    branching,
    certified_radius,
    exact_radius,
    nearest_cluster,
    power_classifier,
)
from flowsim.evaluate.robustness.attacks import Target, attacked
from flowsim.evaluate.robustness.certified import BallBound, lipschitz_radius, trust_region
from flowsim.evaluate.robustness.classifier import ByProbability, OwnClass
from flowsim.evaluate.robustness.exact import exactness
from flowsim.evaluate.robustness.leads import lead_radius
from flowsim.evaluate.robustness.projection import shortest_step

SEEDS = st.integers(0, 9999)
POWERS = [
    {"activation": "relu"},
    {"activation": "leaky_relu", "slope": 0.1},
    {"activation": "prelu", "degree": 1.5},
    {"activation": "prelu", "degree": 3},
    {"activation": "relu_power", "degree": 3},
]
ALL = [*POWERS, {"activation": "tanh"}]


def network(seed: int, model: dict, neurons: int = 5, dimension: int = 3) -> TwoLayer:
    generator = np.random.default_rng(seed)
    section = flowsim.loads("", overrides={f"model.{key}": value for key, value in model.items()}).model
    return TwoLayer.of(
        generator.uniform(0.2, 2) * generator.standard_normal((neurons, dimension)),
        (seed % 2) * 0.5 * generator.standard_normal(neurons),
        generator.standard_normal(neurons),
        section.formulas,
    )


def samples(classifier: Classifier, seed: int, count: int) -> np.ndarray:
    """Random points that the classifier has a class for"""
    x = np.random.default_rng(seed + 1).standard_normal((4 * count, classifier.dimension))
    return x[classifier.value(x) != 0][:count]


def brute_force(classifier: Classifier, x: np.ndarray, tries: int = 30) -> float:
    """The least distance to a zero that constrained minimisation from many points finds"""
    generator, start = np.random.default_rng(0), classifier.value(x[None])[0]
    zero = {
        "type": "eq",
        "fun": lambda move: classifier.value((x + move)[None])[0] / start,
        "jac": lambda move: classifier.value_and_gradient((x + move)[None])[1][0] / start,
    }
    best = np.inf
    for scale in np.exp(generator.uniform(-2, 1, tries)):
        begin = scale * generator.standard_normal(len(x))
        options = {"maxiter": 200, "ftol": 1e-13}
        found = minimize(lambda d: d @ d, begin, jac=lambda d: 2 * d, method="SLSQP", constraints=zero, options=options)
        if np.isfinite(found.x).all() and abs(zero["fun"](found.x)) < 1e-9:
            best = min(best, float(np.linalg.norm(found.x)))
    return best


@settings(max_examples=30)
@given(seed=SEEDS, model=st.sampled_from(ALL), share=st.floats(0.5, 1), neurons=st.integers(1, 12))
def test_nothing_within_the_certified_radius_has_another_sign(seed, model, share, neurons):
    f = network(seed, model, neurons)
    x = samples(f, seed, 10)
    radius = certified_radius(f, x)
    move = np.random.default_rng(seed).standard_normal((300, len(x), 3))
    move *= share * radius[:, None] / np.linalg.norm(move, axis=2, keepdims=True)
    moved = f.value((x + move).reshape(-1, 3)).reshape(300, -1)
    assert (moved * np.sign(f.value(x)) > 0)[:, radius > 0].all()


@settings(max_examples=30)
@given(seed=SEEDS, model=st.sampled_from(ALL), radius=st.floats(1e-3, 10))
def test_the_bound_over_a_ball_is_below_every_value_in_it(seed, model, radius):
    f = network(seed, model, neurons=8)
    x = samples(f, seed, 6)
    bound = BallBound(f)(x, np.full(len(x), radius))
    move = np.random.default_rng(seed).standard_normal((300, len(x), 3))
    move *= radius / np.maximum(np.linalg.norm(move, axis=2, keepdims=True), 1e-9)
    assert (f.value((x + move).reshape(-1, 3)).reshape(300, -1).min(axis=0) >= bound).all()


@settings(max_examples=20)
@given(seed=SEEDS, radius=st.floats(1e-3, 1e3), curved=st.booleans())
def test_the_trust_region_bound_is_the_minimum_over_the_ball(seed, radius, curved):
    generator = np.random.default_rng(seed)
    gradient, eigenvalues = generator.standard_normal((1, 4)), curved * generator.exponential(size=(1, 4))
    bound, move = trust_region(gradient, eigenvalues, np.array([radius]))

    def value(z):
        return (z * gradient).sum(axis=1) - (z**2 * eigenvalues).sum(axis=1) / 2

    assert np.linalg.norm(move) <= radius * (1 + 1e-9)
    assert bound <= value(move) + 1e-9 * abs(bound)
    directions = generator.standard_normal((4000, 4))
    directions *= radius / np.linalg.norm(directions, axis=1, keepdims=True)
    # no direction is below the minimum, but by the rounding of its sum: radius |gradient| and radius^2 eigenvalues
    terms = radius * np.linalg.norm(gradient) + radius**2 * eigenvalues.max()
    assert bound <= value(directions).min() + 1e-14 * terms
    # the same as SciPy finds from beside every axis
    best = min(
        minimize(lambda z: value(radius * z[None] / np.linalg.norm(z))[0] / abs(bound[0]), begin + 0.01).fun
        for begin in (*np.eye(4), *-np.eye(4))
    )
    assert best >= -1 - 1e-12
    assert best <= -1 + 1e-5


@pytest.mark.parametrize("model", ALL, ids=lambda model: "-".join(map(str, model.values())))
@given(seed=SEEDS, log_scale=st.sampled_from([0.0, 1.5, -2.0]))
@settings(max_examples=6)
def test_no_class_is_left_within_the_radius_that_its_lead_certifies(model, seed, log_scale):
    several = replace(network(seed, model, neurons=8), log_scale=log_scale)
    outputs = np.arange(8) // 2
    for classifier in (
        ByProbability(several, outputs, np.array([1, 1, 1, -1])),
        ByProbability(several, outputs, np.array([1, -1, 1, -1])),
        OwnClass(several, outputs, 4, own=1),
    ):
        x = samples(classifier, seed, 4)
        if isinstance(classifier, OwnClass):
            x = x[classifier.value(x) > 0]
        radius = lead_radius(classifier, x)
        step = np.random.default_rng(seed).standard_normal((300, 1, 3))
        moved = x + radius[:, None] * step / np.linalg.norm(step, axis=2, keepdims=True)
        values = classifier.value(moved.reshape(-1, 3)).reshape(len(step), len(x))
        assert (values * np.sign(classifier.value(x)) > 0)[:, radius > 0].all()


def test_the_lead_of_a_neuron_for_each_of_two_centres_is_certified_nearly_to_their_middle():
    relu = flowsim.loads('[model]\nactivation = "relu"').model.formulas
    two = TwoLayer.of(np.eye(2), np.zeros(2), np.ones(2), relu)
    radii = [
        lead_radius(ByProbability(two, np.arange(2), np.array([1, -1])), np.eye(2)),
        lead_radius(OwnClass(two, np.arange(2), 2, own=0), np.eye(2)[:1]),
    ]
    relative = np.concatenate(radii) / 0.5**0.5
    assert relative.min() > 0.95
    assert relative.max() <= 1


def test_the_certificate_is_far_better_than_the_global_lipschitz_bound():
    f = network(0, {"activation": "relu"}, neurons=60, dimension=20)
    x = samples(f, 0, 50)
    lipschitz = np.linalg.norm(f.hidden, ord=2) * np.linalg.norm(f.output)
    assert (certified_radius(f, x) >= np.abs(f(x)) / lipschitz).all()
    assert np.median(certified_radius(f, x) / (np.abs(f(x)) / lipschitz)) > 3


@settings(max_examples=20)
@given(seed=SEEDS, depth=st.integers(2, 4), bias=st.booleans())
def test_deep_networks_do_not_change_sign_within_their_lipschitz_radius(seed, depth, bias):
    generator = np.random.default_rng(seed)
    keys = {"kind": "mlp", "depth": depth, "width": 4, "bias": bias}
    problem = flowsim.build(
        flowsim.loads("[data]\ndimension = 3\npositive = 1\nnegative = 1", overrides={"model": keys})
    )
    arrays = tuple(generator.standard_normal(leaf.shape) for leaf in problem.network.leaves)
    f = Ordinary(problem.network, arrays, 3)
    x = samples(f, seed, 5)
    radius = lipschitz_radius(f, f.steepness, x)
    move = generator.standard_normal((500, len(x), 3))
    move *= radius[:, None] / np.linalg.norm(move, axis=2, keepdims=True)
    moved = f.value((x + move).reshape(-1, 3)).reshape(500, -1)
    assert (radius > 0).all()
    assert (moved * np.sign(f.value(x)) > 0).all()


def test_where_training_ends_most_of_the_radius_is_certified():
    """Neurons around 12 + 8 orthonormal centres, p = 3: no classifier has a radius above sqrt(2)/2 at a centre."""
    generator = np.random.default_rng(0)
    label, cluster = np.where(np.arange(20) < 12, 1.0, -1.0), np.arange(200) % 20
    hidden = np.eye(20, 60)[cluster] + 0.03 * generator.standard_normal((200, 60)) / 60**0.5
    ideal = power_classifier(np.eye(20, 60), label, 3)
    f = TwoLayer.of(hidden, np.zeros(200), label[cluster] / 10, ideal.activation)
    radius = certified_radius(f, np.eye(20, 60))
    assert (radius <= 0.5**0.5).all()
    assert (radius >= 0.85 * 0.5**0.5).all()


def named(model: dict) -> str:
    return model["activation"] + str(model.get("degree", ""))


def closed(lower: np.ndarray, upper: np.ndarray) -> bool:
    """Whether brackets are no wider than the tolerance 1e-4 that `exact_radius` is asked for"""
    return bool((upper - lower <= 1.001e-4 * upper).all())


@pytest.mark.parametrize("model", POWERS, ids=named)
def test_exact_radii_are_those_of_brute_force(model):
    for seed in range(4):
        f = network(seed, model, neurons=3 + seed)
        x = samples(f, seed, 1)
        lower, upper = exact_radius(f, x)
        known = brute_force(f, x[0])
        # its zeros are zeros to 1e-9 of the value at x, at slopes that are not small beside value/radius
        assert lower[0] <= known * (1 + 1e-6)
        assert upper[0] <= known * (1 + 1.1e-4)
        assert closed(lower, upper)


@pytest.mark.parametrize(
    "seeds",
    [(2, 59, 190), pytest.param((5, 19, 38, 143, 144, 161, 212, 245, 277, 369, 437), marks=pytest.mark.papers)],
    ids=["some", "more"],
)
@pytest.mark.parametrize("model", POWERS, ids=named)
def test_brackets_close_whatever_the_rounding(model, seeds):
    """Networks at which searches once ended early; a relative change by 1e-16 stands for another machine's rounding."""
    for seed in seeds:
        f = network(seed, model, neurons=3 + seed % 4)
        x = samples(f, seed, 1)
        for change in (0.0, 1e-16):
            noise = np.random.default_rng(seed).standard_normal(f.direction.shape)
            lower, upper = exact_radius(replace(f, direction=f.direction * (1 + change * noise)), x)
            # where the sign is the same as far as the search goes there is no upper end
            assert closed(lower, upper) or (np.isinf(upper[0]) and lower[0] >= branching.FAR * np.linalg.norm(x))


@pytest.mark.parametrize("model", POWERS, ids=named)
@given(seed=SEEDS, opening=st.floats(0.2, 0.8), share=st.floats(0.2, 0.8))
@settings(max_examples=12)
def test_a_sample_whose_nearest_point_is_an_edge_is_as_far_as_the_edge(model, seed, opening, share):
    """Two neurons, <= 0 in a narrow wedge: straight on from its edge the network is positive again."""
    generator = np.random.default_rng(seed)
    direction = np.array([[np.sin(opening / 2), sign * np.cos(opening / 2)] for sign in (1, -1)])
    edge, weight = generator.standard_normal(2), np.exp(generator.uniform(-1, 1, 2))
    f = TwoLayer.of(direction, -direction @ edge, np.ones(2), network(0, model).activation)
    f = replace(f, weight=f.weight * weight)
    # the normals of the wedge's sides, at each of which one neuron is active
    slope = f.activation.inactive_slope
    scaled = f.weight[:, None] * f.direction
    sides = scaled + slope * scaled[::-1]
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    normal = share * sides[0] + (1 - share) * sides[1]
    distance = generator.uniform(0.5, 2)
    lower, upper = exact_radius(f, (edge + distance * normal / np.linalg.norm(normal))[None])
    assert closed(lower, upper)
    # the edge is where it is but for rounding, and the least step that goes beyond it a little longer
    assert lower[0] <= distance * (1 + 1e-12)
    assert upper[0] == pytest.approx(distance, rel=1.1e-4)


@pytest.mark.parametrize(
    "model", [{"activation": "prelu", "degree": 3}, {"activation": "relu_power", "degree": 3}], ids=named
)
def test_a_step_that_rounding_has_spoilt_ends_no_search(model, monkeypatch):
    """Non-negative least squares of many rows that are nearly the same return it: far off, its bound proven but low."""
    generator = np.random.default_rng(0)

    def spoilt(rows, least):
        step, bound = shortest_step(rows, least)
        if not np.isfinite(bound) or len(rows) <= 10 or generator.random() < 0.7:
            return step, bound
        return step + np.linalg.norm(step) * generator.standard_normal(len(step)), bound / 2

    for seed in range(6):
        f = network(seed, model, neurons=3 + seed % 4)
        x = samples(f, seed, 1)
        lower, upper = exact_radius(f, x)
        with monkeypatch.context() as patch:
            patch.setattr(branching, "shortest_step", spoilt)
            found = exact_radius(f, x)
        assert found[0] == pytest.approx(lower, rel=1.1e-4)
        assert found[1] == pytest.approx(upper, rel=1.1e-4)


@settings(max_examples=12)
@given(seed=SEEDS, degree=st.sampled_from([2.5, 3.0, 5.0]), count=st.integers(2, 5), equal=st.booleans())
def test_exact_radii_of_orthonormal_neurons_are_those_of_a_search_through_boxes(seed, degree, count, equal):
    generator = np.random.default_rng(seed)
    label = np.array([1, -1, *generator.choice([1, -1], count - 2)])
    f = power_classifier(np.linalg.qr(generator.standard_normal((count, count)))[0], label, degree)
    if not equal:
        f = replace(f, weight=f.weight * np.exp(generator.standard_normal(count)))
    x = samples(f, seed, 1)
    # an offset that means nothing, but makes it a network of another kind
    other = replace(f, offset=np.full(count, 1e-13))
    assert (exactness(f), exactness(other)) == ("formula", "search")
    (one,), (other_upper,) = exact_radius(f, x)[0], exact_radius(other, x)[1]
    assert one <= other_upper * (1 + 1e-6)
    assert exact_radius(f, x)[1][0] == pytest.approx(one, rel=2e-4)
    assert exact_radius(other, x)[0][0] <= exact_radius(f, x)[1][0] * (1 + 1e-6)


@pytest.mark.parametrize("degree", [3.0, 4.0, 10.0])
def test_at_its_own_centre_f_p_has_the_largest_radius_there_is(degree):
    f = power_classifier(np.eye(6), np.array([1, 1, 1, -1, -1, -1]), degree)
    lower, upper = exact_radius(f, np.eye(6))
    np.testing.assert_allclose([lower, upper], 0.5**0.5, rtol=2e-4)


def test_linear_networks_in_closed_form():
    section = flowsim.loads('[model]\nactivation = "leaky_relu"\nslope = 1.0').model
    generator = np.random.default_rng(0)
    w, b, v = generator.standard_normal((4, 6)), generator.standard_normal(4), generator.standard_normal(4)
    f = TwoLayer.of(w, b, v, section.formulas)
    x = generator.standard_normal((50, 6))
    radius = np.abs(x @ (v @ w) + v @ b) / np.linalg.norm(v @ w)
    for found in (*exact_radius(f, x), certified_radius(f, x)):
        # the certificate comes from halvings
        np.testing.assert_allclose(found, radius, rtol=1e-3)


def water_level(own: np.ndarray, other: float) -> float:
    """Distance to where one coordinate is as large as all of the others: those above a level come down to it."""
    down = np.sort(own)[::-1]
    for count in range(1, len(down) + 1):
        level = (other + down[:count].sum()) / (1 + count)
        if count == len(down) or level >= down[count]:
            return float(np.sqrt((level - other) ** 2 + ((down[:count] - level) ** 2).sum()))
    raise AssertionError


@settings(max_examples=20)
@given(seed=SEEDS)
def test_orthonormal_nearest_clusters_in_closed_form(seed):
    generator = np.random.default_rng(seed)
    centers = np.linalg.qr(generator.standard_normal((9, 7)))[0].T
    label = np.array([1, 1, 1, 1, -1, -1, -1])
    rule = nearest_cluster(centers, label)
    x = generator.standard_normal((5, 9))
    products, sign = x @ centers.T, np.sign(rule.value(x))
    known = [water_level(row[label == s], row[label != s].max()) for row, s in zip(products, sign, strict=True)]
    for found in exact_radius(rule, x):
        np.testing.assert_allclose(found, known, rtol=1e-6)


@pytest.mark.parametrize("deviation", [0.0, 0.05, 0.3])
def test_rules_by_clusters_against_brute_force(deviation):
    for seed in range(5):
        generator = np.random.default_rng(seed)
        centers, label = generator.standard_normal((4, 3)), np.array([1, -1, 1, -1])
        rule = bayes(centers, label, deviation)
        x = samples(rule, seed, 1)
        lower, upper = exact_radius(rule, x)
        assert lower[0] <= brute_force(rule, x[0]) * (1 + 1e-6)
        # two centres of each class: the boundary is off by at most temperature log 2 in the difference of two scores
        closest = np.linalg.norm(centers[label > 0][:, None] - centers[label < 0], axis=2).min()
        if deviation <= 0.05:
            assert upper[0] - lower[0] <= 2 * deviation**2 * np.log(2) / closest * 2 + 1e-6


@settings(max_examples=12)
@given(seed=SEEDS, model=st.sampled_from(POWERS), neurons=st.integers(2, 6))
def test_certified_is_below_exact_and_exact_below_attacked(seed, model, neurons):
    f = network(seed, model, neurons)
    x = samples(f, seed, 2)
    if not len(x):
        return
    label = np.sign(f.value(x))
    lower, upper = exact_radius(f, x)
    assert (certified_radius(f, x) <= upper * (1 + 1e-9)).all()
    assert (lower <= upper).all()
    goals = samples(f, seed + 5, 10)
    target = Target.of(f, x, label, goals, np.sign(f.value(goals)))
    found = attacked(target, np.array([0.1, 1.0]), ["strong"])["strong"].size
    assert (lower <= found * (1 + 1e-9)).all()


@settings(max_examples=30)
@given(seed=SEEDS, rows=st.integers(1, 6), dimension=st.integers(1, 4))
def test_the_shortest_step_is_one_and_its_bound_its_length(seed, rows, dimension):
    generator = np.random.default_rng(seed)
    sides, least = generator.standard_normal((rows, dimension)), generator.standard_normal(rows)
    step, bound = shortest_step(sides, least)
    if np.isinf(bound):
        # nothing satisfies all: some weights contradict themselves (Farkas)
        found = minimize(lambda z: np.maximum(least - sides @ z, 0).max(), np.zeros(dimension), method="Nelder-Mead")
        assert found.fun > 0
        return
    # least squares leave a remainder of 1/(1 + |step|^2), in units of the furthest row, that rounding is relative to
    furthest = max((least / np.linalg.norm(sides, axis=1)).max(), 1e-12)
    rounding = 1e-14 * (1 + (np.linalg.norm(step) / furthest) ** 2)
    assert np.linalg.norm(step) == pytest.approx(bound, rel=1e-8 + 10 * rounding, abs=1e-12)
    room = (1e-12 + 10 * rounding) * np.linalg.norm(sides, axis=1) * (1 + np.linalg.norm(step))
    assert (sides @ step >= least - room).all()


def test_what_has_no_radius_says_so():
    f = network(0, {"activation": "tanh"}, neurons=30)
    assert exactness(f) == "none"
    with pytest.raises(flowsim.UsageError, match="no exact radius"):
        exact_radius(f, np.zeros((1, 3)))
    with pytest.raises(flowsim.UsageError, match="no certified radii"):
        certified_radius(nearest_cluster(np.eye(3), np.array([1, -1, 1])), np.zeros((1, 3)))


def test_a_run_has_its_radii_in_order(small):
    asked = {"radii": [0.0, 0.2, 0.5], "samples": 10, "steps": 30, "compare": ["bayes", "nearest", "ideal"]}
    group = flowsim.run(small(evaluate__robustness=asked))["robustness"].to_dataset()
    assert (group["certified_radius"] <= group["attacked_radius"] * (1 + 1e-9)).all()
    others = group.isel(classifier=slice(1, None))
    assert (others["exact_radius"] <= others["attacked_radius"] * (1 + 1e-4)).all()
    assert (group["certified_accuracy"] <= group["robust_accuracy"] + 1e-12).all()
    assert (others["exact_accuracy"] <= others["robust_accuracy"] + 1e-12).all()
