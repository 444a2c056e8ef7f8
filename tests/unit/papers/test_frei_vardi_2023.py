"""The robust network of Theorem 4.1, its certified radius, and the universal perturbation of Theorem 4.2."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from support.mutations.frei_vardi_2023 import flow as small_flow

import flowsim
from flowsim.evaluate.claim import evidence_of
from flowsim.observe import Setting
from flowsim.papers.frei_vardi_2023 import CLAIMS, Flips, certified_radius, robust_network, universal_direction
from flowsim.papers.frei_vardi_2023.flow import _log_mean_loss
from flowsim.papers.frei_vardi_2023.limit import point
from flowsim.papers.frei_vardi_2023.setting import assumption, of_samples, properties, sizes, theorem
from flowsim.papers.relu import relu_network
from flowsim.problem import reduce
from flowsim.scenario.shipped import find
from flowsim.sweep.plan import plan

LABEL = np.array([1, 1, -1, -1])
CENTERS = 10.0 * np.eye(4, 100)


def test_the_robust_network_has_margin_2_at_the_means():
    np.testing.assert_allclose(robust_network(CENTERS, LABEL)(CENTERS), 2 * LABEL)


def test_at_a_mean_no_perturbation_below_half_its_length_flips_it():
    radii = certified_radius(CENTERS, LABEL.astype(float), CENTERS, LABEL)
    # there the neuron of the mean comes to 0, and those of the others from -2
    np.testing.assert_allclose(radii, 5.0, rtol=1e-12)


@given(seed=st.integers(0, 10_000), share=st.floats(0.1, 0.999))
def test_no_perturbation_within_the_certified_radius_flips_a_sample(seed, share):
    random = np.random.default_rng(seed)
    centers = random.standard_normal((4, 100))
    centers *= 10 / np.linalg.norm(centers, axis=1, keepdims=True)
    cluster = random.integers(4, size=20)
    x, y = centers[cluster] + random.standard_normal((20, 100)), LABEL[cluster].astype(float)
    radii = certified_radius(x, y, centers, LABEL)
    network = robust_network(centers, LABEL)
    right = np.sign(network(x)) == y
    assert ((radii > 0) == right).all()
    directions = [random.standard_normal(x.shape), -y[:, None] * network.gradient(x), -y[:, None] * (LABEL @ centers)]
    for way in directions:
        size = np.linalg.norm(way, axis=1, keepdims=True)
        moved = x + share * radii[:, None] * way / np.where(size > 0, size, 1.0)
        assert (np.sign(network(moved)) == y)[right].all()


def test_the_smallest_strength_of_the_linear_classifier_is_one_over_its_clusters():
    """sign<u, x> at a mean is 0 where eta |u|^2 = |mu|^2, |u|^2 = k |mu|^2: eta = 1/k."""
    direction = universal_direction(CENTERS, LABEL)
    linear = relu_network(np.array([direction, -direction]), np.zeros(2), np.array([1.0, -1.0]))
    flips = Flips(linear, CENTERS, LABEL.astype(float), direction)
    assert flips.smallest() == pytest.approx(1 / 4, rel=1e-9)
    assert (flips.share(0.2499), flips.share(0.2501)) == (0, 1)


def test_a_network_that_ignores_the_direction_is_never_flipped():
    other = relu_network(np.eye(1, 100, 50), np.ones(1), np.ones(1))
    assert math.isinf(Flips(other, CENTERS, LABEL.astype(float), universal_direction(CENTERS, LABEL)).smallest())


def evidence(name: str, **overrides):
    scenario = flowsim.load(find(f"frei_vardi_2023/{name}"), overrides)
    return evidence_of(scenario, Setting(reduce(flowsim.build(scenario))), None)


def test_assumption_2_2_of_the_shipped_setting_in_closed_form():
    """Orthogonal means, sigma = 1/sqrt(d): k (4 ln d + 1) over (d - 4 ln d + 1)/10."""
    shipped = evidence("k4")
    found = CLAIMS["assumption_2_2"].measure(shipped)
    delta = 4 * math.log(10_000)
    assert found == pytest.approx(4 * (delta + 1) / ((10_000 - delta + 1) / 10), rel=1e-9)
    assert [premise.refusal for premise in assumption(shipped) if not premise.met] == []


def test_sigma_1_meets_what_the_theorems_ask_for_in_10_8_dimensions():
    """All that speaks of d has the true one, and not the number of coordinates: bounds, premises, the robust network."""
    shipped = evidence("sphere_1e8", **{"model.width": 3})
    assert shipped.problem.features == 4 + 1360 + 3 + 1
    assert [premise.refusal for premise in theorem(shipped) if not premise.met] == []
    at = sizes(shipped)
    assert (at.dimension, at.sigma, at.delta) == (10**8, 1.0, pytest.approx(4 * 1e4 * math.log(1e8)))
    # |xi|^2 is d, but for parts sqrt(2/d) times some six
    assert properties(shipped)["p1"] == pytest.approx(2**-0.5, rel=1e-3)
    # at a mean the network's input is 2, its weights have norm 4/sqrt(d), and noise adds parts 1/sqrt(d)
    few = evidence("sphere_1e8", **{"model.width": 3, "data.samples": 8})
    assert CLAIMS["theorem_4_1.radius"].measure(few) == pytest.approx(1 / 2, rel=1e-2)


@pytest.mark.parametrize("name", ["clusters", "dimension"])
def test_the_sweeps_of_the_perturbation_are_within_assumption_2_2(name):
    swept = flowsim.load(find(f"frei_vardi_2023/over_{name}"))
    for values in (each.values for each in plan(swept).points if each.values["seed"] == 0):
        scenario = swept.replace({**values, "sweep": None})
        case = evidence_of(scenario, Setting(reduce(flowsim.build(scenario))), None)
        assert [premise.refusal for premise in assumption(case) if not premise.met] == []
        assert len(case.problem.targets) == 8 * len(case.problem.centers)


def test_what_a_run_is_outside_of_is_named():
    few = {"data.samples": 40, "data.noise.per_coordinate": 1.5, "data.radius": 50.0, "data.dimension": 400}
    premises = theorem(evidence("k4", **few))
    margins = {premise.name: premise.margin for premise in premises if not premise.met}
    assert margins.pop("Assumption 2.2: |mu| = sqrt(d): largest relative deviation") == pytest.approx(-1.5)
    assert margins.pop("Assumption 2.2: sigma <= 1") == pytest.approx(-0.5)
    assert margins.pop("n >= k ln(d)^2") == pytest.approx(40 - 4 * math.log(400) ** 2)
    assert margins.pop("Assumption 2.2: k (max |<mu_i, mu_j>| + Delta + 1) <= (d - Delta + 1)/10") < 0
    # so few samples of balanced clusters still have (P1) to (P6), but for the means' norm
    assert margins == {"samples i.i.d. from the clusters, or with (P1) to (P6)": -1.0}


def test_the_upper_bounds_on_n_are_those_of_theorem_3_1():
    shipped = evidence("k4", **{"data.dimension": 200, "data.noise.per_coordinate": 0.01})
    found = {premise.name: premise.bound for premise in of_samples(shipped) if premise.name.startswith("ln n")}
    expected = [
        math.sqrt(0.05 / 3) * math.exp(200 / 32),
        math.sqrt(0.05) / 3 * 200 ** (math.log(200) / 4),
        0.01 / 4 * 200 ** (math.log(200) / 2),
    ]
    np.testing.assert_allclose(np.exp([*found.values()]), expected, rtol=1e-12)


def test_the_properties_of_samples_are_their_largest_products():
    """Pair by pair."""
    case = evidence("k4", **{"data.dimension": 60, "data.samples": 12, "data.noise.per_coordinate": 0.3})
    found, problem = properties(case), case.problem
    sigma, d, noise = 0.3, 60, problem.inputs - problem.centers[problem.sample_cluster]
    pairs = [(i, j) for i in range(12) for j in range(12) if i != j]
    ln, delta = math.log(d), 4 * 0.3 * math.sqrt(60) * math.log(60)
    assert found["p1"] == pytest.approx(max(np.linalg.norm(noise, axis=1)) / (sigma * math.sqrt(2 * d)))
    largest = max(abs(noise[i] @ noise[j]) for i, j in pairs)
    assert found["p2"] == pytest.approx(largest / (sigma**2 * math.sqrt(2 * d) * ln))
    across = max(abs(problem.inputs[i] @ problem.inputs[j]) for i, j in pairs if i // 3 != j // 3)
    assert found["p4"] == pytest.approx(across / delta, rel=1e-9)
    within = [problem.inputs[i] @ problem.inputs[j] for i in range(12) for j in range(12) if i // 3 == j // 3]
    assert found["p5"] == pytest.approx(max((d - min(within)) / delta, (max(within) - 3 * d) / delta))
    assert found["p6"] == 0


def test_the_logistic_loss_has_the_base_of_the_paper():
    """log2(1 + 1) = 1: at outputs of 0 the mean loss is 1, and below 1/n no sample may be wrong."""
    scenario = flowsim.load(
        find("frei_vardi_2023/k4"), {"loss.kind": "logistic", "data.samples": 8, "data.dimension": 30}
    )
    case = evidence_of(scenario, Setting(reduce(flowsim.build(scenario))), None)
    zero = xr.Dataset({"log10_loss": ("time", np.log10([math.log(2.0)]))}, {"time": [0.0]})
    _, told = _log_mean_loss(replace(case, trajectory=zero))
    # the scenario's loss is the mean over 8 samples
    assert told == pytest.approx([math.log10(1.0 / case.problem.sample_weight.sum())])


def test_a_kkt_point_s_worst_products_are_a_corner_of_those_that_are_allowed():
    """Lemma A.12: no products in the box give less, and some give as little."""
    case = small_flow()
    found, at = point(case), sizes(case)
    problem, random = case.problem, np.random.default_rng(0)
    label, own = problem.cluster_label, problem.sample_cluster
    least, largest = found.corner(case, least=True), found.corner(case, least=False)
    for cluster in range(2):
        for _ in range(200):
            side = random.uniform(-1, 1, len(own)) if random.random() < 0.5 else random.choice([-1, 1], len(own))
            products = np.where(own == cluster, at.dimension + side * at.delta, side * (at.product + at.delta))
            inputs = found.output * (found.weight @ (problem.targets * (products + 1)))
            value = label[cluster] * (found.output @ np.maximum(inputs, 0))
            assert least[cluster] - 1e-9 <= value <= largest[cluster] + 1e-9


def test_a_kkt_point_is_the_sum_of_its_samples():
    """Equations (3) and (4), from the multipliers and gates that the lemmas are asked with."""
    case = small_flow()
    found, problem = point(case), case.problem
    pull = found.output[:, None] * found.weight * problem.targets
    size = np.abs(found.network.hidden).max()
    np.testing.assert_allclose(pull @ problem.inputs, found.network.hidden, atol=1e-8 * size)
    np.testing.assert_allclose(pull.sum(axis=1), found.network.bias, atol=1e-8 * size)
    assert found.residual < 1e-8


def test_what_no_robust_network_withstands_is_infinitely_farther_than_it():
    """With so much noise the network of Theorem 4.1 is wrong on many fresh samples, whose certified radius is 0."""
    noisy = {"data.noise.per_coordinate": 1.5, "data.dimension": 24, "data.samples": 16, "model.width": 10}
    scenario = flowsim.load(find("frei_vardi_2023/sphere"), {**noisy, "flow.until": {"log10_loss": -30.0}})
    claims = flowsim.run(scenario, warn=lambda message: None)["claims"]
    measured = claims["measured"].sel(
        claim=["frei_vardi_2023.theorem_4_1.radius", "frei_vardi_2023.theorem_4_2.not_robust"]
    )
    assert measured.values.tolist() == [0, math.inf]
