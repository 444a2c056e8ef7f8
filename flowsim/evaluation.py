"""What [evaluate] asks for: each of its keys gives a group of the result, of the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xarray as xr

from .analysis.case import Result, reopened
from .analysis.distance import ideal_of, to_ideal
from .analysis.kkt import limit_group, without_limit
from .analysis.robustness import check as check_robustness
from .analysis.robustness import evaluated
from .engine.threads import blas_threads
from .errors import UsageError
from .observe import Setting
from .problem import Problem
from .scenario import Scenario
from .theory import CLAIMS, Evidence, evidence_of, followed, held_against
from .theory.evidence import NotApplicable

#: Told what is being done.
Say = Callable[[str], None]


def evaluate(
    result: Result, asked: Mapping[str, Any] | None = None, *, seed: int | None = None, progress: Say | None = None
) -> xr.DataTree:
    """What [evaluate] gives, computed anew from a result: a group for each of its keys that is asked for.

    asked: keys of ``evaluate``, such as ``{"claims": ["li_2025"], "distance.to": "ideal"}``, beside those of its scenario.
    seed: the member of an ensemble. progress: called with what is begun.
    Raises ScenarioError for wrong keys, UsageError where nothing is asked for or the result lacks what it takes.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        scenario = case.asking({f"evaluate.{key}": value for key, value in (asked or {}).items()})
        say = progress if progress is not None else lambda what: None
        groups = dict(evaluations(scenario, case.setting, case.trajectory, say))
    if not groups:
        raise UsageError(f"nothing is asked for; the keys of [evaluate] are {', '.join(EVALUATIONS)}")
    return xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where something is asked for that the problem does not have."""
    if scenario.evaluate.distance is not None:
        try:
            ideal_of(scenario, problem)
        except UsageError as error:
            raise scenario.error(("evaluate.distance", str(error))) from None
    check_robustness(scenario, problem)


def evaluations(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> Iterator[tuple[str, xr.Dataset]]:
    """(name, group) of all that was asked for, one after the other, each computed when it is its turn.

    root: the root group of a run that has reached its end. say is called with what is begun.
    """
    evidence = evidence_of(scenario, setting, root)
    for name, evaluation in EVALUATIONS.items():
        if getattr(scenario.evaluate, name):
            say(name)
            yield name, evaluation(evidence, say)


def _claims(evidence: Evidence, say: Say) -> xr.Dataset:
    return held_against(CLAIMS, evidence.scenario.evaluate.claims, evidence)


def _distance(evidence: Evidence, say: Say) -> xr.Dataset:
    wanted = evidence.scenario.evaluate.distance
    over_time = wanted is not None and wanted.over_time
    return to_ideal(evidence.scenario, evidence.setting, evidence.trajectory, over_time=over_time)


def _limit(evidence: Evidence, say: Say) -> xr.Dataset:
    try:
        return limit_group(evidence.limit, evidence.weights)
    except NotApplicable as reason:
        return without_limit(str(reason))


def _robustness(evidence: Evidence, say: Say) -> xr.Dataset:
    return evaluated(evidence.scenario, evidence.setting, evidence.weights[-1], say)


#: key of [evaluate] -> function of the run as claims see it, and whom to tell
EVALUATIONS: dict[str, Callable[[Evidence, Say], xr.Dataset]] = {
    "claims": _claims,
    "distance": _distance,
    "limit": _limit,
    "robustness": _robustness,
}

__all__ = ["EVALUATIONS", "Say", "check", "evaluate", "evaluations", "followed"]
