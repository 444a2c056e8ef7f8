"""The engines agree on the flows of smooth networks that ship with flowsim, made small."""

from __future__ import annotations

import numpy as np
import pytest
from support.reading import angles

import flowsim
from flowsim.scenario import Scenario
from flowsim.scenario.shipped import find, shipped
from flowsim.solve.plan import SOLVERS

SMALLER = {
    "data.dimension": 100,
    "model.width": 30,
    "observe.times": 21,
    "observe.variables": "default",
    "observe.snapshots": "all",
    "evaluate": {},
}


def on_both_engines(scenario: Scenario) -> bool:
    """Whether it is a flow up to a given time of a smooth two-layer network, which both engines follow alike."""
    model, flow = scenario.model, scenario.flow
    smooth = model.own_outputs and model.formulas.smooth
    return smooth and not scenario.stage and not flow.descends and set(flow.until.goals) == {"time"}


SMOOTH = [name for name in shipped() if not name.startswith("sweeps/") and on_both_engines(flowsim.load(find(name)))]


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_engines_agree_at_every_kept_instant(name, rtol):
    clusters = flowsim.load(find(name)).data.clusters
    smaller = {**SMALLER, "data.samples": 300 // clusters * clusters, "flow.rtol": rtol}
    first, second = (
        flowsim.run(flowsim.load(find(name), {**smaller, "flow.engine": engine})).dataset for engine in SOLVERS
    )
    np.testing.assert_array_equal(first["time"], second["time"])
    assert angles(first, second).max() < 20 * rtol
    np.testing.assert_allclose(first["log_norm"], second["log_norm"], atol=20 * rtol)
    np.testing.assert_allclose(first["output_weight"], second["output_weight"], rtol=20 * rtol)

    np.testing.assert_allclose(first["margin"], second["margin"], atol=20 * rtol * np.abs(second["margin"]).max())
