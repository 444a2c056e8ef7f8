"""What will integrate a problem, and why: the meaning of every "auto" in [flow]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..problem import Problem, Reduced
from ..scenario import Scenario
from .targets import target_cluster

#: Implicit solvers form a dense Jacobian: states beyond this many entries are refused.
IMPLICIT_LIMIT = 2000
#: What float32 products can give: a few times their rounding error.
MIXED_RTOL = 1e-6
#: Below this norm the velocities of Cartesian weights, which are products with output weights as small, underflow.
SMALLEST_CARTESIAN = 1e-250


@dataclass(frozen=True)
class Plan:
    """engine, solver, coordinates: never "auto". reasons: one sentence for each choice. warnings: what to be wary of."""

    engine: str
    solver: str
    coordinates: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def choose(scenario: Scenario, reduced: Reduced) -> Plan:
    """Resolve engine, solver and coordinates. Raises ScenarioError where what was asked for cannot work."""
    flow, problem = scenario.flow, reduced.problem
    coordinates, why_coordinates = _coordinates(problem)
    if flow.coordinates != "auto":
        coordinates, why_coordinates = flow.coordinates, "as the scenario says"
    if problem.activation.smooth:
        solver, why_solver = "dopri8", "the field is smooth"
    else:
        solver, why_solver = "tsit5", "the field has jumps, so a high order would not pay"
    if flow.solver != "auto":
        solver, why_solver = flow.solver, "as the scenario says"
    _check(scenario, solver, coordinates, reduced)
    return Plan(
        engine="diffrax",
        solver=solver,
        coordinates=coordinates,
        reasons=(
            "engine diffrax: the only engine of this version",
            f"solver {solver}: {why_solver}",
            f"coordinates {coordinates}: {why_coordinates}",
        ),
        warnings=tuple(_warnings(scenario, problem)),
    )


def _coordinates(problem: Problem) -> tuple[str, str]:
    if not problem.trained_output:
        return "cartesian", "with fixed output weights a neuron may pass through zero"
    weights = problem.weights
    power = problem.activation.homogeneity
    if power >= 2:
        return "polar", "neurons of a higher power take forever to reach zero"
    # |w|^2 - power v^2 is conserved (for tanh, while its neurons are small)
    if (weights.output_log + 0.5 * np.log(power) <= weights.log_norm).all():
        return (
            "polar",
            "no output weight outweighs its neuron at the start, which keeps neurons from passing through zero",
        )
    if weights.log_norm.min() < np.log(SMALLEST_CARTESIAN):
        return "polar", "the weights are too small for cartesian coordinates"
    return "cartesian", "a neuron that its output weight outweighs may pass through zero"


def _check(scenario: Scenario, solver: str, coordinates: str, reduced: Reduced) -> None:
    size, problem = reduced.direction.size, reduced.problem
    if scenario.flow.until.alignment is not None and (target_cluster(reduced) < 0).all():
        raise scenario.error(("flow.until.alignment", "no neuron has a target cluster, so none can align"))
    if solver == "kvaerno5" and size > IMPLICIT_LIMIT:
        raise scenario.error(
            (
                "flow.solver",
                f"kvaerno5 forms a dense Jacobian and is for up to {IMPLICIT_LIMIT} weights; "
                f"this problem has {size} after reduction; use dopri8 or tsit5",
            )
        )
    underflows = problem.trained_output and problem.weights.log_norm.min() < np.log(SMALLEST_CARTESIAN)
    if coordinates == "cartesian" and underflows:
        raise scenario.error(
            ("flow.coordinates", f"cartesian cannot resolve neurons of norm below {SMALLEST_CARTESIAN:g}; use polar")
        )


def _warnings(scenario: Scenario, problem: Problem) -> Iterator[str]:
    flow = scenario.flow
    if flow.precision == "mixed" and flow.rtol < MIXED_RTOL:
        yield (
            f"precision mixed cannot keep rtol = {flow.rtol:g}: float32 products are good for about {MIXED_RTOL:g}. "
            "Steps will shrink to push rounding below the tolerance; use float64 or a larger rtol."
        )
    if not problem.activation.smooth:
        yield (
            f"{problem.activation.name} has a kink, so the field jumps where <w_j, x_i> = 0. This engine takes the "
            "derivative at the kink from the inactive side and does not follow sliding along such a boundary (Clarke's "
            "subdifferential): the solver may chatter with tiny steps, and trajectories near boundaries are approximate."
        )
