"""The log of the integral of e^H, by which the loss clock goes, for every cubic H; in both engines."""

from __future__ import annotations

import jax
import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowsim.solve.diffrax import clock as in_jax
from flowsim.solve.numba import clock as in_numba

compiled = in_numba._log_integral


@numba.njit
def by_numba(part, begin, end, first, last):
    return compiled(part, begin, end, first, last)


def by_jax(*arguments):
    with jax.enable_x64(True):
        return float(jitted(*map(float, arguments)))


jitted = jax.jit(in_jax._log_integral)


def by_quadrature(part, begin, end, first, last, points=100_001):
    """The midpoint rule on so many points, in logarithms"""
    x = part * (np.arange(points) + 0.5) / points
    rise = end - begin
    height = begin + x * (first + x * (3 * rise - 2 * first - last + x * (first + last - 2 * rise)))
    return np.log(part / points) + np.logaddexp.reduce(height)


levels, slopes = st.floats(-3000, 3000), st.floats(-4000, 4000)


@pytest.mark.parametrize("integral", [by_numba, by_jax])
@given(part=st.floats(0.01, 1.0), begin=levels, rise=levels, first=slopes, last=slopes)
@example(part=0.8, begin=2124.0, rise=-474.0, first=4300.0, last=4080.0)  # above both ends by more than floats bear
@example(part=1.0, begin=0.0, rise=0.0, first=0.0, last=0.0)
@example(part=1.0, begin=0.0, rise=-2000.0, first=0.0, last=-4000.0)
def test_it_is_that_of_quadrature(integral, part, begin, rise, first, last):
    arguments = part, begin, begin + rise, first, last
    # a midpoint rule of N points errs by (h H')^2 / 24 of a peak of curvature, here below 1e-3
    assert abs(integral(*arguments) - by_quadrature(*arguments)) < 1e-3
