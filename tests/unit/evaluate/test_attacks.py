"""Attacks where the smallest perturbation is known, by formula or by brute force, and what must hold of any attack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.formulas import activation

from flowsim.evaluate.robustness import TwoLayer, nearest_cluster
from flowsim.evaluate.robustness.attacks import ATTACKS, STRONG, Options, Target, attacked
from flowsim.kinds.streams import stream

KINDS: dict[str, dict[str, float]] = {
    "relu": {},
    "leaky_relu": {"slope": 0.1},
    "prelu": {"degree": 3.0},
    "relu_power": {"degree": 2.0},
    "tanh": {},
}
#: Of a value's terms, which BLAS sums in another order where other samples stand beside it.
ROUNDING = 1e-13
ALL = [*ATTACKS, STRONG]


def network(seed: int, kind: str, neurons: int, features: int) -> TwoLayer:
    random = np.random.default_rng(seed)
    hidden, bias = random.standard_normal((neurons, features)), 0.3 * random.standard_normal(neurons)
    return TwoLayer.of(hidden, bias, random.standard_normal(neurons), activation(kind, **KINDS[kind]))


def target(classifier, seed: int, samples: int, features: int, norm: str = "l2") -> Target:
    """Random samples with the labels that the classifier gives them, and goals on both sides."""
    random = np.random.default_rng(seed + 1)
    x, goals = 2 * random.standard_normal((samples, features)), 3 * random.standard_normal((40, features))
    label, side = np.sign(classifier.value(x)), np.sign(classifier.value(goals))
    known = side != 0
    return Target.of(
        classifier, x, np.where(label == 0, 1, label), goals[known], side[known], random.standard_normal(features), norm
    )


def rounding(aim: Target, move: np.ndarray) -> np.ndarray:
    """(n,): what rounding may change in the margin of a network after a move"""
    network, at = aim.classifier, aim.x + move
    assert isinstance(network, TwoLayer)
    size = np.linalg.norm(at, axis=1)[:, None] * np.linalg.norm(network.direction, axis=1) + np.abs(network.offset)
    response, slope = network.activation.response(size, network.log_norm, np)
    return ROUNDING * (response + slope * size) @ np.abs(network.weight)


def options(seed: int = 0, steps: int = 20) -> Options:
    return Options(steps=steps, random=stream(seed, "attacks"))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([*KINDS]),
    norm=st.sampled_from(["l2", "linf"]),
    neurons=st.integers(1, 8),
    features=st.integers(1, 12),
)
def test_what_holds_of_every_attack(seed, kind, norm, neurons, features):
    radii = np.array([0.0, 0.1, 0.5, 1.5, 4.0])
    aim = target(network(seed, kind, neurons, features), seed, 12, features, norm)
    found = attacked(aim, radii, ALL, options(seed))
    clean = aim.margin(np.zeros(aim.x.shape)) > 0
    for name, one in found.items():
        hit = np.isfinite(one.size)
        size = aim.norm.size(one.closest)
        # a success is real, and of the size it says
        assert (aim[hit].margin(one.closest[hit]) <= rounding(aim[hit], one.closest[hit])).all(), name
        np.testing.assert_allclose(size[hit], one.size[hit], atol=1e-12)
        # what it loses at a radius is within that radius, and is lost at all larger ones
        lost = ~one.withstands
        assert (lost <= (one.size <= radii[:, None] * (1 + 1e-12))).all(), name
        assert (np.diff(one.withstands.sum(axis=1)) <= 0).all(), name
        # nothing moves at radius 0
        np.testing.assert_array_equal(one.withstands[0], clean, name)
        assert (found[STRONG].withstands <= one.withstands).all(), name
        assert (found[STRONG].size <= one.size).all(), name


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), features=st.integers(1, 10), norm=st.sampled_from(["l2", "linf"]))
def test_on_linear_classifiers_the_attacked_radius_is_the_exact_one(seed, features, norm):
    """A leaky ReLU of slope 1 is linear; the distance to a plane in a norm is |f| over the dual norm of the gradient."""
    random = np.random.default_rng(seed)
    hidden, output = random.standard_normal((4, features)), random.standard_normal(4)
    linear = TwoLayer.of(hidden, random.standard_normal(4), output, activation("leaky_relu", slope=1.0))
    slope = output @ hidden
    x = random.standard_normal((6, features))
    # nearer to the boundary than this, the radius has not the digits that are compared
    x = x[np.abs(linear.value(x)) > 1e-5 * (np.abs(output) @ np.linalg.norm(hidden, axis=1))]
    label = np.sign(linear.value(x))
    across = x - 3 * (linear.value(x) / (slope @ slope))[:, None] * slope
    goals = np.concatenate([x, across])
    aim = Target.of(linear, x, label, goals, np.sign(linear.value(goals)), None, norm)
    exact = np.abs(linear.value(x)) / (np.linalg.norm(slope) if norm == "l2" else np.abs(slope).sum())
    radii = np.sort(np.concatenate([exact * (1 - 1e-9), exact * (1 + 1e-6)]))
    found = attacked(aim, radii, ["fgm", "pgd", STRONG], options(steps=40))
    np.testing.assert_allclose(found[STRONG].size, exact, rtol=1e-5)
    assert (found[STRONG].size >= exact * (1 - 1e-9)).all()
    for name in ("fgm", STRONG):
        np.testing.assert_array_equal(found[name].withstands, exact > radii[:, None])


def brute_force(classifier: TwoLayer, x, label, furthest: float):
    """(n,): the first of 1500 circles around each sample on which one of 1000 points is on the other side"""
    angle = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    smallest = np.full(len(x), np.inf)
    for index in range(len(x)):
        for radii in np.array_split(np.linspace(0, furthest, 1501)[1:], 30):
            points = (x[index] + radii[:, None, None] * circle).reshape(-1, 2)
            lost = (label[index] * classifier.value(points).reshape(len(radii), -1) <= 0).any(axis=1)
            if lost.any():
                smallest[index] = radii[lost.argmax()]
                break
    return smallest


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.papers) for seed in range(8, 20))])
def test_on_small_random_networks_the_attack_is_within_2_percent_of_the_smallest_perturbation(seed):
    kind = ["relu", "prelu", "tanh", "leaky_relu"][seed % 4]
    classifier = network(seed, kind, 6, 2)
    aim = target(classifier, seed, 5, 2)
    exact = brute_force(aim.classifier, aim.x, aim.label, 6.0)
    found = attacked(aim, np.linspace(0, 6, 7), [STRONG], options(seed, steps=60))[STRONG]
    there = np.isfinite(exact)
    assert (found.size[there] <= 1.02 * exact[there]).all()
    hit = np.isfinite(found.size)
    assert (aim.margin(found.closest) <= rounding(aim, found.closest))[hit].all()


def mixture(samples: int, dimension: int = 400, noise: float = 0.1):
    """(centres, their labels, samples, labels) of K = 12 + 8 orthonormal clusters"""
    random = np.random.default_rng(0)
    centers = np.linalg.qr(random.standard_normal((dimension, 20)))[0].T
    label = np.repeat([1.0, -1.0], [12, 8])
    cluster = random.integers(20, size=samples)
    x = centers[cluster] + noise / np.sqrt(dimension) * random.standard_normal((samples, dimension))
    return centers, label, x, label[cluster]


def test_plain_descent_is_far_too_weak_on_prelu_and_the_strong_attack_agrees_with_proposition_1():
    centers, label, x, y = mixture(80)
    ideal = TwoLayer.of(centers, np.zeros(20), label, activation("prelu", degree=3.0))
    aim = Target.of(ideal, x, y, centers, label, label @ centers)
    # the clusters of the smaller class have a share of 8/20, which the theorem says are lost at sqrt(2)/2
    from_clean = Options(restarts=0)
    found = attacked(aim, np.array([0.65, 0.72]), ["pgd", "targeted", STRONG], from_clean)
    np.testing.assert_array_equal(found["pgd"].withstands.mean(axis=1), [1.0, 1.0])
    np.testing.assert_array_equal(found["targeted"].withstands.mean(axis=1), [1.0, 0.0])
    np.testing.assert_array_equal(found[STRONG].withstands.mean(axis=1), [1.0, 0.0])


def test_the_nearest_cluster_is_lost_at_half_the_way_to_the_nearest_of_the_other_class():
    centers, label, x, y = mixture(40)
    aim = Target.of(nearest_cluster(centers, label.astype(int)), x, y, centers, label)
    square = ((x[:, None, :] - centers) ** 2).sum(axis=2)
    own, other = (np.where(label == sign * y[:, None], square, np.inf) for sign in (1, -1))
    gap = np.linalg.norm(centers[own.argmin(axis=1)] - centers[other.argmin(axis=1)], axis=1)
    exact = (other.min(axis=1) - own.min(axis=1)) / (2 * gap)
    found = attacked(aim, np.array([0.5]), [STRONG], options())[STRONG]
    # nearest among its own class is a cluster, so that the half-space between two of them holds the smallest perturbation
    np.testing.assert_allclose(found.size, exact, rtol=1e-4)


def test_a_single_perturbation_for_all_is_no_stronger_than_one_for_each_and_the_better_of_two_is_taken():
    """On f = <u, x> the difference of the classes' centres is off by 60 degrees, and the optimised perturbation is not."""
    axes = np.eye(2)
    linear = TwoLayer.of(axes[:1], np.zeros(1), np.ones(1), activation("leaky_relu", slope=1.0))
    x = np.array([[1.0, 0.0], [-1.0, 3.0]])
    aim = Target(linear, x, np.array([1.0, -1.0]), x, np.array([1.0, -1.0]), np.array([0.5, 0.75**0.5]), aim_norm())
    found = attacked(aim, np.array([0.9, 1.01, 2.1]), ["universal"], options())["universal"]
    np.testing.assert_array_equal(found.withstands.all(axis=1), [True, False, False])
    np.testing.assert_array_equal(found.withstands.any(axis=1), [True, False, False])


def aim_norm():
    from flowsim.evaluate.robustness.norms import NORMS

    return NORMS["l2"]
