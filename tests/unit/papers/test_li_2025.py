"""The ideal classifiers of Li et al. 2025 in closed form, and what runs say to the paper's claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.descent import descended, group, keeping

import flowsim
from flowsim.observe import Setting
from flowsim.papers import CLAIMS, Evidence, held_against, li_2025
from flowsim.problem import reduce
from flowsim.problem.weights import Weights

#: The paper's setting, smaller: 4 clusters, 4 neurons of each sign.
SMALLER = """
[data]
dimension = 700
radius = "sqrt_dimension"
noise = { per_coordinate = 1.0 }
samples = 160
[model]
activation = "relu"
width = 8
bias = true
output = "fixed"
output_weight = 0.25
[init]
scale = 1e-5
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 0.1 }
[observe]
times = 5
[evaluate]
claims = ["li_2025"]
"""


def clusters(count: int, radius: float, features: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """(orthogonal centres of this norm, labels of which the first half is +1)"""
    frame = np.linalg.qr(np.random.default_rng(count).standard_normal((features, count)))[0].T
    return radius * frame, np.where(np.arange(count) < count // 2, 1, -1)


@given(half=st.integers(1, 5), radius=st.floats(0.1, 100), size=st.floats(0, 3))
def test_the_averaging_classifier_gives_way_linearly_to_the_attack_on_the_average(half, radius, size):
    """At mu_j moved by c R/sqrt(k), c up to 2, f_FA is R^2 (1 - c): Remark 4.2 with its constant."""
    centers, label = clusters(2 * half, radius)
    size = min(size, 2.0)
    moved = centers - size * radius / (2 * half) ** 0.5 * label[:, None] * li_2025.averaging_attack(centers, label)
    outputs = li_2025.feature_averaging(centers, label)(moved)
    np.testing.assert_allclose(outputs, label * radius**2 * (1 - size), atol=1e-9 * radius**2)


@given(half=st.integers(1, 5), radius=st.floats(0.1, 100), seed=st.integers(0, 999), share=st.floats(0, 0.999))
def test_the_decoupling_classifier_withstands_everything_below_half_the_radius(half, radius, seed, share):
    centers, label = clusters(2 * half, radius)
    move = np.random.default_rng(seed).standard_normal(centers.shape)
    move *= share * radius / 2 / np.linalg.norm(move, axis=1, keepdims=True)
    classifier = li_2025.feature_decoupling(centers, label)
    np.testing.assert_allclose(classifier(centers), label * radius**2 / 2)
    assert (np.sign(classifier(centers + move)) == label).all()


@pytest.mark.parametrize("half", [1, 2, 5])
def test_the_averaging_multi_class_network_turns_at_2k_over_k_plus_2(half):
    centers, label = clusters(2 * half, 3.0)
    count = 2 * half
    outputs = li_2025.averaging_outputs(centers, centers, label)
    expected = 9.0 * ((label[:, None] == label) + np.eye(count))
    np.testing.assert_allclose(outputs, expected, atol=1e-12)
    threshold = 2 * count / (count + 2) * 3.0 / count**0.5
    for factor, right in ((1 - 1e-6, True), (1 + 1e-6, False)):
        moved = centers - factor * threshold * label[:, None] * li_2025.averaging_attack(centers, label)
        largest = li_2025.averaging_outputs(moved, centers, label).argmax(axis=1)
        assert (label[largest] == label).all() == right


@given(seed=st.integers(0, 999), size=st.floats(1e-3, 1e4))
def test_the_binary_classifiers_of_several_outputs(seed, size):
    outputs = size * np.random.default_rng(seed).standard_normal((6, 4))
    label = np.array([1, 1, -1, -1])
    probability = li_2025.binary_probability(outputs, label)
    # a sum over another: 4 eps
    assert (np.abs(probability) <= 1 + 1e-15).all()
    if size < 100:
        softmax = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(probability, softmax[:, :2].sum(axis=1) - softmax[:, 2:].sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(li_2025.binary_logit(outputs, label), outputs @ [1, 1, -1, -1])


@pytest.fixture(scope="module")
def run():
    return flowsim.run(flowsim.loads(SMALLER))


def test_at_a_smaller_size_a_flow_does_what_the_paper_says_outside_of_its_assumptions(run):
    claims = run["claims"].to_dataset()
    found = {name.removeprefix("li_2025."): row for name, row in group(claims).items()}
    several = {
        name for name in CLAIMS if name.startswith(("li_2025.theorem_4_7.", "li_2025.lemma_c", "li_2025.corollary_c"))
    }
    silent = several | {"li_2025.lemma_5_2.updates"}
    assert {f"li_2025.{name}" for name in found} == {name for name in CLAIMS if name.startswith("li_2025.")} - silent
    theorems = {name for name in found if name.startswith("theorem_4")}
    assert {found[name][0] for name in theorems} == {"outside"}
    # too small are the bounds of what is absolute
    small = {"theorem_4_5.feature_averaging", "theorem_4_6.distance"}
    assert {f"li_2025.{name}" for name in theorems - small} <= keeping(claims)
    margins = claims["premise_margin"].sel(claim="li_2025.theorem_4_5.bias").dropna("premise")
    assert float(margins.sel(premise="log10 d >= 10 log10 k")) == pytest.approx(np.log10(700 / 4**10))
    assert "log10 d >= 10 log10 k: 2.845, off by 3.1" in str(
        claims["note"].sel(claim="li_2025.theorem_4_5.bias").item()
    )
    assert {found[f"theorem_d_{part}"][0] for part in (1, 3)} == {"holds"}
    assert found["lemma_5_1"][0] == found["lemma_5_2.signs"][0] == "holds"


def test_the_induction_of_lemma_b_7_is_that_of_the_updates_by_hand():
    """Coefficients are added up by equations (2) and (3) along descent by hand, and epsilon is written out."""
    descent = {"method": "gradient_descent", "step": 0.02, "iterations": 3}
    kept = {"observe.times": 4, "observe.snapshots": "all"}
    scenario = flowsim.loads(SMALLER).replace({"flow": descent, "data.samples": 40, **kept})
    found = group(flowsim.run(scenario)["claims"].to_dataset())
    problem = flowsim.build(scenario)
    x, y, sign = problem.inputs, problem.targets, np.sign(problem.output)
    w, b, own = problem.hidden.copy(), problem.hidden_bias.copy(), sign[:, None] == y
    noise = ((x - problem.centers[problem.sample_cluster]) ** 2).sum(axis=1)
    member = problem.sample_cluster[:, None] == np.arange(4)
    pulled, worst = np.zeros((8, 40)), dict.fromkeys(("sums", "sums_within", "gap", "ratio", "other_clusters"), 0.0)
    for _ in range(3):
        active = w @ x.T + b[:, None] >= 0
        output = sign @ (active * (w @ x.T + b[:, None])) / 4
        pull = 0.02 / (4 * 40) * active * (y / (1 + np.exp(y * output))) * sign[:, None]
        w, b, pulled = w + pull @ x, b + pull.sum(axis=1), pulled + pull
        lambdas = 700 * pulled @ member
        sums = (own * (lambdas[:, problem.sample_cluster] + pulled * noise)).sum(axis=0) / 4
        margin = y * (sign @ np.maximum(w @ x.T + b[:, None], 0)) / 4
        slopes = 1 / (1 + np.exp(margin))
        now = {
            "sums": np.ptp(sums),
            "sums_within": max(np.ptp(sums[rows]) for rows in member.T),
            "gap": np.ptp(margin),
            "ratio": slopes.max() / slopes.min() - 1,
            "other_clusters": np.abs(lambdas[sign[:, None] != problem.cluster_label]).max(),
        }
        worst = {name: max(value, worst[name]) for name, value in now.items()}
    correlation, ratio = 4 * 700**0.5 * np.log(700), 40 / 4
    epsilon = max(2 * np.log(ratio) / (ratio**0.5 - np.log(ratio)), 16 * correlation / 700, 16 / 40)
    for name, value in worst.items():
        assert found[f"li_2025.lemma_b_7.{name}"][1] == pytest.approx(value / epsilon, rel=1e-8), name


def test_what_is_measured_is_what_one_computes_from_the_weights(run):
    found = group(run["claims"].to_dataset())
    scenario = flowsim.loads(SMALLER)
    problem, data = flowsim.build(scenario), run.to_dataset()
    norm = np.exp(data["log_norm"].values[-1])
    hidden = norm[:, None] * data["direction"].values[-1]
    dual = problem.centers / 700
    target = np.array([dual[:2].sum(axis=0)] * 4 + [dual[2:].sum(axis=0)] * 4)
    # the best of many lambda, to what their spacing and a parabola leave
    factors = np.linspace(0, 4, 4001)
    distances = [np.linalg.norm(hidden - factor * target, axis=1).max() * 700**0.5 for factor in factors]
    best = int(np.argmin(distances))
    assert found["li_2025.theorem_4_5.feature_averaging"][1] == pytest.approx(distances[best], abs=1e-3)
    assert found["li_2025.theorem_4_5.relative_averaging"][1] == pytest.approx(
        distances[best] / factors[best], abs=2e-3
    )
    assert found["li_2025.theorem_4_5.large_coefficient"][1] == pytest.approx(factors[best], abs=2e-3)
    assert found["li_2025.theorem_4_5.bias"][1] == pytest.approx(abs(norm * data["bias_weight"].values[-1]).max())
    assert found["li_2025.lemma_5_3.margin_gap"][1] == pytest.approx(float(data["margin_gap"][1:].max()))


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"flow.until": {"time": 1e-4}}, {"theorem_4_5.large_coefficient", "theorem_4_5.relative_averaging"}),
        ({"init.scale": 0.3}, {"theorem_4_5.relative_averaging", "theorem_4_6.relative_distance", "lemma_5_5"}),
        (
            {"data.noise": {"per_coordinate": 12.0}, "flow.until": {"time": 1e-3}},
            {"theorem_4_5.clean_accuracy", "proposition_4_8.clean_accuracy"},
        ),
    ],
    ids=["too early", "large initial weights", "noise over signal"],
)
def test_outside_of_the_paper_s_setting_bounds_are_not_kept(changes, broken):
    claims = flowsim.run(flowsim.loads(SMALLER, overrides=changes))["claims"].to_dataset()
    kept = {name.removeprefix("li_2025.") for name in keeping(claims)}
    assert broken <= {name.removeprefix("li_2025.") for name in group(claims)} - kept


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"data.label_noise": 0.1}, "all of them clean"),
        ({"model": {"activation": "relu"}}, "fixed output weights"),
        ({"data.negative": 0}, "both labels"),
        ({"model.activation": "tanh"}, "the activation is tanh"),
        ({"observe.snapshots": "none"}, "weights were not kept"),
    ],
    ids=str,
)
def test_claims_that_do_not_apply_say_why_where_they_are_named(changes, reason):
    changes = {"data.dimension": 60, "flow.until": {"time": 1e-3}, "data.samples": 40} | changes
    run = flowsim.run(flowsim.loads(SMALLER, overrides=changes | {"evaluate.claims": ["li_2025.theorem_4_5"]}))
    found = run["claims"].to_dataset()
    row = found.isel(claim=found["claim"].values.tolist().index("li_2025.theorem_4_5.feature_averaging"))
    assert row["verdict"] == "not_applicable"
    assert reason in str(row["note"].item())
    assert not bool(row["holds"])
    assert np.isnan(row["measured"])


def test_where_samples_are_dependent_coefficients_come_from_a_projection():
    changes = {
        "data.samples": 400,
        "data.dimension": 300,
        "evaluate.claims": ["li_2025.theorem_4_5", "li_2025.lemma_5_1"],
    }
    found = group(flowsim.run(flowsim.loads(SMALLER, overrides=changes))["claims"].to_dataset())
    assert found["li_2025.theorem_4_5.equal_coefficients"][1] < 0.2
    assert found["li_2025.lemma_5_1"][0] == "not_applicable"


def test_descent_updates_its_coefficients_by_equations_2_and_3():
    changes = {"data.dimension": 100, "data.samples": 60, "observe.snapshots": "all"}
    evidence = descended(flowsim.loads(SMALLER, overrides=changes), step=1e-2, iterations=6)
    found = group(held_against(CLAIMS, ["li_2025.lemma_5_2", "li_2025.lemma_5_1"], evidence))
    assert found["li_2025.lemma_5_2.updates"][0] == "holds"
    assert found["li_2025.lemma_5_2.updates"][1] < 1e-9
    # the same iterations, told as if they had been longer
    run = evidence.trajectory
    slower = run.assign_coords(time=2 * run["time"], snapshot=2 * run["snapshot"])
    twice = replace(evidence, trajectory=slower, step=2e-2)
    wrong = group(held_against(CLAIMS, ["li_2025.lemma_5_2"], twice))["li_2025.lemma_5_2.updates"]
    assert wrong == ("fails", pytest.approx(0.5, rel=1e-6))


def several_outputs(noise: float) -> Evidence:
    """A network whose neurons are 3 mu_j/|mu_j|^2, two for each of the 4 clusters, and noise of this size."""
    overrides = {"model.bias": False, "data.dimension": 400, "flow.until": {"time": 1e-9}}
    overrides |= {"data.supervision": "cluster", "loss.kind": "cross_entropy", "init.signs": "positive"}
    scenario = flowsim.loads(SMALLER, overrides=overrides)
    plain = flowsim.build(scenario)
    hidden = 3 * plain.centers[plain.neuron_output] / 400
    hidden = hidden + noise * np.random.default_rng(0).standard_normal(hidden.shape) / 400
    norm = np.linalg.norm(hidden, axis=1)
    output = plain.weights.output_sign, plain.weights.output_log
    weights = Weights.exactly(hidden / norm[:, None], np.log(norm), *output, bias=plain.bias)
    problem = replace(plain, weights=weights)
    root = flowsim.run(scenario).to_dataset().isel(time=[0], snapshot=[0])
    root = root.assign(direction=root["direction"] * 0 + weights.direction, log_norm=root["log_norm"] * 0 + norm)
    root["log_norm"][:] = np.log(norm)
    return Evidence(scenario, Setting(reduce(problem)), root)


@pytest.mark.parametrize(("noise", "decoupled", "even"), [(0.0, True, True), (0.5, False, True), (10.0, False, False)])
def test_a_network_of_single_centres_is_decoupled(noise, decoupled, even):
    found = held_against(CLAIMS, ["li_2025.theorem_4_7"], several_outputs(noise))
    kept = {name.removeprefix("li_2025.theorem_4_7.") for name in keeping(found)}
    assert ("feature_decoupling" in kept) == decoupled
    assert ("relative_decoupling" in kept) == even
    values = {name.removeprefix("li_2025.theorem_4_7."): value for name, (_, value) in group(found).items()}
    if noise == 0:
        assert kept == set(values)
        assert values["feature_decoupling"] < 1e-9
        assert values["large_coefficient"] == pytest.approx(3 / np.log(4))
        radii = found["constant_value"].sel(
            claim="li_2025.theorem_4_7.certified", constant="least certified radius/d^1/2"
        )
        attacked = found["constant_value"].sel(
            claim="li_2025.theorem_4_7.attacked", constant="least attacked radius/d^1/2"
        )
        assert 0.1 < float(radii) <= float(attacked)


@pytest.mark.parametrize(("first", "second", "right"), [(1.0, -3.0, False), (3.0, -1.0, True), (-1.0, -3.0, False)])
def test_the_ratio_of_derivatives_is_at_least_the_root_where_margins_add_up_to_no_less_than_0(first, second, right):
    """Lemma B.6 takes it for granted: see docs/errata/li_2025.md."""
    ratio = (1 + np.exp(first)) / (1 + np.exp(second))
    assert (ratio >= np.exp((first - second) / 2)) == right
    rise = li_2025.dynamics.halved(np.array([first])) - li_2025.dynamics.halved(np.array([second]))
    assert rise[0] == pytest.approx(np.log(ratio) - (first - second) / 2)


def test_the_pairs_that_are_looked_at_are_of_all_clusters():
    problem = flowsim.build(flowsim.loads(SMALLER, overrides={"data.samples": 4800, "data.dimension": 5}))
    rows = li_2025.draws.paired(problem)
    assert len(rows) == 4000
    assert np.bincount(problem.sample_cluster[rows]).tolist() == [1000] * 4
