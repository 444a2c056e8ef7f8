"""Li et al. 2025, Section 6.1 and Appendix E.1: Figures 2a and 2b at the paper's size, and the flow beside them, smaller.

At the papers' size: make test-papers. The flows and the ablations are run by hand:
flowsim run scenarios/li_2025/fig2a_flow.toml.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.descent import keeping
from support.scripts import script

import flowsim
from flowsim.scenario.shipped import find, shipped

DESCENTS = ("fig2a", "fig2b", "digits_2class", "digits_10class")
ABLATIONS = {
    "fig5_n10000": {"samples": 10_000},
    "fig5_n50000": {"samples": 50_000},
    "fig6_step_1e-2": {"step": 1e-2},
    "fig6_step_1e-4": {"step": 1e-4},
    "fig7_scale_1e-3": {"scale": 1e-3},
    "fig7_scale_1e-4": {"scale": 1e-4},
    "fig8_snr_half": {"per_coordinate": 2.0},
    "fig8_snr_2": {"per_coordinate": 0.5},
    "fig9_cosine_1e-5": {"centers": "equicorrelated", "cosine": 1e-5},
    "fig9_cosine_1e-3": {"centers": "equicorrelated", "cosine": 1e-3},
    "fig9_cosine_9e-2": {"centers": "equicorrelated", "cosine": 0.09},
}


def scenario(name: str, **overrides) -> flowsim.Scenario:
    return flowsim.load(find(f"li_2025/{name}"), {key.replace("__", "."): value for key, value in overrides.items()})


def settings(name: str) -> dict[str, object]:
    """What a scenario of drawn data says of them, of the model, its start and the step, as one flat table."""
    read = scenario(name)
    sections = [read.data, read.model, read.init, read.flow]
    flat = {key: value for section in sections for key, value in section.model_dump().items()}
    return {
        key: value for key, value in flat.items() if key not in ("kind", "noise", "until")
    } | read.data.noise.model_dump()


@pytest.fixture(scope="module")
def averaging():
    return flowsim.run(scenario("fig2a"))


@pytest.fixture(scope="module")
def decoupling():
    return flowsim.run(scenario("fig2b"))


def verdicts(run) -> dict[str, str]:
    found = run["claims"].to_dataset()
    names = [str(name).removeprefix("li_2025.") for name in found["claim"].values]
    return dict(zip(names, found["verdict"].values.tolist(), strict=True))


def test_the_shipped_scenarios_are_the_paper_s_setting():
    baseline = {"dimension": 3072, "positive": 5, "negative": 5, "centers": "orthonormal", "radius": "sqrt_dimension"}
    baseline |= {"per_coordinate": 1.0, "samples": 1000, "activation": "relu", "width": 10, "output": "fixed"}
    baseline |= {"scale": 1e-5, "step": 1e-3, "iterations": 100}
    two = {"output_weight": 0.2, "bias": True, "signs": "half", "supervision": "class"}
    ten = {"output_weight": 1.0, "bias": False, "supervision": "cluster"}
    assert settings("fig2a").items() >= (baseline | two).items()
    assert settings("fig2b").items() >= (baseline | ten).items()
    assert scenario("fig2a").loss.kind == "logistic"
    assert scenario("fig2b").loss.kind == "cross_entropy"


@pytest.mark.parametrize("name", ["fig2a", "fig2b"])
def test_clusters_drawn_at_random_are_all_that_is_different(name):
    changed, plain = scenario(f"{name}_iid").model_dump(), scenario(name).model_dump()
    assert changed.pop("data") == {**plain.pop("data"), "balanced": False}
    assert changed | {"title": ""} == plain | {"title": ""}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_differs_from_figure_2a_in_one_thing(name):
    changed, plain = settings(name), settings("fig2a")
    apart = {key: changed[key] for key in changed if changed[key] != plain[key] and key != "reduce"}
    assert apart == ABLATIONS[name]


@pytest.mark.parametrize("name", [*DESCENTS, *ABLATIONS])
def test_a_flow_ends_at_the_time_of_its_descent_and_differs_in_the_method_alone(name):
    descent, flow = scenario(name), scenario(f"{name}_flow")
    assert descent.model_dump(exclude={"title", "flow"}) == flow.model_dump(exclude={"title", "flow"})
    assert flow.flow.method == "gradient_flow"
    assert flow.flow.until.time == pytest.approx(descent.flow.step * descent.flow.iterations)


def test_every_scenario_of_the_paper_is_named_here():
    descents = {*ABLATIONS, *DESCENTS}
    robust = {"fig3_2class", "fig3_10class", "digits_robust_2class", "digits_robust_10class"}
    robust |= {"fig2a_iid", "fig2b_iid", "fig2a_late", "assumed_2class", "assumed_fine", "fine_labels"}
    assert {name.partition("/")[2] for name in shipped() if name.startswith("li_2025/")} == descents | robust | {
        f"{name}_flow" for name in descents
    }


@pytest.mark.papers
def test_figure_2a_every_neuron_is_the_average_of_its_class(averaging):
    end = averaging.to_dataset().isel(time=-1)
    own = end["neuron_sign"] == end["cluster_label"]
    assert float(end["cosine"].where(own).mean()) == pytest.approx(0.444, abs=0.005)
    assert float(end["cosine"].where(~own).mean()) == pytest.approx(-0.026, abs=0.003)
    assert end["accuracy"] == 1


@pytest.mark.papers
def test_the_loss_of_the_hundredth_iteration_is_that_before_its_update(averaging):
    loss = averaging.to_dataset()["loss"]
    assert loss.sizes["time"] == 101
    assert 0.168 <= float(loss[99]) <= 0.170
    assert float(loss[100]) == pytest.approx(0.168, abs=0.001)


@pytest.mark.papers
def test_figure_2b_every_neuron_is_the_centre_of_its_output(decoupling):
    end = decoupling.to_dataset().isel(time=-1)
    own = end["neuron_output"] == end["cluster"]
    assert end["cosine"].where(own).min() >= 0.990
    assert end["cosine"].where(own).max() <= 0.996
    assert abs(end["cosine"]).where(~own).max() <= 0.03
    assert end["accuracy"] == end["binary_accuracy"] == 1


@pytest.mark.papers
def test_figure_2a_is_outside_of_what_the_theorems_assume(averaging):
    """d/k^10 = 3e-7. Where few samples of a cluster activate a neuron at time 0, one update hardly reaches the others."""
    found = verdicts(averaging)
    about_training = {
        name for name in found if name.startswith(("theorem_4_5", "theorem_4_6", "lemma_5_3", "lemma_5_5"))
    }
    assert len(about_training) == 12
    assert {found[name] for name in about_training} == {"outside"}
    # it is wrong where margins add up to less than 0
    assert {name for name, verdict in found.items() if verdict == "fails"} == {"lemma_b_6"}
    claims = averaging["claims"].to_dataset()
    away = keeping(claims) - {"li_2025.lemma_b_6"}
    assert {f"li_2025.{name}" for name in about_training} - away == {
        "li_2025.theorem_4_6.distance",
        "li_2025.lemma_5_5",
    }
    run = averaging.to_dataset()
    assert (run["activation_region"][3:] == 1).all()
    active = run["active_fraction"].where(run["neuron_sign"] == run["cluster_label"], 1.0)
    assert active[0].where(active[1] < 1).max() < 0.15


@pytest.mark.papers
def test_figure_2b_withstands_more_than_the_theorem_says_outside_of_what_it_assumes(decoupling):
    found = verdicts(decoupling)
    assert {verdict for name, verdict in found.items() if name.startswith("theorem_4_7")} == {"outside"}
    assert {found[name] for name in ("lemma_c_6", "corollary_c_8", "corollary_c_9", "theorem_d_3")} == {"holds"}
    claims = decoupling["claims"].to_dataset()
    assert {"li_2025.theorem_4_7.certified", "li_2025.theorem_4_7.attacked"} <= keeping(claims)
    radius = claims["constant_value"].sel(
        claim="li_2025.theorem_4_7.certified", constant="least certified radius/d^1/2"
    )
    assert 0.3 < float(radius) < 0.7


@pytest.mark.papers
def test_two_clusters_are_within_what_the_theorems_assume_and_their_o_1_grows():
    two, fine = (verdicts(flowsim.run(scenario(f"assumed_{name}"))) for name in ("2class", "fine"))
    assert "outside" not in {verdict for name, verdict in two.items() if name.startswith(("theorem", "lemma"))}
    assert "outside" not in {verdict for name, verdict in fine.items() if name.startswith(("theorem", "lemma"))}
    assert two["theorem_4_5.relative_averaging"] == two["theorem_4_6.relative_distance"] == "holds"
    assert two["theorem_4_5.feature_averaging"] == two["theorem_4_6.distance"] == two["lemma_a_13"] == "fails"
    assert fine["theorem_4_7.certified"] == fine["theorem_4_7.relative_decoupling"] == "holds"


@pytest.mark.papers
def test_with_clusters_drawn_at_random_coefficients_follow_their_sizes(averaging):
    run = flowsim.run(scenario("fig2a_iid"))
    uneven, even = (tree["claims"].to_dataset() for tree in (run, averaging))
    name = "li_2025.theorem_4_5.equal_coefficients"
    assert name in keeping(even)
    assert name not in keeping(uneven)


@pytest.mark.papers
def test_a_part_of_the_fine_labels_makes_a_network_more_robust():
    """Half of the samples are lost beyond the 17.7 of training on two classes."""
    few = {"attacks": ["pgd"], "samples": 60, "radii": [0.0, 20.0]}
    found = flowsim.run(scenario("fine_labels", data__fine=0.5, evaluate__robustness=few))["robustness/robust_accuracy"]
    assert found.sel(classifier="network", radius=0.0).min() == 1
    assert found.sel(classifier="network", radius=20.0).min() > 0.5


@pytest.mark.papers
def test_fine_labels_first_and_then_two_classes_ends_as_little_robust_as_two_classes():
    """Neurons keep most of their own centre; the sum of them does not."""
    rows = [line.split("|") for line in script("fine_then_two").main(1000, 300)]
    assert ["one centre" in rows[0][2], "others" in rows[0][3], "radius" in rows[0][5]] == [True] * 3
    own, others, radius = (np.array([float(row[column]) for row in rows[2:]]) for column in (2, 3, 5))
    # with fine labels, half of the way, at its end, and without fine labels
    assert own[0] > own[1] > own[2] > own[3] + 0.3
    assert others[0] < others[1] < others[2] < others[3]
    assert radius[0] > 1.4 * radius[2]
    assert radius[2] == pytest.approx(radius[3], rel=0.05)


@pytest.mark.papers
def test_every_neuron_is_reassembled_from_its_coefficients(averaging, decoupling):
    for run, lemma in ((averaging, "lemma_5_1"), (decoupling, "lemma_c_6")):
        found = run["claims"].to_dataset()
        assert found["measured"].sel(claim=f"li_2025.{lemma}") < 1e-8


@pytest.mark.parametrize(("name", "apart"), [("fig2a", 0.01), ("fig2b", 0.02)])
def test_the_flow_ends_where_descent_does(name, apart):
    """With 200 samples in place of 1000."""
    fewer = {"data__samples": 200, "evaluate__claims": [], "observe__variables": ["cosine", "log10_loss", "log_norm"]}
    descent, flow = (flowsim.run(scenario(which, **fewer)) for which in (name, f"{name}_flow"))
    distance = flowsim.compare(descent, flow)
    assert float(distance["loss_ratio"][-1]) == pytest.approx(1, abs=apart)
    assert distance["angle"].isel(snapshot=-1).max() < 0.05
    assert np.isfinite(distance["relative_weight_distance"].isel(snapshot=-1)).all()


def test_on_digits_ten_classes_separate_what_two_classes_mix():
    two, ten = (flowsim.run(scenario(f"digits_{name}")).dataset.isel(time=-1) for name in ("2class", "10class"))
    assert ten["cosine"].where(ten["neuron_output"] == ten["cluster"]).min() > 0.9
    assert two["cosine"].max() < 0.8
    assert ten["binary_accuracy"] > two["accuracy"] + 0.03
    assert two["test_accuracy"] > 0.9


@pytest.mark.parametrize(("name", "of"), [("fig3_2class", "fig2a"), ("fig3_10class", "fig2b")])
def test_the_networks_of_figure_3_are_those_of_figure_2(name, of):
    unlike = {"title", "evaluate"}
    assert scenario(name).model_dump(exclude=unlike) == scenario(of).model_dump(exclude=unlike)


@pytest.mark.papers
def test_figure_3_two_classes_lose_half_between_16_and_20_and_ten_classes_between_34_and_40(averaging, decoupling):
    """sqrt(d/k) = 17.5 and sqrt(d/2) = 39.2 without noise; at full size: flowsim run scenarios/li_2025/fig3_2class.toml."""
    few = {"attacks": ["pgd", "strong"], "samples": 100, "steps": 40}
    two = flowsim.robustness(averaging, few | {"radii": [0.0, 16.0, 20.0]})["robust_accuracy"]
    ten = flowsim.robustness(decoupling, few | {"radii": [0.0, 34.0, 40.0], "compare": ["classes"]})["robust_accuracy"]
    assert (two.sel(radius=0.0) == 1).all()
    assert (ten.sel(radius=0.0) == 1).all()
    for found, at, beyond in ((two, 16.0, 20.0), (ten, 34.0, 40.0)):
        assert (found.sel(radius=at) > 0.5).all()
        assert (found.sel(radius=beyond) < 0.5).all()
    # more classes are more to tell apart: what the decision between ten withstands, the binary one does, too
    strong = ten.sel(attack="strong")
    assert (strong.sel(classifier="classes") <= strong.sel(classifier="network") + 0.02).all()


@pytest.mark.papers
def test_on_digits_training_on_ten_classes_is_more_robust():
    asked = {"attacks": ["strong"], "samples": 150, "steps": 40, "radii": [0.5, 1.0, 2.0]}
    names = ("digits_robust_2class", "digits_robust_10class")
    runs = (flowsim.run(scenario(name, evaluate__robustness=asked)) for name in names)
    two, ten = (run["robustness/robust_accuracy"].to_numpy().ravel() for run in runs)
    assert (ten > two + np.array([0.02, 0.05, 0.1])).all()
