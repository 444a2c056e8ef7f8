"""Whether a scenario's arrays fit into memory, before anything is drawn: a system that overcommits ends processes later."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..gate import limit, size
from ..kinds.networks import NetworkSection
from ..kinds.pixels import Pixels
from ..kinds.samples import Samples
from ..scenario import Scenario
from ..scenario.source import path_of

#: Copies of the samples that attacks hold at once.
ATTACKED = 4


class Need(NamedTuple):
    """What the value of a key takes: entries of arrays of floats, which grow with it. value: where the scenario leaves it
    out."""

    key: str
    entries: float
    value: int | None = None


def check_room(scenario: Scenario, samples: Samples | None = None) -> None:
    """Raise ScenarioError with the keys that ask for more than there is. samples: once these are known; before, it goes by
    what data to be drawn are to have."""
    most = limit("memory")
    found = [*_needs(scenario, samples)]
    alone = [need for need in found if 8 * need.entries > most]
    if not alone and 8 * sum(need.entries for need in found) > most:
        alone = [max(found, key=lambda need: need.entries)]
    if alone:
        raise scenario.error(*((need.key, _told(scenario, need, most)) for need in alone))


def _needs(scenario: Scenario, known: Samples | None) -> Iterator[Need]:
    data, neurons = scenario.data, _neurons(scenario)
    if known is None:
        yield from (Need(key, float(entries)) for key, entries in data.entries(neurons).items())
    elif isinstance(known.stored, Pixels) and not _in_batches(scenario):
        yield Need("data.samples", float(len(known.stored)) * known.features, len(known.stored))
    features = data.stored_features(neurons) if known is None else known.features
    if features is None:
        return
    if scenario.model.has_neurons:
        yield Need(f"model.{width_key(scenario.model)}", float(neurons) * features)
    if data.drawn and data.test is None:
        drawn = {"robustness": ATTACKED, "smoothing": 1, "density": ATTACKED}
        for name, copies in drawn.items():
            if (asked := getattr(scenario.evaluate, name)) is not None:
                yield Need(f"evaluate.{name}.samples", float(copies) * asked.samples * features)
    if (excited := scenario.evaluate.features) is not None:
        shown = float(excited.units) * excited.starts * (1 + len(scenario.stages)) * features
        yield Need(f"evaluate.features.{'units' if excited.units > excited.starts else 'starts'}", shown)
    if scenario.observe.grid is not None:
        yield Need("observe.grid", math.prod(float(axis.count) for axis in scenario.observe.grid) * features)


def _neurons(scenario: Scenario) -> int:
    return scenario.model.neurons if scenario.model.has_neurons else 0


def _in_batches(scenario: Scenario) -> bool:
    """Whether training sees images a batch at a time, never all of them at once."""
    return not scenario.model.has_neurons and all(flow.batch for _, flow in scenario.flows())


def _told(scenario: Scenario, need: Need, most: float) -> str:
    """What is needed, what there is, and which value would fit."""
    value: Any = scenario.to_dict()
    for part in path_of(need.key):
        value = value.get(part) if isinstance(value, dict) else None
    value = need.value if value is None else value
    data, neurons = scenario.data, _neurons(scenario)
    features, spanned = data.stored_features(neurons), data.span_features(neurons)
    if data.spanned:
        advice = ""  # what a sample has grows with their number
    elif features and spanned and spanned < features:
        advice = f'; data.coordinates = "span" takes {size(8 * need.entries * spanned / features)}'
    else:
        fits = math.floor(value * most / (8 * need.entries)) if isinstance(value, int) else 0
        advice = f"; at most about {fits} fits" if fits else ""
    return f"needs {size(8 * need.entries)}, and {size(most)} of memory is available{advice}"


def width_key(model: NetworkSection) -> str:
    """The key of a network that says how many neurons there are."""
    return "widths" if getattr(model, "widths", None) is not None else "width"
