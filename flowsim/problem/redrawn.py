"""The arrays that a stage draws anew."""

from __future__ import annotations

from ..arrays import Floats
from ..kinds.streams import stream
from ..scenario import Scenario
from ..scenario.flow import Stage
from .problem import Problem


def redrawn(scenario: Scenario, problem: Problem) -> dict[str, Floats]:
    """Name -> values of each array that a stage begins with anew, drawn as [init] says; none where it names none.

    scenario: that of the stage."""
    stage, network = scenario.flow, problem.network
    if network is None or not isinstance(stage, Stage) or not stage.redraw:
        return {}
    seed = int(stream(scenario.single_seed, f"stage.{stage.name}.redraw").integers(2**32))
    drawn = scenario.model.network(scenario, problem.samples).start(seed)
    return {
        leaf.name: array
        for leaf, array in zip(network.leaves, drawn, strict=True)
        if any(network.fits(leaf, name) for name in stage.redraw)
    }
