"""What [evaluate] asks for: each of its keys gives a group of the result, of the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import xarray as xr

from .analysis.distance import to_ideal
from .analysis.kkt import limit_of
from .analysis.robustness import evaluated
from .observe import Setting
from .results.weights import weights_of
from .scenario import Scenario
from .theory import CLAIMS, evidence_of, held_against

#: Told what is being done.
Say = Callable[[str], None]


def evaluations(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> Iterator[tuple[str, xr.Dataset]]:
    """(name, group) of all that was asked for, one after the other, each computed when it is its turn.

    root: the root group of a run that has reached its end. say is called with what is begun.
    """
    for name, evaluation in EVALUATIONS.items():
        if getattr(scenario.evaluate, name):
            say(name)
            yield name, evaluation(scenario, setting, root, say)


def _claims(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> xr.Dataset:
    return held_against(CLAIMS, scenario.evaluate.claims, evidence_of(scenario, setting, root))


def _distance(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> xr.Dataset:
    wanted = scenario.evaluate.distance
    return to_ideal(scenario, setting, root, over_time=wanted is not None and wanted.over_time)


def _limit(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> xr.Dataset:
    return limit_of(setting, root)


def _robustness(scenario: Scenario, setting: Setting, root: xr.Dataset, say: Say) -> xr.Dataset:
    return evaluated(scenario, setting, weights_of(setting, root)[-1], say)


#: key of [evaluate] -> function of the scenario, its setting, the run's root group, and whom to tell
EVALUATIONS: dict[str, Callable[[Scenario, Setting, xr.Dataset, Say], xr.Dataset]] = {
    "claims": _claims,
    "distance": _distance,
    "limit": _limit,
    "robustness": _robustness,
}
