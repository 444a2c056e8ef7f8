"""Feature purification at a size that takes seconds: purification_small with fewer iterations."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import shipped


@pytest.fixture(scope="module")
def run():
    return shortened()


def shortened(**changes):
    path = shipped()["allen_zhu_li_2022/purification_small"]
    scenario = flowsim.load(path)
    stages = [stage.model_dump(exclude_unset=True, exclude_none=True) for stage in scenario.stage]
    for stage, iterations in zip(stages, (600, 400), strict=True):
        stage.pop("until", None)
        stage["iterations"] = iterations
    keys = {"stage": stages, "loss.regularizer": {"square": 1e-3, "cubic": 1e-3}, "observe.times": 3, **changes}
    return flowsim.run(flowsim.load(path, keys))


def measured(run):
    claims = run["claims"].to_dataset()
    return dict(zip(claims["claim"].values, claims["measured"].values, strict=True))


def test_adversarial_training_purifies_what_clean_training_has_mixed(run):
    ratio, stage = run["dense_ratio"].values, run["stage"].values
    clean = ratio[stage == "clean"][-1]
    assert clean > 10 * ratio[0]
    assert ratio[-1] < 0.5 * clean
    found = measured(run)
    assert found["allen_zhu_li_2022.purification.mixture"] == pytest.approx(ratio[-1] / clean, rel=1e-6)
    assert found["allen_zhu_li_2022.purification.direction"] > 0.8


def test_it_makes_the_network_robust_and_costs_no_accuracy(run):
    before, after = flowsim.robustness(run, at=1), run["robustness"].to_dataset()
    for attack in ("fgm", "pgd", "universal"):
        gain = (after["robust_accuracy"] - before["robust_accuracy"]).sel(classifier="network", attack=attack)
        assert float(gain.sel(radius=0.15)) > 0.1
        assert float(gain.sel(radius=0.0)) > -0.02
    assert measured(run)["allen_zhu_li_2022.theorem_5_1.clean_error"] < 0.1


def test_clean_training_falls_to_the_direction_of_the_labels(run):
    assert measured(run)["allen_zhu_li_2022.theorem_5_1.robust_error"] > 0.9
    assert np.isfinite(list(measured(run).values())).all()


def test_perturbations_go_along_the_labels_and_later_along_few_features(run):
    found = measured(run)
    assert found["allen_zhu_li_2022.section_6_2.universal"] > 0.8
    assert found["allen_zhu_li_2022.figure_12.density"] < 0.5


def test_perturbations_of_clean_networks_transfer_between_seeds_and_not_to_robust_ones(run):
    other = shortened(**{"seed": 1, "data.seed": 0, "evaluate": {}})
    clean, robust = (
        flowsim.transfer(run, other, [0.15], attacks=["fgm"], samples=500, at=1, onto=onto) for onto in (1, 2)
    )
    assert clean["transfer_rate"].item() > 0.8
    assert clean["random_accuracy"].item() > clean["transferred_accuracy"].item() + 0.2
    assert robust["transfer_rate"].item() < 0.5 * clean["transfer_rate"].item()
