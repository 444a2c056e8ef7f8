"""Activations at their kinks, and what they say of themselves; the properties test has the formulas."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.kinds.kernel import LINEAR_BELOW


def activation(**model: object):
    section = flowsim.loads("", overrides={"model": model}).model
    return section.formulas


def response(s: float, log_norm: float = 0.0, **model: object) -> tuple[float, float]:
    value, slope = activation(**model).response(np.array(s), np.array(log_norm), np)
    return float(value), float(slope)


@pytest.mark.parametrize(
    ("model", "homogeneity", "degree", "smooth"),
    [
        ({"activation": "relu"}, 1, 1, False),
        ({"activation": "leaky_relu", "slope": 0.1}, 1, 1, False),
        ({"activation": "leaky_relu", "slope": 1.0}, 1, 1, True),
        ({"activation": "prelu", "degree": 1}, 1, 1, False),
        ({"activation": "prelu", "degree": 1.5}, 1, 1.5, True),
        ({"activation": "relu_power", "degree": 2.5}, 2.5, 2.5, True),
        ({"activation": "tanh"}, 1, None, True),
    ],
)
def test_an_activation_knows_its_homogeneity_its_degree_and_its_kinks(model, homogeneity, degree, smooth):
    found = activation(**model)
    assert (found.homogeneity, found.degree, found.smooth) == (homogeneity, degree, smooth)


def test_prelu_of_degree_1_is_relu():
    s = np.linspace(-1, 1, 11)
    for one, other in zip(
        activation(activation="prelu", degree=1).response(s, np.zeros(11), np),
        activation(activation="relu").response(s, np.zeros(11), np),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["relu", "prelu", "relu_power"])
@pytest.mark.parametrize("s", [0.0, -0.0, -0.5])
def test_an_inactive_neuron_does_not_respond_at_all(name, s):
    assert response(s, activation=name) == (0.0, 0.0)


def test_the_kink_of_leaky_relu_is_taken_from_the_inactive_side():
    assert response(0.0, activation="leaky_relu", slope=0.1) == (0.0, 0.1)
    assert response(-2.0, activation="leaky_relu", slope=0.1) == (-0.2, 0.1)
    assert activation(activation="leaky_relu", slope=0.1).inactive_slope == 0.1


def test_a_tiny_tanh_neuron_is_linear_to_the_last_bit():
    # k = tanh(|w| s) / |w| -> s
    assert response(0.7, log_norm=-690.0, activation="tanh") == (0.7, 1.0)


def test_a_huge_tanh_neuron_is_saturated():
    value, slope = response(0.7, log_norm=10.0, activation="tanh")
    assert value == pytest.approx(np.exp(-10.0), rel=1e-15)
    assert slope == 0.0


@pytest.mark.parametrize("s", [1e-3, 0.7, 30.0])
def test_tanh_has_no_jump_where_its_linear_part_begins(s):
    below, above = (response(s, log_norm=LINEAR_BELOW + shift, activation="tanh") for shift in (-1e-9, 1e-9))
    assert below == pytest.approx(above, rel=1e-14)


def test_activations_that_differ_in_a_parameter_are_not_equal():
    # equal ones share compiled code
    kinds = [
        {"activation": "relu"},
        {"activation": "leaky_relu", "slope": 0.1},
        {"activation": "leaky_relu", "slope": 0.2},
        {"activation": "prelu", "degree": 2},
        {"activation": "prelu", "degree": 3},
        {"activation": "relu_power", "degree": 3},
        {"activation": "tanh"},
    ]
    assert len({activation(**kind) for kind in kinds}) == len(kinds)
    assert activation(activation="prelu", degree=2) == activation(activation="prelu", degree=2)
