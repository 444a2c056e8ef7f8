"""Everything that is decided before the first step of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import ScenarioError
from ..observe import Selection, Setting, kkt, stops
from ..problem import Problem, Reduced, build, reduce
from ..scenario import Scenario
from ..solve import Plan, choose
from .cost import check_cost


class Prepared:
    """A problem, its reduction, and the plan to solve it; of an ensemble, those of the first member.

    sibling: another member of the same ensemble, which gives what does not depend on the seed.
    Raises ScenarioError or UsageError where the scenario cannot be run.
    """

    def __init__(self, scenario: Scenario, sibling: Prepared | None = None):
        if sibling is None:
            scenario = scenario.validated()
        member = scenario.member(0)
        self.scenario = scenario
        self.problem: Problem = build(member, sibling.problem if sibling else None)
        also: tuple[str, ...] = ()
        if scenario.evaluate.anything:
            # attacks, papers and optimisers, which other runs do without
            from ..evaluate import requested

            requested.check(member, self.problem)
            also = requested.followed(scenario)
        kkt.check(scenario, self.problem)
        self.reduced: Reduced = reduce(
            self.problem,
            project=scenario.project,
            merge=scenario.merge,
            sibling=sibling.reduced if sibling else None,
        )
        self.plans: tuple[Plan, ...] = tuple(_plans(member, self.reduced))
        self.plan: Plan = _joined(member, self.plans)
        follows_sliding = self.plan.follows_sliding
        self.setting = Setting(self.reduced, member.observe, scenario.attack, follows_sliding=follows_sliding)
        stops.check(scenario, self.setting)
        also += stops.followed(scenario)
        self.selection: Selection = sibling.selection if sibling else Selection.of(scenario, self.setting, also)
        if sibling is None:
            check_cost(scenario, self.reduced, self.selection.bytes)


def _plans(scenario: Scenario, reduced: Reduced) -> Iterator[Plan]:
    """The plan of each stage."""
    for index, part in enumerate(scenario.stages):
        try:
            yield choose(part, reduced)
        except ScenarioError as error:
            if not scenario.stage:
                raise
            found = ((issue.key.replace("flow", f"stage[{index}]", 1), issue.message) for issue in error.issues)
            raise scenario.error(*found) from None


def _joined(scenario: Scenario, plans: Sequence[Plan]) -> Plan:
    """One plan that names what all stages use."""
    if not scenario.stage:
        return plans[0]
    named = list(zip((stage.name for stage in scenario.stage), plans, strict=True))
    return Plan(
        engine=", ".join(dict.fromkeys(plan.engine for plan in plans)),
        solver=", ".join(dict.fromkeys(plan.solver for plan in plans)),
        coordinates=", ".join(dict.fromkeys(plan.coordinates for plan in plans)),
        reasons=tuple(f"{name}: {reason}" for name, plan in named for reason in plan.reasons),
        warnings=tuple(f"{name}: {warning}" for name, plan in named for warning in plan.warnings),
        follows_sliding=all(plan.follows_sliding for plan in plans),
        shares=max((plan.shares for plan in plans), key=lambda shares: shares.devices),
        precision=", ".join(dict.fromkeys(plan.precision for plan in plans)),
    )
