"""The normal law of the compiled code against SciPy's."""

from __future__ import annotations

import math

import numba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from flowsim.solve.numba.normal import DENSE, SURE, normal


@numba.njit
def law(x):
    return normal(x)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-SURE, SURE))
def test_share_and_density_are_exact_to_rounding(x):
    share, density = law(x)
    # some ten roundings of numbers up to 1, in either formula
    assert share == pytest.approx(norm.cdf(x), abs=2e-15)
    assert density == pytest.approx(norm.pdf(x), abs=2e-15)
    # in the tails, too, digits are kept
    assert share == pytest.approx(norm.cdf(x), rel=1e-9)
    assert density == pytest.approx(norm.pdf(x), rel=1e-9)


@settings(deadline=None)  # the first call compiles
@given(st.integers(-int(SURE * DENSE), int(SURE * DENSE) - 1))
def test_between_two_entries_nothing_jumps(entry):
    middle = (entry + 0.5) / DENSE
    left, right = law(math.nextafter(middle, -math.inf)), law(math.nextafter(middle, math.inf))
    assert left == pytest.approx(right, abs=2e-15)


@pytest.mark.parametrize(("x", "share"), [(-math.inf, 0.0), (-1e300, 0.0), (9.1, 1.0), (math.inf, 1.0)])
def test_far_out_everything_is_certain(x, share):
    assert law(x) == pytest.approx((share, 0.0), abs=1e-17)
