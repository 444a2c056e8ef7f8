"""Each solver has its order, keeps its tolerance, and agrees with an independent one."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from support.reading import angles, weight_error, weights
from support.reference import prelu_square_flow

import flowsim
from flowsim.problem import build, reduce
from flowsim.solve import Integrator, Snapshot, choose, make
from flowsim.solve.numba import layout
from flowsim.solve.plan import SOLVERS
from flowsim.threads import one_blas_thread

ORDERS = {"tsit5": 5, "dopri5": 5, "dopri8": 8, "dop853": 8, "rkc2": 2, "kvaerno5": 5}
EVERY_SOLVER = pytest.mark.parametrize(
    ("engine", "solver"),
    [(engine, solver) for engine, solvers in SOLVERS.items() for solver in solvers],
    indirect=["engine"],
    scope="session",
)


def fixed_steps(scenario, steps: int, end: float):
    """(m, r) weights after equal steps of the scenario's solver, without any step size control."""
    reduced = reduce(build(scenario))
    plan = choose(scenario, reduced)
    in_equal_steps = {"diffrax": diffrax_steps, "numba": numba_steps}[plan.engine]
    snapshot = in_equal_steps(make(scenario, reduced, plan), steps, end)
    return np.exp(snapshot.log_norm)[:, None] * snapshot.direction


@partial(jax.jit, static_argnums=0)
def diffrax_step(stepper, constants, time, size, state, solver_state):
    state, _, _, solver_state, _ = stepper.solver.step(
        stepper._term, time, time + size, state, constants, solver_state, made_jump=False
    )
    return stepper.coordinates.settle(state), solver_state


def diffrax_steps(integrator: Integrator, steps: int, end: float) -> Snapshot:
    stepper, constants, state = integrator._stepper, integrator._constants, integrator._start
    size = end / steps
    with jax.enable_x64(True):
        solver_state = stepper.solver.init(stepper._term, 0.0, size, state, constants)
        for index in range(steps):
            state, solver_state = diffrax_step(stepper, constants, index * size, size, state, solver_state)
        return stepper.coordinates.snapshot(end, state, constants)


def numba_steps(integrator: Integrator, steps: int, end: float) -> Snapshot:
    network, data, tableau, aims = integrator._setting
    # under this tolerance no step is rejected
    integrator._setting = network, data, tableau, aims._replace(rtol=1e100, end=np.inf)
    carry = integrator.begin()
    for _ in range(steps):
        carry.state.clock[layout.STEP] = end / steps
        carry = integrator.advance(carry, np.inf, attempts=1)
    report = integrator.report(carry)
    assert (report.steps, report.rejections) == (steps, 0)
    assert report.time == pytest.approx(end)
    return integrator.now(carry)


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@EVERY_SOLVER
def test_the_error_falls_with_the_solver_s_order(small, solver, coordinates):
    # tanh is analytic: no kink lowers the order
    scenario = small(
        seed=2,
        model={"activation": "tanh", "width": 3},
        init__scale=0.3,
        init__balanced=False,
        flow__solver=solver,
        flow__coordinates=coordinates,
        flow__rtol=1e-12,
    )
    coarse = 8
    exact = fixed_steps(scenario, 16 * coarse, 8.0)
    errors = [np.abs(fixed_steps(scenario, coarse * factor, 8.0) - exact).max() for factor in (1, 2)]
    order = np.log2(errors[0] / errors[1])
    assert order > ORDERS[solver] - 0.7, f"errors {errors} fall with order {order:.2f}"
    assert errors[1] > 1e-13, "the errors are at the level of rounding and say nothing"


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@pytest.mark.parametrize("scale", [1e-2, 1e-6])
def test_the_flow_agrees_with_scipy_on_the_plain_gradient(small, coordinates, scale):
    scenario = small(init__scale=scale, flow__rtol=1e-11, flow__coordinates=coordinates, flow__until={"time": 90.0})
    run = flowsim.run(scenario).dataset
    hidden, output = prelu_square_flow(build(scenario), 90.0)
    size = np.linalg.norm(hidden, axis=1)
    error = np.linalg.norm(weights(run) - hidden, axis=1) / size
    assert error.max() < 1e-8
    np.testing.assert_allclose(run["output_weight"].values[-1], output, rtol=1e-8)


OF_ERROR = {"flow__until": {"time": 60.0}, "observe__snapshots": "all"}


@pytest.fixture(scope="module")
def reference(small):
    return flowsim.run(small(flow__rtol=1e-12, **OF_ERROR)).dataset


@EVERY_SOLVER
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_the_global_error_is_a_small_multiple_of_the_tolerance(small, reference, solver, rtol):
    run = flowsim.run(small(flow__rtol=rtol, flow__solver=solver, **OF_ERROR)).dataset
    # at every kept instant, so dense output is held to it too
    assert angles(run, reference).max() < 50 * rtol
    assert np.abs(run["log_norm"] - reference["log_norm"]).max() < 50 * rtol


BENCHMARK = """
[data]
dimension = 500
positive = 5
negative = 5
samples = 2000

[model]
width = 60

[init]
scale = 1e-7

[flow]
until = { time = 600.0 }

[observe]
times = 2
variables = ["log_norm", "cosine"]
"""
SMALLER = {"data.dimension": 100, "data.samples": 400, "model.width": 30}


@pytest.mark.parametrize(
    "size", [pytest.param({}, id="full", marks=pytest.mark.papers), pytest.param(SMALLER, id="smaller")]
)
def test_the_benchmark_s_accuracy(size):
    def at(engine: str, rtol: float):
        # tests run beside one another, and BLAS's threads wait for cores that are taken
        with one_blas_thread():
            return flowsim.run(
                flowsim.loads(BENCHMARK, overrides={**size, "flow.engine": engine, "flow.rtol": rtol})
            ).dataset

    reference = at("diffrax", 1e-11)
    for engine in SOLVERS:
        for rtol, bound in ((1e-6, 1e-5), (1e-3, 2e-3)):
            run = at(engine, rtol)
            assert angles(run, reference).max() <= bound
            assert weight_error(run, reference) <= bound
            np.testing.assert_array_equal(
                run["cosine"][-1].argmax("cluster"), reference["cosine"][-1].argmax("cluster")
            )
