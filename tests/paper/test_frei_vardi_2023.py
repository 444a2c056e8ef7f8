"""Frei, Vardi, Bartlett & Srebro 2023: the shipped settings, and every claim on a smaller one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flowsim
from flowsim.papers.frei_vardi_2023 import CLAIMS
from flowsim.scenario.shipped import find

#: In fewer dimensions, i.i.d., within Assumption 2.2.
SMALLER = {
    "data.dimension": 1300,
    "data.noise.per_coordinate": 1300**-0.5,
    "data.samples": 208,
    "data.balanced": False,
    "model.width": 12,
    "flow.until.log10_loss": -30.0,
}
#: What a finite run says of t -> infinity, or of what is about other settings.
OF_THE_WAY = {"theorem_2_1.kkt", "theorem_2_1.angle", "theorem_2_1.direction", "example_2", "wide_noise"}


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


def test_a_scenario_with_samples_drawn_by_chance_is_shipped():
    scenario = flowsim.load(find("frei_vardi_2023/iid"))
    data = scenario.data
    assert (data.balanced, data.positive, data.negative, data.label_noise) == (False, 4, 4, 0)
    assert data.samples >= 8 * math.log(data.dimension) ** 2


@pytest.mark.papers
def test_every_theorem_holds_in_a_smaller_setting():
    run = flowsim.run(flowsim.load(find("frei_vardi_2023/k4"), SMALLER))
    found = run["claims"].to_dataset()
    names = [str(name).removeprefix("frei_vardi_2023.") for name in found["claim"].values]
    verdict = dict(zip(names, found["verdict"].values, strict=True))
    measured = dict(zip(names, found["measured"].values, strict=True))
    assert verdict.keys() == CLAIMS.keys()
    # with four clusters the perturbation is as long as the certified radius
    assert measured["theorem_4_2.not_robust"] == pytest.approx(1, abs=0.05)
    assert {name for name in names if verdict[name] != "holds"} <= OF_THE_WAY | {"theorem_4_2.not_robust"}
    # |z| = sqrt(d/k), the 1/sqrt(k) law, is that of the linear classifier: eta = 1/k
    assert measured["theorem_4_2.strength"] == pytest.approx(1 / 4, rel=0.02)
    assert run["limit"].attrs["found"] == 1
    assert np.isfinite(run["limit/angle"].values).all()
