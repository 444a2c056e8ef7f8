"""A scenario made ready: everything that is decided before the first step."""

from __future__ import annotations

from .analysis import robustness
from .analysis.distance import ideal_of
from .engine import Plan, choose
from .errors import UsageError
from .observe import Selection, Setting, kkt
from .problem import Problem, Reduced, build, reduce
from .scenario import Scenario
from .theory import followed


class Prepared:
    """The problem of a scenario, or of the first member of an ensemble, and what will be done with it.

    sibling: another member of the same ensemble; what does not depend on the seed is taken from it.
    Raises ScenarioError or UsageError where the scenario cannot be run.
    """

    def __init__(self, scenario: Scenario, sibling: Prepared | None = None):
        member = scenario.members[0]
        flow = scenario.flow
        self.scenario = scenario
        self.problem: Problem = build(member, sibling.problem if sibling else None)
        if scenario.evaluate.distance is not None:
            try:
                ideal_of(member, self.problem)
            except UsageError as error:
                raise scenario.error(("evaluate.distance", str(error))) from None
        robustness.check(member, self.problem)
        kkt.check(scenario, self.problem)
        merge = flow.merge and flow.method != "sgd"  # batches are drawn among single samples
        self.reduced: Reduced = reduce(
            self.problem,
            project=flow.reduce,
            merge=merge,
            sibling=sibling.reduced if sibling else None,
        )
        self.plan: Plan = choose(member, self.reduced)
        self.setting = Setting(self.reduced, follows_sliding=self.plan.follows_sliding)
        self.selection: Selection = (
            sibling.selection if sibling else Selection.of(scenario, self.setting, also=followed(scenario))
        )
