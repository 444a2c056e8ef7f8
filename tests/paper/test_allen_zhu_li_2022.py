"""Feature purification at a size that takes seconds: the scenarios of d = 60 with fewer iterations."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import flowsim
from flowsim.papers import evaluate
from flowsim.papers.allen_zhu_li_2022 import ledger
from flowsim.scenario.shipped import shipped


def shortened(name, *iterations, **keys):
    """The run of a shipped scenario whose stages have so many iterations."""
    path = shipped()[f"allen_zhu_li_2022/{name}"]
    stages = [stage.model_dump(exclude_unset=True, exclude_none=True) for stage in flowsim.load(path).stage]
    for stage, count in zip(stages, iterations, strict=True):
        stage.pop("until", None)
        stage["iterations"] = count
    return flowsim.run(flowsim.load(path, {"stage": stages, "observe.times": 3, **keys}))


@pytest.fixture(scope="module")
def run():
    return shortened("purification_small", 600, 600)


@pytest.fixture(scope="module")
def scratch():
    return shortened("from_scratch", 600)


def measured(run):
    claims = run["claims"].to_dataset()
    return {
        str(claim).removeprefix("allen_zhu_li_2022."): float(value)
        for claim, value in zip(claims["claim"].values, claims["measured"].values, strict=True)
    }


@pytest.mark.papers
def test_adversarial_training_purifies_what_clean_training_has_mixed(run):
    ratio, stage = run["dense_ratio"].values, run["stage"].values
    clean = ratio[stage == "clean"][-1]
    assert clean > 10 * ratio[0]
    assert ratio[-1] < 0.5 * clean
    found = measured(run)
    assert found["purification.mixture"] == pytest.approx(ratio[-1] / clean, rel=1e-6)
    assert found["principle_2.learned"] > 0.5
    assert found["principle_2.all"] > found["principle_2.learned"]


@pytest.mark.papers
def test_it_makes_the_network_robust_and_costs_no_accuracy(run):
    before, after = flowsim.robustness(run, at=1), run["robustness"].to_dataset()
    for attack in ("fgm", "pgd", "universal"):
        gain = (after["robust_accuracy"] - before["robust_accuracy"]).sel(classifier="network", attack=attack)
        assert float(gain.sel(radius=0.15)) > 0.15
        assert float(gain.sel(radius=0.0)) > -0.02
    found = measured(run)
    assert found["theorem_5_1.clean_error"] < 0.1
    assert found["purification.robust_error"] < 0.6
    # other draws of as many samples, other random starts
    error = 1 - after["robust_accuracy"].sel(classifier="network", attack="pgd", radius=0.15)
    assert found["theorem_5_3.robust_error"] == pytest.approx(float(error), abs=0.07)


@pytest.mark.papers
def test_clean_training_falls_to_the_direction_of_the_labels(run):
    assert measured(run)["theorem_5_1.robust_error"] > 0.9
    assert np.isfinite(list(measured(run).values())).all()


@pytest.mark.papers
def test_perturbations_go_along_the_labels_and_later_along_few_features(run):
    found = measured(run)
    assert found["section_6_2.universal"] > 0.8
    assert found["figure_12.dense"] > 0.5
    assert found["figure_12.density"] < 1.0


@pytest.mark.papers
def test_perturbations_of_clean_networks_transfer_between_seeds_and_not_to_robust_ones(run):
    other = shortened("purification_small", 600, 400, **{"seed": 1, "data.seed": 0, "evaluate": {}})
    clean, robust = (
        flowsim.transfer(run, other, [0.15], attacks=["fgm"], samples=500, at=1, onto=onto) for onto in (1, 2)
    )
    assert clean["transfer_rate"].item() > 0.8
    assert clean["random_accuracy"].item() > clean["transferred_accuracy"].item() + 0.2
    assert robust["transfer_rate"].item() < 0.5 * clean["transfer_rate"].item()


@pytest.mark.papers
def test_neurons_that_surely_win_a_feature_keep_it_and_most_of_those_that_learn_have_one(run):
    kept = run["winners_kept"].values[run["stage"].values == "clean"][-1]
    assert measured(run)["section_6_2.winners"] == kept >= 0.9
    assert measured(run)["theorem_5_2.single_learned"] > 0.5


@pytest.mark.papers
def test_adversarial_training_from_scratch_learns_features_without_the_mixture(run, scratch):
    clean = run["dense_ratio"].values[run["stage"].values == "clean"][-1]
    assert (scratch["dense_ratio"].values < 0.5 * clean).all()
    assert scratch["accuracy"].values[-1] > 0.9
    claims = scratch["claims"].to_dataset()
    applied = {str(claim) for claim in claims["claim"].values[np.isfinite(claims["measured"].values)]}
    assert applied == {"allen_zhu_li_2022.purification.from_scratch"}
    assert measured(scratch)["purification.from_scratch"] < 0.5


@pytest.mark.papers
def test_without_scikit_learn_the_density_is_not_measured_and_the_other_claims_are(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    found = evaluate(run, ["allen_zhu_li_2022.figure_12", "allen_zhu_li_2022.purification"])
    assert "pip install 'flowsim[learn]'" in found["note"].sel(claim="allen_zhu_li_2022.figure_12.density").item()
    assert found["holds"].sel(claim="allen_zhu_li_2022.purification.mixture").item()


@pytest.mark.papers
def test_most_of_what_was_large_goes_and_the_mixture_explains_a_third_of_the_gain(run):
    """Against the principle: see docs/papers/allen_zhu_li_2022."""
    found = measured(run)
    assert found["purification.features_removed"] > 0.3
    assert found["purification.features_new"] < 0.1
    assert found["purification.movement"] < 0.5
    assert 0.1 < found["purification.mixture_explains"] < 0.6
    told = ledger(run)
    before, after = told.isel(time=1), told.isel(time=2)
    removed = float(after["died"] / before["large"])
    assert removed == pytest.approx(found["purification.features_removed"], abs=1e-9)
