"""A problem followed by an engine, without the layers above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import flowsim
from flowsim import Problem
from flowsim.arrays import Booleans, Floats
from flowsim.problem import reduce
from flowsim.solve import Plan, Report, make


@dataclass(frozen=True)
class Flown:
    """hidden (times, m, d + bias), output (times, m), sliding (times, m, n); report: where the integration ended."""

    hidden: Floats
    output: Floats
    sliding: Booleans
    report: Report


def flown(
    problem: Problem,
    times: Floats,
    rtol: float = 1e-9,
    engine: str = "numba",
    solver: str = "dopri5",
    coordinates: str = "polar",
    attempts: int = 100_000,
) -> Flown:
    """Follow a problem through these times, which must all be reached within so many steps."""
    scenario = flowsim.loads("", overrides={"flow.rtol": rtol, "flow.until": {"time": float(times[-1])}})
    reduced = reduce(problem)
    integrator = make(scenario, reduced, Plan(engine, solver, coordinates, (), ()))
    carry = integrator.begin()
    hidden, output, sliding = [], [], []
    for time in times:
        carry = integrator.advance(carry, time, attempts)
        report = integrator.report(carry)
        assert report.time >= time, report
        snapshot = integrator.now(carry) if report.time == time else integrator.at(carry, time)
        lifted, bias = reduced.lift(snapshot.direction)
        rows = np.column_stack([lifted, bias]) if problem.bias else lifted
        hidden.append(np.exp(snapshot.log_norm)[:, None] * rows)
        output.append(snapshot.output_sign * np.exp(snapshot.output_log))
        assert np.isfinite(rows).all()
        along = np.zeros((len(rows), len(reduced.targets)), bool) if snapshot.sliding is None else snapshot.sliding
        sliding.append(along[:, reduced.representative])
    return Flown(np.array(hidden), np.array(output), np.array(sliding), report)
