"""The XOR classifier of Frei et al. 2022, and what descent says to the paper's claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from support.descent import descended, group, keeping

import flowsim
from flowsim.cli.page import text
from flowsim.cli.sparklines import Sheet
from flowsim.kinds.clusters import frame
from flowsim.observe import Setting
from flowsim.observe.kinds.xor import GOOD_RUN_C0
from flowsim.papers import CLAIMS, Evidence, evaluate, frei_2022, held_against
from flowsim.problem import reduce

#: The paper's high-dimensional setting, smaller; T = 1 + 1/(4 step) = 6 for its step of 0.05.
SETTING = """
[data]
dimension = 200
centers = "centers.npy"
noise = { per_coordinate = 0.014 }
samples = 600
label_noise = 0.1
balanced = false
[model]
activation = "relu"
width = 200
output = "fixed"
output_weight = 0.07071067811865475
[init]
scale = 1e-5
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 0.3 }
[observe]
times = 7
variables = ["log_norm", "cosine"]
snapshots = "all"
[evaluate]
claims = ["frei_2022"]
"""
STEP = 0.05
FOLLOWED = ("neuron_alignment", "almost_orthogonality")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xor")
    axes = frame(2, 200, None, np.random.default_rng(1))
    np.save(folder / "centers.npy", np.array([axes[0], -axes[0], axes[1], -axes[1]]))
    return folder


@pytest.fixture(scope="module")
def scenario(folder):
    return flowsim.loads(SETTING, folder=folder)


@pytest.fixture(scope="module")
def evidence(scenario):
    return descended(scenario, STEP, 6, FOLLOWED)


@given(seed=st.integers(0, 999), size=st.floats(1e-3, 1e3))
def test_the_ideal_classifier_is_a_difference_of_absolute_values(seed, size):
    generator = np.random.default_rng(seed)
    first, second = np.linalg.qr(generator.standard_normal((6, 2)))[0].T
    x = size * generator.standard_normal((10, 6))
    ideal = frei_2022.xor_ideal(np.array([first, -first, second, -second]))
    np.testing.assert_allclose(ideal(x), abs(x @ first) - abs(x @ second), atol=1e-12 * size)


def test_in_the_paper_s_setting_descent_does_what_the_paper_says(evidence):
    own = {name for name in CLAIMS if name.startswith("frei_2022.")}
    # with the paper's own C_0 a set J_mu has to be of exactly a quarter of the neurons
    assert own - keeping(held_against(CLAIMS, ["frei_2022"], evidence)) <= {
        name for name in own if name.endswith("good_run")
    }


def test_a_good_run_with_the_paper_s_constant_captures_with_every_neuron(evidence):
    found = group(held_against(CLAIMS, ["frei_2022.lemma_4_2"], evidence))
    assert found["frei_2022.lemma_4_2.all_clusters_good_run"] == ("outside", 1.0)
    share = found["frei_2022.lemma_4_2.each_cluster_good_run"][1]
    signs = evidence.problem.hidden @ evidence.problem.centers[::2].T > 0
    positive = evidence.problem.output > 0
    each = [np.mean(signs[:, 0] & positive), np.mean(signs[:, 1] & ~positive)]
    assert share == pytest.approx(min(*each, 0.5 - max(each)))
    assert share < (1 - 1 / GOOD_RUN_C0) ** 2 / 4 or share == 0.25


def test_lemma_4_4_counts_clean_samples_that_activate_a_neuron(evidence):
    """Neuron by neuron and centre by centre."""
    problem = evidence.problem
    clean = problem.targets == problem.cluster_label[problem.sample_cluster]
    differences = []
    for weights in problem.hidden:
        for cluster in range(4):
            if weights @ problem.centers[cluster] >= np.linalg.norm(weights) / (12 * 200**0.5):
                on, off = (problem.inputs[clean & (problem.sample_cluster == k)] for k in (cluster, cluster ^ 1))
                differences.append(int((on @ weights > 0).sum()) - int((off @ weights > 0).sum()))
    found = group(held_against(CLAIMS, ["frei_2022.lemma_4_4"], evidence))
    assert found["frei_2022.lemma_4_4.edge"][1] == pytest.approx(min(differences) / 600)


def test_the_search_for_counterexamples_to_lemma_4_6_looks_at_the_worst_neurons(evidence):
    """Every J whose complement are the r neurons that speak most against the label, r by r, at |W| = 1."""
    problem, network = evidence.problem, evidence.network
    hidden = network.hidden / np.linalg.norm(network.hidden)
    worst = 1.0
    for x, y in zip(problem.inputs, problem.targets, strict=True):
        shares = np.sort(y * problem.output * np.maximum(hidden @ x, 0))
        for left in range(200 // 16 + 1):
            without = shares[left:].sum()
            if 0 < without < 1 and left / 200 <= without**2 / 16:
                worst = min(worst, shares.sum() / without)
    measured = group(held_against(CLAIMS, ["frei_2022.lemma_4_6"], evidence))["frei_2022.lemma_4_6"][1]
    assert measured == pytest.approx(worst)
    assert 0.5 <= measured <= 1


def test_samples_deviate_from_their_centres_along_across_and_in_all(evidence):
    problem = evidence.problem
    noise = problem.inputs - problem.centers[problem.sample_cluster]
    along = (noise * problem.centers[problem.sample_cluster]).sum(axis=1)
    unit = 0.014 * 200**0.5
    found = group(held_against(CLAIMS, ["frei_2022.lemma_4_3"], evidence))
    assert found["frei_2022.lemma_4_3.along"][1] == pytest.approx(-along.min() / unit)
    across = noise - along[:, None] * problem.centers[problem.sample_cluster]
    assert found["frei_2022.lemma_4_3.across"][1] == pytest.approx(np.linalg.norm(across, axis=1).max() / unit)
    assert found["frei_2022.lemma_4_3.distance"][1] == pytest.approx((noise**2).sum(axis=1).max() / unit**2)


@pytest.mark.parametrize("flips", ["boundary", "cluster"])
def test_an_adversary_flips_as_many_labels_where_they_hurt(flips):
    """Those nearest to the boundary, or those of one cluster; the samples stay what they are."""
    by_chance, chosen = (
        flowsim.build(flowsim.loads(ALLOWED, overrides={"data.flips": name, "data.label_noise": 0.1}))
        for name in ("random", flips)
    )
    np.testing.assert_array_equal(by_chance.inputs, chosen.inputs)
    flipped = chosen.targets != chosen.clean_targets
    assert flipped.sum() == (by_chance.targets != by_chance.clean_targets).sum() == 12
    if flips == "cluster":
        assert set(chosen.sample_cluster[flipped]) == {0}
    else:
        along = np.abs(chosen.inputs @ chosen.centers[::2].T)
        apart = np.abs(along[:, 0] - along[:, 1])
        assert apart[flipped].max() <= apart[~flipped].min()


def test_measured_values_are_those_of_the_weights(evidence):
    found = group(held_against(CLAIMS, ["frei_2022"], evidence))
    problem, run = evidence.problem, evidence.trajectory
    hidden = np.exp(run["log_norm"].values)[..., None] * run["direction"].values
    outputs = np.maximum(problem.inputs @ hidden[-1].T, 0) @ problem.output
    clean = problem.targets == problem.cluster_label[problem.sample_cluster]
    assert 0 < clean.mean() < 1
    right = np.sign(outputs) == problem.targets
    assert found["frei_2022.theorem_3_1.clean_points"][1] == pytest.approx(right[clean].mean())
    assert found["frei_2022.theorem_3_1.noisy_points"][1] == pytest.approx(1 - right[~clean].mean())
    features = [np.maximum(problem.inputs @ weights.T, 0) for weights in (hidden[0], hidden[-1])]
    change = np.linalg.norm(features[1] - features[0], axis=1) / np.linalg.norm(features[0], axis=1)
    assert found["frei_2022.proposition_3_2"][1] == pytest.approx(change.min())
    captured = [
        (j, k)
        for j in range(200)
        for k in ([0, 1] if problem.output[j] > 0 else [2, 3])
        if float(run["cosine"][0, j, k]) >= 1 / (12 * 200**0.5)
    ]
    assert found["frei_2022.lemma_4_2.all_clusters"][1] == pytest.approx(len(captured) / 200)
    cosines = [float(run["cosine"][1, j, k]) for j, k in captured]
    assert found["frei_2022.lemma_4_10.smallest"][1] == pytest.approx(min(cosines))
    assert found["frei_2022.lemma_4_10.after"][1] == pytest.approx(np.median(cosines))
    sizes = np.linalg.norm(hidden[0], axis=1) / (1e-5 * 200**0.5)
    assert found["frei_2022.lemma_4_1.largest_norm"][1] == pytest.approx(sizes.max())


def test_conditions_are_followed_until_a_quarter_and_no_further(evidence):
    """Iterations 1 to 1/(4 step) = 5 count; what happens at the sixth does not matter, at the third it does."""
    names = ["frei_2022.condition_4_7", "frei_2022.condition_4_8"]
    for iteration, kept in ((6, set(names)), (3, set())):
        run = evidence.trajectory.copy(deep=True)
        run["neuron_alignment"][iteration] = 0.5
        run["almost_orthogonality"][iteration] = 1.0
        assert keeping(held_against(CLAIMS, names, replace(evidence, trajectory=run))) & {*names} == kept


def test_without_the_paper_s_small_initial_weights_features_hardly_change_in_so_few_steps(folder):
    scenario = flowsim.loads(SETTING, folder=folder, overrides={"init.scale": 1.0})
    kept = keeping(held_against(CLAIMS, ["frei_2022"], descended(scenario, STEP, 6, FOLLOWED)))
    for name in ("lemma_4_10.after", "condition_4_7", "theorem_3_1.clean_points"):
        assert f"frei_2022.{name}" not in kept


#: (A1) to (A7) with C = 4, the least for a step of 1/4: log(120/0.05)^2 = 60.6, log(20/0.05) = 6.0, log(1/0.05) = 3.0.
ALLOWED = """
[data]
kind = "xor"
dimension = 243
noise = { total = 0.25 }
samples = 120
balanced = false
label_noise = 0.25
[model]
activation = "relu"
width = 20
output = "fixed"
output_weight = 0.22360679774997896
[init]
scale = 8.9e-4
signs = "half"
[loss]
kind = "logistic"
[flow]
method = "gradient_descent"
step = 0.25
iterations = 2
[observe]
times = 3
[evaluate]
claims = ["frei_2022"]
"""
EACH = {
    "(A1) d >= C max(log^2(n/delta), log(m/delta)): 242, off by 0.3143 from 242.3": {"data.dimension": 242},
    "(A2) m >= C log(1/delta): 10, off by 1.983 from 11.98": {"model.width": 10, "model.output_weight": 10**-0.5},
    "(A3) sigma sqrt(d) <= 1/C: 0.26, off by 0.01 from 0.25": {"data.noise.total": 0.26},
    "(A4) n >= C log(m/delta): 22, off by 1.966 from 23.97": {"data.samples": 22, "data.label_noise": 0.2},
    "(A5) noise rate <= 1/C: 0.2583, off by 0.008333 from 0.25": {"data.label_noise": 31 / 120},
    "(A6) omega sqrt(m d) <= 1/C^2: 0.06274, off by 0.0002423 from 0.0625": {"init.scale": 9e-4},
    "(A7) step < 1: 1, off by 1e-06 from 1": {"flow.step": 1.0},
    "gradient descent over all samples: 0, off by 1 from 1": {"flow.method": "sgd", "flow.batch": 60},
    "mean logistic loss: 0, off by 1 from 1": {"loss.reduction": "sum"},
    "|a_j| sqrt(m) = 1: largest deviation: 0.3416, off by 0.3416 from 1e-08": {"model.output_weight": 0.3},
    "|mu| = 1: largest deviation: 1, off by 1 from 1e-08": {"data.radius": 2.0},
    "neurons without biases: 0, off by 1 from 1": {"model.bias": True},
}


def unmet(name: str, evidence: Evidence) -> list[str]:
    """The premises of a claim that a run does not meet, in words"""
    return [premise.refusal for premise in frei_2022.CLAIMS[name].premises(evidence) if not premise.met]


@pytest.mark.parametrize("reason", EACH)
def test_every_assumption_that_is_not_met_is_named_and_no_other(reason):
    scenario = flowsim.loads(ALLOWED, overrides=EACH[reason])
    assert unmet("lemma_4_1.smallest_norm", undescended(flowsim.loads(ALLOWED))) == []
    assert unmet("lemma_4_1.smallest_norm", undescended(scenario)) == [reason]


def undescended(scenario):
    problem = flowsim.build(scenario)
    return Evidence(scenario, Setting(reduce(problem)), xr.Dataset(), scenario.flow.step)


def test_a_flow_takes_no_steps_and_has_sizes_that_no_constant_allows():
    evidence = undescended(flowsim.loads(ALLOWED, overrides={"flow": {"until": {"time": 1.0}}, "data.dimension": 60}))
    first, second = unmet("theorem_3_1.clean_points", evidence)
    assert first == "gradient descent over all samples: 0, off by 1 from 1"
    assert second == "(A1) d >= C max(log^2(n/delta), log(m/delta)): 60, off by 0.5786 from 60.58"


def test_theorem_3_1_is_about_the_network_after_so_many_iterations_and_a_lemma_about_the_start_is_not():
    scenario = flowsim.loads(ALLOWED, overrides={"flow.iterations": 9})
    evidence = replace(undescended(scenario), trajectory=xr.Dataset(coords={"time": 0.25 * np.arange(10)}))
    assert unmet("theorem_3_1.clean_points", evidence) == ["|iterations - (1 + 1/(4 step))| <= 1: 7, off by 6 from 1"]
    assert unmet("lemma_4_2.each_cluster", evidence) == []


def test_a_run_outside_of_the_assumptions_says_so_and_why_in_file_and_page():
    tree = flowsim.run(flowsim.loads(ALLOWED, overrides={"data.dimension": 2, "data.samples": 40, "model.width": 40}))
    found = tree["claims"].to_dataset()
    assert set(found["verdict"].values) == {"outside"}
    assert all("(A1) d >= " in note for note in found["note"].values)
    assert float(found["premise_margin"].sel(premise="(A7) step < 1")[0]) == pytest.approx(0.75, abs=1e-5)
    assert "    because: |a_j| sqrt(m) = 1: largest deviation: 0.4142" in text(tree, Sheet())


def test_a_flow_has_nothing_to_say_of_steps_but_all_else_holds(folder):
    smaller = {"data.samples": 100, "model.width": 40, "model.output_weight": 40**-0.5, "flow.rtol": 1e-4}
    run = flowsim.run(flowsim.loads(SETTING, folder=folder, overrides=smaller))
    found = run["claims"].to_dataset()
    names = set(map(str, found["claim"].values))
    assert {"frei_2022.condition_4_8", "frei_2022.lemma_4_10.after"}.isdisjoint(names)
    assert all(name.endswith("good_run") for name in names - keeping(found))
    assert "frei_2022.condition_4_7" in names


def test_other_data_than_xor_are_not_spoken_of(result):
    with flowsim.open(result) as tree:
        assert evaluate(tree, ["frei_2022"]).sizes["claim"] == 0
        named = evaluate(tree, ["frei_2022.theorem_3_1"])
    assert set(named["verdict"].values) == {"not_applicable"}
    assert set(named["note"].values) == {"it speaks of the four centres of XOR"}
