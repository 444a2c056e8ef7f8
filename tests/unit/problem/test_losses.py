"""Losses per sample at the ends of their range; the properties test has the middle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.formulas import LOSSES


def log_value(name: str, output: float, target: float) -> float:
    return float(LOSSES[name].log_value(np.array(output), np.array(target), np))


@pytest.mark.parametrize(
    ("name", "output", "target", "value"),
    [
        ("square", 3.0, 1.0, 2.0),
        ("square", 1.0, 1.0, 0.0),
        ("logistic", 0.0, 1.0, math.log(2)),
        ("logistic", -2.0, 1.0, math.log(1 + math.exp(2))),
        ("exponential", 2.0, -1.0, math.exp(2)),
    ],
)
def test_a_loss_is_its_formula(name, output, target, value):
    assert LOSSES[name].value(np.array(output), np.array(target), np) == pytest.approx(value, rel=1e-15)


def test_losses_know_their_own_names():
    assert {name: loss.name for name, loss in LOSSES.items()} == {name: name for name in LOSSES}


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_far_from_the_boundary_the_losses_are_their_asymptotes(target):
    # log(1 + e^-m) -> e^-m as m grows, -> -m as it falls
    assert log_value("logistic", 1e4 * target, target) == -1e4
    # two libraries' logarithms
    assert log_value("logistic", -1e4 * target, target) == pytest.approx(math.log(1e4), rel=1e-15)
    assert log_value("exponential", 1e4 * target, target) == -1e4
    assert log_value("exponential", -1e4 * target, target) == 1e4
    assert LOSSES["logistic"].value(np.array(-1e4 * target), np.array(target), np) == 1e4
    assert LOSSES["logistic"].derivative(np.array(-1e4 * target), np.array(target), np) == -target


def test_a_fit_that_is_exact_has_log_loss_minus_infinity():
    assert log_value("square", 1.0, 1.0) == -math.inf


def test_the_square_loss_of_a_tiny_residual_does_not_underflow():
    assert log_value("square", 1e-200, 0.0) == pytest.approx(2 * math.log(1e-200) - math.log(2), rel=1e-15)
    assert LOSSES["square"].value(np.array(1e-200), np.array(0.0), np) == 0
