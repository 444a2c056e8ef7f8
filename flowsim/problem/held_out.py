"""Held-out samples, from wherever a scenario takes them."""

from __future__ import annotations

from ..kinds.samples import Samples
from ..kinds.tables import HELD_OUT, read_held_out
from ..scenario import Scenario
from .fresh import fresh


def held_out(scenario: Scenario, samples: Samples, sibling: Samples | None) -> Samples | None:
    """The samples that [data.test] asks for, around the centres of the training set `samples`; None where there is none.

    sibling: the training set of the same scenario with another seed; a file is not read again.
    """
    asked = scenario.data.test
    if HELD_OUT["x"] in (scenario.arrays("data") or {}):
        return read_held_out(scenario, samples, scenario.data.supervision)
    if asked is None or (asked.path is None and not scenario.data.drawn):
        return samples.test  # comes with the samples
    if asked.samples is not None:
        return fresh(scenario, samples, asked.samples)
    return sibling.test if sibling is not None else read_held_out(scenario, samples, scenario.data.supervision)
