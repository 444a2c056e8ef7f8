"""Pairs go over to Chebyshev steps where stability holds them back, and only there."""

from __future__ import annotations

from itertools import pairwise

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

import flowsim
from flowsim.kinds.trees import in_float64
from flowsim.run.prepare import Prepared
from flowsim.solve import make, plan
from flowsim.solve.constants import HELD_BACK
from flowsim.solve.diffrax.chebyshev import Chebyshev
from flowsim.solve.diffrax.switching import Switching, _square
from flowsim.solve.stability import reach

#: Of which most is past convergence.
LONG = {"flow__engine": "diffrax", "flow__rtol": 1e-5, "flow__until": {"time": 400.0}, "observe__times": 60}


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Every problem is one whose evaluations cost more than the compiling."""
    monkeypatch.setattr(plan, "SMALL", 0.0)


def test_methods_are_stable_as_far_as_the_books_say():
    classical = np.zeros((4, 4))
    classical[1, 0] = classical[2, 1] = 0.5
    classical[3, 2] = 1.0
    assert reach(classical, np.array([1, 2, 2, 1]) / 6) == pytest.approx(2.785, abs=0.02)
    assert reach(np.zeros((1, 1)), np.ones(1)) == pytest.approx(2.0, abs=0.02)
    # Hairer & Wanner IV.2
    dopri5 = diffrax.Dopri5().tableau
    assert reach(_square(dopri5), np.asarray(dopri5.b_sol)) == pytest.approx(3.3, abs=0.05)


def test_a_flow_past_convergence_takes_fewer_evaluations_than_its_pair_alone(small):
    alone, both = (flowsim.run(small(**LONG, flow__solver=solver)) for solver in ("tsit5", "auto"))
    tight = flowsim.run(small(**{**LONG, "flow__rtol": 1e-10}, flow__solver="dopri8"))
    assert both.attrs["solver"] == "tsit5+rkc2"
    counts = [int(tree["numerics/evaluations"][-1]) for tree in (alone, both)]
    assert counts[1] < 0.8 * counts[0], counts
    # kept instants lie within steps of both kinds
    for tree in (alone, both):
        np.testing.assert_allclose(tree["log_norm"], tight["log_norm"], atol=2e-4)
        np.testing.assert_allclose(tree["cosine"], tight["cosine"], atol=2e-4)


def test_a_run_that_is_resumed_within_chebyshev_steps_is_the_one_that_was_not(small):
    prepared = Prepared(small(**LONG))
    integrator = make(prepared.scenario, prepared.reduced, prepared.plan)
    # a carry that was handed over is used up
    carry, saved, late = integrator.begin(), [], []
    while integrator.report(carry).time < 400.0:
        saved.append(integrator.save(carry))
        late.append(bool(carry.solver_state.late))
        carry = integrator.advance(carry, 400.0, 5)
    assert any(late)
    for begin, end in pairwise(saved[late.index(True) - 1 :]):
        again = integrator.save(integrator.advance(integrator.restore(begin), 400.0, 5))
        assert again.keys() == end.keys()
        assert all(np.array_equal(again[name], end[name]) for name in end)


@pytest.mark.parametrize("fast", [1.0, 50.0])
@in_float64
def test_it_goes_over_where_the_step_is_longer_than_its_stability_allows_and_comes_back(fast):
    solver, term = Switching(diffrax.Tsit5(scan_kind="lax"), Chebyshev(polar=True)), diffrax.ODETerm(field)
    rates = jnp.array([0.1, fast])
    state, length = jnp.array([1.0, 1e-3]), jnp.asarray(0.07)
    memory = solver.init(term, 0.0, length, state, rates)
    late = []
    for _ in range(12):
        state, _, _, memory, _ = solver.step(term, 0.0, length, state, rates, memory, False)
        late.append(bool(memory.late))
    assert any(late) == (fast * 0.07 > HELD_BACK * solver.limit)
    if any(late):
        assert float(memory.memory.radius) == pytest.approx(fast, rel=0.06)
        # steps that the pair takes at ease
        for _ in range(4):
            state, _, _, memory, _ = solver.step(term, 0.0, length / 20, state, rates, memory, False)
        assert not bool(memory.late)


def field(time, state, rates):
    return -rates * state


def test_the_spectral_radius_is_seen_through_the_rounding_of_float32_products(small):
    radii = []
    for precision in ("float64", "mixed"):
        prepared = Prepared(
            small(**{**LONG, "flow__until": {"time": 100.0}}, flow__solver="rkc2", flow__precision=precision)
        )
        integrator = make(prepared.scenario, prepared.reduced, prepared.plan)
        carry = integrator.advance(integrator.begin(), 100.0, 100_000)
        radii.append(float(carry.solver_state.radius))
    assert radii[1] == pytest.approx(radii[0], rel=0.1)
