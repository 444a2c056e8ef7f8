"""The Chebyshev solver of the diffrax engine is a diffrax solver like any other, for problems that are stiff by far."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flowsim.solve.constants import INTERVAL
from flowsim.solve.diffrax.chebyshev import Chebyshev, _recur

#: Rates of a linear flow to 0, the last one far beyond what an explicit pair could take steps of.
RATES = np.array([1.0, 10.0, 1e5])
START = np.array([2.0, -1.0, 3.0])


def solved(controller, first: float, end: float = 1.0) -> tuple[np.ndarray, int]:
    """(state at the end, steps)"""
    with jax.enable_x64(True):
        term = diffrax.ODETerm(lambda t, y, args: -jnp.asarray(RATES) * y - 0.1 * y**3)
        found = diffrax.diffeqsolve(
            term, Chebyshev(), 0.0, end, first, jnp.asarray(START), stepsize_controller=controller, max_steps=20_000
        )
        return np.asarray(found.ys)[-1], int(found.stats["num_steps"])


def exact(end: float = 1.0) -> np.ndarray:
    """Bernoulli's equation: 1/y^2 obeys a linear one."""
    inverse = (START**-2 + 0.1 / RATES) * np.exp(2 * RATES * end) - 0.1 / RATES
    return np.sign(START) / np.sqrt(inverse)


def test_equal_steps_have_order_2_in_the_slow_modes():
    with np.errstate(over="ignore"):
        errors = [
            np.abs(solved(diffrax.ConstantStepSize(), 1 / steps)[0] - exact())[:2].max() for steps in (20, 40, 80)
        ]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 2) < 0.3).all(), orders


@pytest.mark.parametrize("rtol", [1e-3, 1e-5])
def test_adaptive_steps_keep_the_tolerance_without_minding_the_stiffness(rtol):
    state, steps = solved(diffrax.PIDController(rtol=rtol, atol=rtol), 1e-6)
    with np.errstate(over="ignore"):
        assert np.abs(state - exact()).max() < 30 * rtol
    # an explicit pair is stable for steps of about 3 / rate
    assert steps < RATES[-1] / 3 / 50


@pytest.mark.parametrize("stages", [2, 5, 50, 500])
def test_the_stability_interval_grows_like_the_square_of_the_stages(stages):
    with jax.enable_x64(True):
        z = INTERVAL * (stages**2 - 1) * np.linspace(0.01, 1.0, 300)
        grown = _recur(lambda y: -jnp.asarray(z) * y, jnp.ones(300), -jnp.asarray(z), jnp.asarray(stages), 1.0)
    assert np.abs(grown).max() <= 1.0
