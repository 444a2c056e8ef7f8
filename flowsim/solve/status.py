"""How a run ended: the stop conditions, the budgets and the failures, each with its cause and its remedy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..scenario import Scenario
from . import Report


@dataclass(frozen=True)
class Status:
    """name: one word; cause and remedy: a sentence each; exit_code: what the shell sees."""

    name: str
    cause: str
    remedy: str = ""
    exit_code: int = 0


#: What stands in a file that a run writes while it goes on.
RUNNING = Status(
    "running", "not finished when this was written", "if nothing runs any more, --resume goes on from here", 3
)
#: What stands there from the end of the flow until all that [evaluate] asks for is there.
EVALUATING = Status(
    "evaluating",
    "the flow is done, but not its companion run, or not all of its evaluation, when this was written",
    "if nothing runs any more, --resume goes on from here",
    3,
)


def judge(scenario: Scenario, report: Report, seconds: float, asked_to_end: bool) -> Status | None:
    """How the run has ended, or None while it goes on."""
    return _goal(scenario, report) or _failure(scenario, report) or _budget(scenario, report, seconds, asked_to_end)


def _goal(scenario: Scenario, report: Report) -> Status | None:
    until = scenario.flow.until
    if until.time is not None and report.time >= until.time:
        made = f"made {report.steps} iterations, " if scenario.flow.descends else ""
        return Status("done", f"{made}reached time {until.time:g}")
    if report.reached:
        return Status("done", f"reached {report.reached} {_where(report)}")
    if set(until.goals) == {"steps"} and report.steps >= until.goals["steps"]:
        return Status("done", f"made {until.steps} steps")
    return None


def _failure(scenario: Scenario, report: Report) -> Status | None:
    if report.unseparated:
        return Status(
            "not_separated",
            f"the loss falls no further {_where(report)}, before reaching its {_goals(scenario)}: the network does not "
            "separate the data, as with contradictory labels, or as neurons that could are dead or dying",
            "ask for a time or a larger loss, for data that can be separated, or for more neurons or another seed",
            3,
        )
    if report.resting or (report.stalled and math.isinf(report.step_size)):
        return Status(
            "at_rest",
            f"{report.resting or 'nothing moves any more'} {_where(report)}, before reaching its {_goals(scenario)}",
            "it will not get there; ask for what it can reach, or for a time",
            3,
        )
    if report.stalled and not report.finite and scenario.flow.descends:
        return Status(
            "non_finite",
            f"the next iteration would not be finite {_where(report)}: steps of {report.step_size:g} diverge",
            "take a smaller flow.step",
            3,
        )
    if report.stalled and not report.finite:
        return Status(
            "non_finite",
            f"the state stopped being finite {_where(report)}",
            "look for a divergence in the last saved instants; a smaller flow.rtol or other flow.coordinates may pass it",
            3,
        )
    if report.stalled:
        return Status(
            "step_underflow",
            f"the step size fell to {report.step_size:.3g} {_where(report)}",
            "the solver cannot resolve the flow here; try another flow.rtol, smaller or larger, or the numba engine if the "
            "field has jumps",
            3,
        )
    return None


def _budget(scenario: Scenario, report: Report, seconds: float, asked_to_end: bool) -> Status | None:
    steps, wall_time = scenario.flow.until.steps, scenario.flow.wall_time
    if steps is not None and report.steps >= steps:
        return Status(
            "step_limit",
            f"used its {steps} steps {_where(report)}, before reaching its {_goals(scenario)}",
            "raise flow.until.steps; --resume then goes on from here",
            3,
        )
    if wall_time is not None and seconds >= wall_time:
        return Status(
            "wall_time_limit",
            f"used its {wall_time:g} s of wall time {_where(report)}, before reaching its {_goals(scenario)}",
            "raise flow.wall_time; --resume then goes on from here",
            3,
        )
    if asked_to_end:
        return interrupted(_where(report))
    return None


def interrupted(where: str) -> Status:
    """By a signal."""
    return Status("interrupted", f"interrupted {where}", "--resume goes on from here", 130)


def _where(report: Report) -> str:
    if report.log10_time is not None and math.isinf(report.time):
        return f"at time 1e{report.log10_time:.6g} after {report.steps} steps"
    return f"at time {report.time:.6g} after {report.steps} steps"


def _goals(scenario: Scenario) -> str:
    return " or ".join(name for name in scenario.flow.until.goals if name != "steps") or "steps"
