"""What is the diffrax engine's own: JAX left as it was, products in float32, compilation once."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import flowsim
from flowsim.problem import build, reduce
from flowsim.solve import choose
from flowsim.solve.diffrax.integrator import DiffraxIntegrator
from flowsim.solve.diffrax.stepper import Stepper

KINDS = {
    "polar": {},
    "kvaerno5": {"flow__solver": "kvaerno5"},
    "rkc2": {"flow__solver": "rkc2"},
    "mlp": {"model": {"kind": "mlp", "widths": [6, 5], "activation": "tanh"}, "init__scale": 0.3},
    "loss clock": {"loss__kind": "exponential", "flow__clock": "loss"},
    "going over": {"loss__kind": "exponential", "flow__until": {"loss": 1e-30}},
}


@pytest.fixture(scope="module")
def small(small: Callable[..., flowsim.Scenario]) -> Callable[..., flowsim.Scenario]:
    return lambda **overrides: small(**overrides, flow__engine="diffrax")


def test_a_run_leaves_jax_as_it_was(small):
    assert not jax.config.jax_enable_x64
    run = flowsim.run(small()).dataset
    assert run["cosine"].dtype == np.float64
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == jnp.float32


def test_a_run_is_float64_whatever_the_user_s_default(small):
    once = flowsim.run(small()).dataset
    with jax.enable_x64(True):
        again = flowsim.run(small()).dataset
    np.testing.assert_array_equal(once["log_norm"], again["log_norm"])


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@pytest.mark.parametrize("scale", [1e-2, 1e-100])
def test_mixed_precision_keeps_a_tolerance_that_float32_products_can_give(small, coordinates, scale):
    end = 30.0 if scale == 1e-2 else 2000.0
    options = {"init__scale": scale, "flow__coordinates": coordinates, "flow__until": {"time": end}}
    exact = flowsim.run(small(flow__rtol=1e-10, **options)).dataset
    mixed = flowsim.run(small(flow__rtol=1e-5, flow__precision="mixed", flow__solver="dopri8", **options)).dataset
    assert mixed["cosine"].dtype == np.float64
    np.testing.assert_allclose(mixed["direction"], exact["direction"], atol=1e-5)
    # a relative error of rtol in each of some 400 steps
    np.testing.assert_allclose(mixed["log_norm"], exact["log_norm"], atol=4e-3)
    # it is another computation: the products' rounding shows
    assert np.abs(mixed["log_norm"] - exact["log_norm"]).max() > 1e-9


def test_mixed_precision_says_when_more_is_asked_than_it_can_give(small):
    with pytest.warns(UserWarning, match="precision mixed cannot keep rtol = 1e-08"):
        flowsim.run(small(flow__precision="mixed", flow__rtol=1e-8, flow__until={"time": 0.1}))


def test_chunks_compile_once(small):
    scenario = small(observe__times=60)
    reduced = reduce(build(scenario))
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    flowsim.run(scenario)
    advance, interpolate = (type(integrator._stepper).__dict__[name] for name in ("advance", "interpolate"))
    before = advance._cache_size(), interpolate._cache_size()
    flowsim.run(small(observe__times=30, seed=1, flow__until={"time": 20.0}))
    assert (advance._cache_size(), interpolate._cache_size()) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_carry_goes_on_in_the_program_that_it_came_from(small, kind):
    # a tolerance of no other test: their programs stay compiled
    scenario = small(**KINDS[kind], flow__rtol=3.21e-5)
    reduced = reduce(build(scenario))
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    carry, saved, timed = integrator.begin(), [], []
    for _ in range(3):
        saved.append(integrator.save(carry))
        timed.append(carry.times is not None)
        carry = integrator.advance(carry, np.inf, attempts=1000)  # which takes its memory
    went_over = not timed[0] and timed[-1]
    assert went_over == (kind == "going over")
    compiled = Stepper.advance._cache_size(), Stepper.go_over._cache_size()
    for state in saved:
        integrator.advance(integrator.restore(state), np.inf, attempts=2)
    assert (Stepper.advance._cache_size(), Stepper.go_over._cache_size()) == compiled
