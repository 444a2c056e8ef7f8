"""How the flow is integrated: the choice of engine, and what every engine offers to the drive."""

from __future__ import annotations

from ..problem import Reduced
from ..scenario import Scenario
from .integrator import Integrator, Passed, Report
from .plan import Plan, choose
from .snapshot import Snapshot, going_on
from .targets import cosines, target_cluster


def make(scenario: Scenario, reduced: Reduced, plan: Plan) -> Integrator:
    """The integrator of a plan; imports the engine it names."""
    if plan.engine == "numba":
        from .numba.integrator import NumbaIntegrator

        return NumbaIntegrator(scenario, reduced, plan)
    if plan.by_optax:
        from .optax.integrator import OptaxDescent

        return OptaxDescent(scenario, reduced, plan)
    if plan.engine == "descent":
        from .descent.integrator import DescentIntegrator

        return DescentIntegrator(scenario, reduced, plan)
    from .diffrax.integrator import DiffraxIntegrator

    return DiffraxIntegrator(scenario, reduced, plan)


__all__ = [
    "Integrator",
    "Passed",
    "Plan",
    "Report",
    "Snapshot",
    "choose",
    "cosines",
    "going_on",
    "make",
    "target_cluster",
]
