"""What [evaluate] asks for: each of its keys gives a group of the result, of the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import xarray as xr

from ..errors import UsageError
from ..observe import Setting
from ..problem import Problem
from ..scenario import Scenario
from .claim import CLAIMS, evidence_of, followed
from .density import check as check_density
from .density import density_group
from .distance import ideal_of, to_ideal
from .evidence import Evidence, NotApplicable
from .features import check as check_features
from .features import features_group
from .findings import held_against
from .kkt import limit_group, without_limit
from .robustness import check as check_robustness
from .robustness import evaluated
from .robustness.smoothing import check as check_smoothing
from .robustness.smoothing import smoothed

#: Told what is being done.
Say = Callable[[str], None]


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where something is asked for that the problem does not have."""
    if scenario.evaluate.distance is not None:
        try:
            ideal_of(scenario, problem)
        except UsageError as error:
            raise scenario.error(("evaluate.distance", str(error))) from None
    check_robustness(scenario, problem)
    check_features(scenario, problem)
    check_density(scenario, problem)
    check_smoothing(scenario, problem)


def wanted(scenario: Scenario) -> list[str]:
    """What is asked for, in the order in which it is computed."""
    return [name for name in EVALUATIONS if getattr(scenario.evaluate, name)]


def evaluations(
    scenario: Scenario,
    setting: Setting,
    root: xr.Dataset,
    say: Say,
    names: Iterable[str],
    companion: xr.Dataset | None = None,
) -> Iterator[xr.Dataset]:
    """These groups, one after the other, each computed when it is its turn.

    root: the root group of a run that has reached its end; companion: with the values of its companion, where it is
    certified. say is called with what is begun.
    """
    evidence = evidence_of(scenario, setting, root, say, companion)
    for name in names:
        say(name)
        yield EVALUATIONS[name](evidence, say)


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


def _features(evidence: Evidence, say: Say) -> xr.Dataset:
    return features_group(evidence.scenario, evidence.setting, evidence.weights, evidence.trajectory)


def _density(evidence: Evidence, say: Say) -> xr.Dataset:
    return density_group(evidence.scenario, evidence.setting, evidence.weights, evidence.trajectory)


def _smoothing(evidence: Evidence, say: Say) -> xr.Dataset:
    return smoothed(evidence.scenario, evidence.setting, evidence.weights[-1])


#: key of [evaluate] -> function of the run as claims see it, and whom to tell
EVALUATIONS: dict[str, Callable[[Evidence, Say], xr.Dataset]] = {
    "claims": _claims,
    "density": _density,
    "distance": _distance,
    "features": _features,
    "limit": _limit,
    "robustness": _robustness,
    "smoothing": _smoothing,
}

__all__ = ["EVALUATIONS", "Say", "check", "evaluations", "followed", "wanted"]
