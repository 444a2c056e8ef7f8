"""Two-layer ReLU networks as functions, and their distance on a sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.evaluate.robustness import TwoLayer
from flowsim.papers import distance_up_to_scale, relu_network

AXES = np.eye(5)


def network(seed: int, neurons: int = 4, features: int = 5) -> TwoLayer:
    generator = np.random.default_rng(seed)
    return relu_network(
        generator.standard_normal((neurons, features)),
        0.1 * generator.standard_normal(neurons),
        generator.choice([1.0, -1.0], neurons),
    )


def units(*rows: int) -> TwoLayer:
    """The sum of ReLU<e_row, x>"""
    return relu_network(AXES[list(rows)], np.zeros(len(rows)), np.ones(len(rows)))


@given(first=st.integers(0, 99), second=st.integers(0, 99), factor=st.floats(0.1, 10))
def test_networks_are_added_and_scaled_as_functions(first, second, factor):
    x = np.random.default_rng(first).standard_normal((20, 5))
    f, g = network(first), network(second, 3)
    np.testing.assert_allclose((f * factor - g)(x), factor * f(x) - g(x), atol=1e-12)


@given(seed=st.integers(0, 999))
def test_the_gradient_is_the_slope(seed):
    f, x = network(seed), np.random.default_rng(seed + 1).standard_normal((8, 5))
    move = 1e-7 * np.random.default_rng(seed + 2).standard_normal((8, 5))
    away = np.abs(x @ f.hidden.T + f.bias).min(axis=1) > 1e-5
    change = (f(x + move) - f(x - move)) / 2
    np.testing.assert_allclose(change[away], (f.gradient(x) * move).sum(axis=1)[away], atol=1e-12)


@settings(max_examples=15)
@given(seed=st.integers(0, 999), factor=st.floats(0.01, 100), radius=st.floats(0.1, 100))
def test_a_multiple_of_the_ideal_is_at_no_distance_and_its_factor_is_found(seed, factor, radius):
    ideal = network(seed)
    distance, found, size = distance_up_to_scale(ideal * factor, ideal, radius)
    assert found == pytest.approx(factor, rel=1e-6)
    assert distance <= 1e-6 * size


@settings(max_examples=8)
@given(seed=st.integers(0, 999))
def test_no_point_of_the_sphere_is_above_the_suprema(seed):
    f, ideal = network(seed), network(seed + 1000)
    distance, factor, size = distance_up_to_scale(f, ideal, 2.0)
    x = np.random.default_rng(seed).standard_normal((20_000, 5))
    x *= 2.0 / np.linalg.norm(x, axis=1, keepdims=True)
    assert np.abs(f(x)).max() <= size * (1 + 1e-3)
    assert np.abs(factor * ideal(x) - f(x)).max() <= distance * (1 + 1e-3)


@pytest.mark.parametrize(
    ("of", "to", "distance", "size"),
    [
        (units(0, 1), units(0), 3.0, 3 * 2**0.5),  # at e_1 the ideal is 0 whatever C
        (units(0), units(1), 3.0, 3.0),  # C = 0 is as good as any
        # C (x_0 + x_1) - 2 x_0 - x_1 is C - 2 at e_0 and C - 1 at e_1, and between them in between
        (relu_network(AXES[:2], np.zeros(2), np.array([2.0, 1.0])), units(0, 1), 3 * 0.5, 3 * 5**0.5),
    ],
    ids=["a neuron more", "another neuron", "unequal neurons"],
)
def test_distances_known_in_closed_form(of, to, distance, size):
    found, _, largest = distance_up_to_scale(of, to, 3.0)
    assert found == pytest.approx(distance, rel=1e-4)
    assert largest == pytest.approx(size, rel=1e-4)
