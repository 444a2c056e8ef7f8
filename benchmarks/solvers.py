"""One function per solver: from a case to its solution, with the evaluations and the seconds it took.

Libraries that flowsim itself does not need are imported inside the function that uses them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from cartesian import Data, Floats, pack, unpack, velocity
from scipy.integrate import solve_ivp

import flowsim
from flowsim.run.prepare import Prepared
from flowsim.solve import make

#: What a user of a general solver would ask for.
RTOL, ATOL = 1e-6, 1e-9
#: Beyond any run: no solver here is stopped by a count.
MANY_STEPS = 1_000_000


@dataclass(frozen=True)
class Case:
    """A scenario's text and overrides, and in Cartesian coordinates where its flow starts (m (d + 1),) and ends."""

    text: str
    overrides: Mapping[str, Any]
    data: Data
    start: Floats
    end: float

    @classmethod
    def of(cls, text: str, overrides: Mapping[str, Any]) -> Case:
        scenario = flowsim.loads(text, overrides=overrides)
        problem = flowsim.build(scenario)
        data = Data(problem.inputs, problem.targets, problem.sample_weight)
        return cls(text, overrides, data, pack(problem.hidden, problem.output), scenario.flow.until.goals["time"])


@dataclass(frozen=True)
class Solution:
    """hidden (m, d): w_j at the end; field evaluations, counted; seconds and processor seconds of all threads, without what
    `compile_seconds` holds: the compilation, or None where nothing is compiled."""

    hidden: Floats
    evaluations: int
    seconds: float
    processor: float
    compile_seconds: float | None = None


class Watch:
    """Wall and processor seconds since it was made."""

    def __init__(self) -> None:
        self._wall, self._busy = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, time.process_time() - self._busy


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.function(*arguments)


def with_flowsim(case: Case, solver: str, rtol: float, precision: str = "float64") -> Solution:
    """flowsim's own integration, observables left out. Its compilation includes the warm-up's one step."""
    jax.clear_caches()  # or a second round would compile in no time
    asked = {"flow.solver": solver, "flow.rtol": rtol, "flow.precision": precision}
    scenario = flowsim.loads(case.text, overrides={**case.overrides, **asked})
    prepared = Prepared(scenario)
    compiling = Watch()
    integrator = make(scenario, prepared.reduced, prepared.plan)
    integrator.advance(integrator.begin(), case.end, 1)
    compiled, _ = compiling.read()
    watch = Watch()
    carry = integrator.advance(integrator.begin(), case.end, MANY_STEPS)
    spent = watch.read()
    report, snapshot = integrator.report(carry), integrator.now(carry)
    _require(report.time == case.end, f"flowsim stopped at time {report.time:g}")
    direction, _ = prepared.reduced.lift(snapshot.direction)
    hidden = np.exp(snapshot.log_norm)[:, None] * direction
    return Solution(hidden, report.evaluations, *spent, compiled)


def with_diffrax(
    case: Case, solver: diffrax.AbstractERK, rtol: float = RTOL, atol: float = ATOL, single: bool = False
) -> Solution:
    """In compiled code; single: all of it in float32. Evaluations: the stages of every step, and where the last is the next
    one's first, that only once."""

    def solve(start: jax.Array, data: Data) -> tuple[jax.Array, jax.Array]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, state, data: velocity(state, data, jnp)),
            solver,
            t0=0.0,
            t1=case.end,
            dt0=None,
            y0=start,
            args=data,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
            max_steps=MANY_STEPS,
        )
        return solution.ys[-1], solution.stats["num_steps"]

    with jax.enable_x64(not single):
        start, data = jnp.asarray(case.start), Data(*map(jnp.asarray, case.data))
        compiling = Watch()
        compiled_solve = jax.jit(solve).lower(start, data).compile()
        compiled, _ = compiling.read()
        watch = Watch()
        state, steps = jax.block_until_ready(compiled_solve(start, data))
        spent = watch.read()
    per_step = solver.tableau.num_stages - solver.tableau.fsal
    return Solution(_hidden(np.asarray(state, float), case), 1 + per_step * int(steps), *spent, compiled)


def with_torchdiffeq(case: Case, method: str = "dopri5", rtol: float = RTOL, atol: float = ATOL) -> Solution:
    import torch
    from torchdiffeq import odeint

    data = Data(*map(torch.from_numpy, case.data))
    field = Counted(lambda t, state: velocity(state, data, torch))
    start, times = torch.from_numpy(case.start), torch.tensor([0.0, case.end], dtype=torch.float64)
    with torch.no_grad():
        velocity(start, data, torch)
        watch = Watch()
        states = odeint(field, start, times, rtol=rtol, atol=atol, method=method)
        spent = watch.read()
    return Solution(_hidden(states[-1].numpy(), case), field.calls, *spent)


def with_cvode(case: Case, method: str, rtol: float = RTOL, atol: float = ATOL) -> Solution:
    """CVODE with matrix-free GMRES: its difference quotients are evaluations too, and counted."""
    from sksundae.cvode import CVODE

    def write_velocity(t: float, state: Floats, rate: Floats) -> None:
        rate[:] = velocity(state, case.data, np)

    field = Counted(write_velocity)
    solver = CVODE(
        lambda t, state, rate: field(t, state, rate),  # it looks at the signature
        method=method,
        rtol=rtol,
        atol=atol,
        linsolver="gmres",
        max_num_steps=MANY_STEPS,
    )
    velocity(case.start, case.data, np)
    watch = Watch()
    # with two instants it would keep every step
    solution = solver.solve(np.array([0.0, case.end / 2, case.end]), case.start)
    spent = watch.read()
    _require(solution.success, f"CVODE: {solution.message}")
    return Solution(_hidden(solution.y[-1], case), field.calls, *spent)


def with_scipy(case: Case, method: str = "DOP853", rtol: float = RTOL, atol: float = ATOL) -> Solution:
    field = Counted(lambda t, state: velocity(state, case.data, np))
    velocity(case.start, case.data, np)
    watch = Watch()
    solution = solve_ivp(field, (0.0, case.end), case.start, method=method, t_eval=[case.end], rtol=rtol, atol=atol)
    spent = watch.read()
    _require(solution.success, f"SciPy: {solution.message}")
    return Solution(_hidden(solution.y[:, -1], case), field.calls, *spent)


def with_descent(case: Case, step: float) -> Solution:
    """Gradient descent over the same stretch of time: the end divided by the step gives the iterations."""
    iterations = round(case.end / step)
    state = case.start.copy()
    velocity(state, case.data, np)
    watch = Watch()
    for _ in range(iterations):
        state += step * velocity(state, case.data, np)
    return Solution(_hidden(state, case), iterations, *watch.read())


def cores() -> int | None:
    """How many this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _hidden(state: Floats, case: Case) -> Floats:
    return unpack(state, case.data)[0]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)
