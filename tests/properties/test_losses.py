"""Losses per sample: value, derivative and logarithm are of one function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formulas import LOSSES

SCALAR = {name: loss for name, loss in LOSSES.items() if not loss.classes}
every_loss = pytest.mark.parametrize("loss", SCALAR.values(), ids=list(SCALAR))
outputs = st.floats(-30, 30)
signs = st.sampled_from([1.0, -1.0])


def evaluate(function, output, target) -> float:
    return float(function(np.array(output), np.array(target), np))


@every_loss
@given(output=outputs, target=signs)
def test_the_derivative_is_the_slope_of_the_value(loss, output, target):
    step = 1e-5
    rise = evaluate(loss.value, output + step, target) - evaluate(loss.value, output - step, target)
    size = max(evaluate(loss.value, output, target), abs(evaluate(loss.derivative, output, target)))
    assert abs(rise / (2 * step) - evaluate(loss.derivative, output, target)) <= 1e-8 * (size + 1)


@every_loss
@given(output=outputs, target=signs)
def test_the_logarithm_is_that_of_the_value(loss, output, target):
    value = evaluate(loss.value, output, target)
    if value > 0:
        assert evaluate(loss.log_value, output, target) == pytest.approx(np.log(value), rel=1e-12, abs=1e-12)


@given(output=outputs, target=st.floats(-30, 30))
def test_the_square_loss_takes_any_target(output, target):
    loss = LOSSES["square"]
    assert evaluate(loss.value, output, target) == pytest.approx((output - target) ** 2 / 2)
    assert evaluate(loss.derivative, output, target) == output - target


@pytest.mark.parametrize("name", ["logistic", "exponential"])
@given(margin=st.floats(-1e4, 1e4), further=st.floats(1e-6, 1e3), target=signs)
def test_a_larger_margin_is_a_smaller_loss_however_large_it_is(name, margin, further, target):
    def log_value(value):
        return evaluate(LOSSES[name].log_value, target * value, target)

    assert np.isfinite(log_value(margin))
    assert log_value(margin + further) < log_value(margin)
    # from a margin of 40 on both losses are e^-margin to the last bit
    if margin > 40:
        assert log_value(margin) == pytest.approx(-margin, rel=1e-15)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
@given(margin=st.floats(-700, 700), target=signs)
def test_the_derivative_pulls_towards_the_label_and_depends_on_the_margin_only(name, margin, target):
    pull = evaluate(LOSSES[name].derivative, target * margin, target)
    assert pull * target <= 0
    assert pull == -target * abs(evaluate(LOSSES[name].derivative, margin, 1.0))


@pytest.mark.parametrize("name", ["logistic", "exponential"])
@given(margin=st.floats(-1e5, 1e5), target=signs)
def test_the_relative_derivative_is_the_derivative_over_the_value_and_tends_to_minus_the_label(name, margin, target):
    loss = LOSSES[name]
    found = evaluate(loss.relative_derivative, target * margin, target)
    if abs(margin) < 30:
        ratio = evaluate(loss.derivative, target * margin, target) / evaluate(loss.value, target * margin, target)
        assert found == pytest.approx(ratio, rel=1e-12)
    if margin > 40:
        assert found == pytest.approx(-target, rel=1e-15)


class TestCrossEntropy:
    """(k, n) outputs of n = 1 sample."""

    loss = LOSSES["cross_entropy"]
    some_outputs = st.lists(st.floats(-30, 30), min_size=2, max_size=5)

    def of(self, function, outputs, own):
        return function(np.array(outputs)[:, None], np.array([float(own)]), np)[..., 0]

    @given(outputs=some_outputs, own=st.integers(0, 1))
    def test_value_and_logarithm_are_minus_log_softmax(self, outputs, own):
        expected = np.logaddexp.reduce(outputs) - outputs[own]
        assert self.of(self.loss.value, outputs, own) == pytest.approx(expected, rel=1e-9, abs=1e-13)
        if expected > 1e-6:
            assert self.of(self.loss.log_value, outputs, own) == pytest.approx(np.log(expected), rel=1e-8, abs=1e-8)

    @given(outputs=some_outputs, own=st.integers(0, 1))
    def test_the_derivative_is_the_slope_in_every_output(self, outputs, own):
        found, step = self.of(self.loss.derivative, outputs, own), 1e-5
        for place in range(len(outputs)):
            up, down = (np.array(outputs) + sign * step * np.eye(len(outputs))[place] for sign in (1, -1))
            slope = (self.of(self.loss.value, up, own) - self.of(self.loss.value, down, own)) / (2 * step)
            assert found[place] == pytest.approx(slope, abs=1e-8)
        assert found.sum() == pytest.approx(0, abs=1e-15)

    @given(margin=st.floats(40, 1e5), own=st.integers(0, 1))
    def test_two_classes_far_apart_are_as_exact_as_the_logistic_loss(self, margin, own):
        outputs = np.where(np.arange(2) == own, margin, 0.0)
        assert self.of(self.loss.log_value, outputs, own) == pytest.approx(-margin, rel=1e-15)
        if margin < 700:
            assert self.of(self.loss.derivative, outputs, own)[own] == pytest.approx(-np.exp(-margin), rel=1e-12)

    @given(outputs=some_outputs, own=st.integers(0, 1), margin=st.floats(40, 1e5))
    def test_the_relative_derivative_is_the_derivative_over_the_value(self, outputs, own, margin):
        found = self.of(self.loss.relative_derivative, outputs, own)
        ratio = self.of(self.loss.derivative, outputs, own) / np.exp(self.of(self.loss.log_value, outputs, own))
        np.testing.assert_allclose(found, ratio, rtol=1e-8, atol=1e-12)
        far = self.of(self.loss.relative_derivative, np.where(np.arange(2) == own, margin, 0.0), own)
        np.testing.assert_allclose(far, np.where(np.arange(2) == own, -1.0, 1.0), rtol=1e-15)
