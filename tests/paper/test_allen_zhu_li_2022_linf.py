"""Attacks in l-infinity at a size that takes seconds: the network beside learners of low complexity."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.papers import evaluate
from flowsim.papers.allen_zhu_li_2022 import ATTACKED
from flowsim.problem import build, fresh
from flowsim.scenario.shipped import shipped


def shortened(name, iterations, changes=()):
    """The shipped scenario with fewer iterations, after which claims are measured and nothing else."""
    path = shipped()[f"allen_zhu_li_2022/{name}"]
    scenario = flowsim.load(path)
    stages = [stage.model_dump(exclude_unset=True, exclude_none=True) for stage in scenario.stage]
    for stage, count in zip(stages, iterations, strict=True):
        stage.pop("until", None)
        stage["iterations"] = count
    claims = {
        "evaluate": {
            "claims": [
                "allen_zhu_li_2022.theorem_5_4",
                "allen_zhu_li_2022.theorem_5_6",
                "allen_zhu_li_2022.corollary_5_7",
            ]
        }
    }
    return flowsim.load(path, {"stage": stages, "observe.times": 3, **claims, **dict(changes)})


def measured(run):
    claims = run["claims"].to_dataset()
    names = (name.removeprefix("allen_zhu_li_2022.") for name in claims["claim"].values)
    return dict(zip(names, claims["measured"].values, strict=True))


@pytest.mark.papers
def test_adversarial_training_makes_the_network_robust_where_no_learner_is():
    network = measured(flowsim.run(shortened("linf", (1500, 1200))))
    assert network["theorem_5_4.clean_error"] > 0.9
    assert network["theorem_5_4.robust_error"] < 0.1
    assert network["theorem_5_4.gain"] > 0.5
    assert np.isnan(network["theorem_5_6.robust_error"])
    for name in ("linear_learner", "ntk_learner"):
        learner = measured(flowsim.run(shortened(name, (150, 150))))
        assert learner["theorem_5_6.clean_error"] < 0.1
        own = "corollary_5_7" if name == "linear_learner" else "theorem_5_6.robust_error"
        assert learner[own] == 1.0
        assert learner["theorem_5_6.gap"] > network["theorem_5_4.robust_error"] + 0.1
        assert np.isnan(learner["theorem_5_4.robust_error"])


def test_what_a_linear_learner_loses_is_what_its_weights_say():
    scenario = shortened("linear_learner", (60, 60))
    run, problem = flowsim.run(scenario), build(scenario)
    classifier, test = flowsim.reopen(run).network, fresh(scenario, problem.samples, 10_000)
    x, y = test.inputs[:ATTACKED], test.label[:ATTACKED]
    reach = np.abs(classifier.hidden).sum()  # how far a perturbation of size 1 moves the output
    found = measured(run)
    for claim, radius in (("theorem_5_6.gap", 0.03), ("corollary_5_7", 1 / 3)):
        lost = (y * classifier(x) <= radius * reach).mean()
        assert found[claim] == pytest.approx(lost, abs=0.003)
    assert found["theorem_5_6.gap"] > 0.2


def test_what_the_theorems_do_not_assume_is_said():
    noisy = shortened("linear_learner", (1, 1), {"data.noise.total": 0.3, "data.basis": "random"}.items())
    claims = evaluate(flowsim.run(noisy), ["allen_zhu_li_2022.theorem_5_6"])
    clean = claims.sel(claim="allen_zhu_li_2022.theorem_5_6.clean_error")
    assert str(clean["verdict"].values) == "outside"
    assert "sigma_x = 0" in str(clean["note"].values)
    assert "M = I" in str(clean["note"].values)


def test_at_k_3_the_radius_is_one_that_nothing_withstands_and_the_claim_says_so():
    found = flowsim.run(shortened("linear_learner", (1, 1)))["claims"].to_dataset()
    lower = found.sel(claim="allen_zhu_li_2022.corollary_5_7")
    assert str(lower["verdict"].values) == "outside"
    assert "1/k < half of the smallest gap" in str(lower["note"].values)
