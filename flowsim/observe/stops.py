"""Stop conditions that are watched at the instants that are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..errors import UsageError
from ..kinds.stop import STOPS, Stop, Watched
from ..scenario import Scenario
from ..scenario.flow import Until
from .instant import Instant, Setting
from .observable import OBSERVABLES


def met(until: Until, instant: Instant, attacked: Mapping[str, float]) -> str:
    """The first condition that is met at a kept instant, an instant of many with one in it, in words; "" where none is.

    attacked: name of an observable -> what it was where the first adversarial training ended. Raises UsageError where a
    condition gives no number.
    """
    for name, wanted in until.watched(Watched.KEPT).items():
        stop = STOPS[name]
        if stop.regains:
            value = np.array(min(_regained(one, instant, attacked) for one in stop.regains))
        else:
            value = np.asarray((stop.value or OBSERVABLES[stop.observable].value)(instant), dtype=float)
        if value.size != 1:
            raise UsageError(f'the stop condition "{name}" gave an array of shape {value.shape[1:]}, not a number')
        if value.item() <= wanted if stop.falls else value.item() >= wanted:
            return f"{name} {wanted:g}"
    return ""


def _regained(name: str, instant: Instant, attacked: Mapping[str, float]) -> float:
    """What was 0 is regained from the start"""
    now = float(np.asarray(OBSERVABLES[name].value(instant)).item())
    return now / attacked[name] if attacked[name] else math.inf


def followed(scenario: Scenario) -> tuple[str, ...]:
    """The observables that stop conditions compare with what they were before"""
    return tuple(dict.fromkeys(name for _, stop in _asked(scenario) for name in stop.regains))


def check(scenario: Scenario, setting: Setting) -> None:
    """Raise ScenarioError where a condition follows what the problem does not have."""
    absent = [
        (key, f"follows {name}, which does not exist for this problem: it needs {OBSERVABLES[name].needs}")
        for key, stop in _asked(scenario)
        for name in stop.regains
        if not OBSERVABLES[name].exists(setting)
    ]
    if absent:
        raise scenario.error(*absent)


def _asked(scenario: Scenario) -> list[tuple[str, Stop]]:
    """(key, condition)"""
    return [(f"{key}.until.{name}", STOPS[name]) for key, flow in scenario.flows() for name in flow.until.goals]
