"""Who moves samples in descent: as far as the radius, in any direction that is asked for, however small gradients are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.kinds.trees import in_float64
from flowsim.solve.optax.attacker import Attacker


@in_float64
def moved(attacker, inputs, ascent):
    return np.asarray(attacker.moved(inputs, ascent))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["l2", "linf"]), st.floats(-300, 300), st.integers(0, 1000), st.integers(1, 5))
def test_along_one_direction_a_sample_gets_as_far_as_it_may(norm, exponent, seed, steps):
    random = np.random.default_rng(seed)
    inputs, direction = random.standard_normal((2, 4, 3))
    direction[0] = 0.0
    attacker = Attacker(norm, 0.5, steps, 0.5 if steps == 1 else 2.5 * 0.5 / steps)
    move = moved(attacker, inputs, lambda at: direction * 10.0**exponent) - inputs
    size = np.linalg.norm(direction, axis=1, keepdims=True)
    unit = np.sign(direction) if norm == "linf" else direction / np.where(size > 0, size, 1.0)
    assert move == pytest.approx(0.5 * unit, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["l2", "linf"]), st.floats(0, 2), st.integers(0, 1000))
def test_no_sample_gets_further_than_the_radius(norm, radius, seed):
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((5, 4))
    attacker = Attacker(norm, radius, 7, 2.5 * radius / 7)
    move = moved(attacker, inputs, lambda at: random.standard_normal(at.shape)) - inputs
    size = np.linalg.norm(move, axis=1) if norm == "l2" else np.abs(move).max(axis=1)
    assert (size <= radius + 1e-12).all()
