"""Frei, Vardi, Bartlett & Srebro 2023: the shipped settings, and every claim on a smaller one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flowsim
from flowsim.papers.frei_vardi_2023 import CLAIMS
from flowsim.scenario.shipped import find

#: In fewer dimensions, outside of Assumption 2.2 only by its factor 10.
SMALLER = {
    "data.dimension": 1000,
    "data.noise.per_coordinate": 1000**-0.5,
    "data.samples": 200,
    "model.width": 12,
    "flow.until.log10_loss": -12.0,
}


@pytest.mark.parametrize("clusters", [4, 8, 16])
def test_the_shipped_scenarios_are_the_paper_s_setting(clusters):
    scenario = flowsim.load(find(f"frei_vardi_2023/k{clusters}"))
    data, model = scenario.data, scenario.model
    assert (data.positive, data.negative, data.centers, data.radius) == (
        clusters // 2,
        clusters // 2,
        "orthonormal",
        "sqrt_dimension",
    )
    assert data.noise.standard_deviation(data.dimension) == pytest.approx(data.dimension**-0.5)
    assert data.samples >= clusters * math.log(data.dimension) ** 2
    assert (model.activation, model.width, model.bias, model.output) == ("relu", 50, True, "trained")


def test_every_theorem_holds_in_a_smaller_setting():
    run = flowsim.run(flowsim.load(find("frei_vardi_2023/k4"), SMALLER))
    found = run["claims"].to_dataset()
    verdict = dict(zip(found["claim"].values, found["verdict"].values, strict=True))
    measured = dict(zip(found["claim"].values, found["measured"].values, strict=True))
    assert len(verdict) == len(CLAIMS)
    # with four clusters the perturbation is as long as the certified radius
    assert measured.pop("frei_vardi_2023.theorem_4_2.not_robust") == pytest.approx(1, abs=0.05)
    assert measured.pop("frei_vardi_2023.assumption_2_2") > 1
    failed = [name for name in measured if verdict[name] != "holds"]
    assert failed == []
    # |z| = sqrt(d/k), the 1/sqrt(k) law, is that of the linear classifier: eta = 1/k
    assert measured["frei_vardi_2023.theorem_4_2.strength"] == pytest.approx(1 / 4, rel=0.02)
    assert run["limit"].attrs["found"] == 1
    assert np.isfinite(run["limit/angle"].values).all()
