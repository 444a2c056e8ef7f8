"""Many KKT points of one problem: each is one, by the definition; and the largest margin of all is what theory says."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import flowsim
from flowsim.evaluate.kkt.cells import cell_count, cells
from flowsim.evaluate.kkt.convex import Cones, least_norm, strongest
from flowsim.evaluate.kkt.state import System

KEYS = {
    "data": {
        "dimension": 3,
        "positive": 2,
        "negative": 2,
        "samples": 12,
        "centers": "random_sphere",
        "noise": {"total": 0.7},
    },
    "model": {"activation": "relu", "width": 4},
    "loss": {"kind": "logistic"},
}


@pytest.fixture(scope="module")
def scenario():
    return flowsim.Scenario(KEYS)


@pytest.fixture(scope="module")
def found(scenario):
    return flowsim.kkt_points(scenario, starts=4, patterns=8, widths=[4, 8], samples=50, probes=2)


def of_samples(x, y, slope=0.0):
    """The margin problem of these samples in the units of the solver"""
    x = np.asarray(x, dtype=float) / np.linalg.norm(x, axis=1).max()
    return System(x, np.asarray(y, dtype=float), 1.0, 1.0, slope, True, x @ x.T)


@pytest.fixture
def given(tmp_path):
    """(x, y) -> KKT points of these samples"""

    def of(x, y):
        file = tmp_path / "samples.npz"
        np.savez(file, x=np.asarray(x, dtype=float), y=np.asarray(y, dtype=float))
        keys = {"data": {"kind": "table", "path": str(file)}, "model": KEYS["model"], "loss": KEYS["loss"]}
        return flowsim.kkt_points(flowsim.Scenario(keys), starts=5, patterns=20, samples=5, probes=1)

    return of


def test_every_point_is_a_kkt_point_by_the_definition(scenario, found):
    """Equations (3) and (4) of Frei & Vardi: multipliers >= 0 on samples of margin 1 alone, a subgradient of each ReLU, and
    theta the combination of the samples' gradients. The gates are found again here, by least squares at kinks."""
    x, y = flowsim.build(scenario).inputs, found["label"].values
    for place in range(found.sizes["point"]):
        point = found.isel(point=place)
        lives = point["output_weight"].values != 0
        w, v, weight = point["hidden"].values[lives], point["output_weight"].values[lives], point["multiplier"].values
        before = w @ x.T
        margin = y * (v @ np.maximum(before, 0.0))
        # what is solved to 1e-8 relative to the network is met to 1e-6 here, sums over 12 samples included
        assert margin.min() > 1 - 1e-6
        assert weight.min() >= 0
        assert (weight * (margin - 1)).max() < 1e-6 * weight.max()
        np.testing.assert_allclose(np.maximum(before, 0.0) @ (weight * y), v, atol=1e-6)
        for own, output, inputs in zip(w, v, before, strict=True):
            kink = np.abs(inputs) < 1e-9 * np.linalg.norm(own) * np.linalg.norm(x, axis=1)
            pulls = output * (weight * y)[:, None] * x
            rest = own - pulls[(inputs > 0) & ~kink].sum(axis=0)
            gates = np.linalg.lstsq(pulls[kink].T, rest, rcond=None)[0] if kink.any() else np.zeros(0)
            assert ((gates > -1e-6) & (gates < 1 + 1e-6)).all()
            np.testing.assert_allclose(gates @ pulls[kink], rest, atol=1e-6)


def test_points_differ_and_say_how_often_they_were_found(found):
    margins = found["normalised_margin"].values
    assert found.sizes["point"] >= 3
    assert (np.diff(margins) <= 0).all()
    assert int(found["times"].max()) > 1
    assert set(found["origin"].values) > {"optimum"}
    # each is another function, so no two have the same multipliers
    weights = found["multiplier"].values
    apart = np.linalg.norm(weights[:, None] - weights, axis=2) + 10 * np.eye(len(weights))
    assert apart.min() > 1e-6


def test_no_point_has_a_larger_margin_than_the_largest(found):
    least, most = found["best_margin_at_least"].item(), found["best_margin_at_most"].item()
    assert most == pytest.approx(least, rel=1e-8)
    assert (found["normalised_margin"] <= most * (1 + 1e-9)).all()
    best = found.isel(point=0)
    assert best["normalised_margin"] == pytest.approx(least, rel=1e-9)
    # the dual certifies it: no further neuron would grow faster, and at every other point one does
    assert best["further_exponent"] <= 1 + 1e-8
    assert (found["further_exponent"][1:] > 1 + 1e-6).all()


def test_the_same_seed_gives_the_same_points_whatever_else_is_tried(scenario, found):
    """A search at width 4 alone is the first part of that at widths 4 and 8: its points are there, to the last bit, and so
    the best margin of wider networks is no smaller"""
    narrow = flowsim.kkt_points(scenario, starts=4, patterns=8, widths=[4], samples=50, probes=2)
    assert set(narrow["origin"].values) >= {"start", "optimum"}
    for place in range(narrow.sizes["point"]):
        one = narrow.isel(point=place)
        same = found.isel(point=int(np.abs(found["multiplier"] - one["multiplier"]).sum("sample").values.argmin()))
        np.testing.assert_array_equal(same["multiplier"], one["multiplier"])
        np.testing.assert_array_equal(same["attacked_radius"], one["attacked_radius"])
        assert same["origin"] == one["origin"]
        assert same["times"] >= one["times"]


def test_radii_bracket(found):
    assert (found["certified_radius"] <= found["attacked_radius"]).all()
    assert (found["attacked_radius"] < np.inf).any()


def test_two_opposite_samples_have_one_kkt_point(given):
    """x_1 = (1, 0) with +1 and x_2 = (-1, 0) with -1: one neuron for each, |w| = |v| = 1, lambda = 1, so |theta|^2 = 4"""
    found = given([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    assert found.sizes["point"] == 1
    assert found["normalised_margin"].item() == pytest.approx(1 / 4)
    np.testing.assert_allclose(found["multiplier"], 1.0)
    np.testing.assert_allclose(np.sort(found["output_weight"].values), [[-1.0, 1.0]], atol=1e-12)
    assert found["best_margin_at_most"].item() == pytest.approx(1 / 4)


def test_two_orthogonal_samples_of_one_label_have_two_kkt_points(given):
    """One neuron along both, |theta|^2 = 2 sqrt(2), or one for each, 4: with lambda = 1 each, a neuron along x_1 + x_2
    would grow with exponent sqrt(2)."""
    found = given(np.eye(2), [1, 1])
    np.testing.assert_allclose(found["normalised_margin"], [1 / np.sqrt(8), 1 / 4])
    np.testing.assert_allclose(found["further_exponent"], [1.0, np.sqrt(2)])
    np.testing.assert_array_equal(found["directions"], [1, 2])
    # along x_1 alone the gate of x_2 is at its kink, and x_2 pulls it off
    np.testing.assert_array_equal(found["attracts"], [1, 0])


def test_cells_are_those_that_random_directions_meet():
    generator = np.random.default_rng(0)
    for samples, rank in ((6, 2), (7, 3), (4, 4)):
        x = generator.standard_normal((samples, rank))
        sides = np.unique(np.where(generator.standard_normal((20_000, rank)) @ x.T > 0, 1, -1), axis=0)
        found = cells(x)
        assert {tuple(row) for row in found} >= {tuple(row) for row in sides}
        assert len(found) == cell_count(samples, rank)


def test_cells_of_planes_that_meet_in_one_line():
    """Three planes through one line cut space into six cells, and a fourth across each of them"""
    angle = np.array([0.0, 1.0, 2.0])
    x = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(3)])
    assert len(cells(x)) == 6
    assert len(cells(np.vstack([x, [0.0, 0.0, 1.0]]))) == 12


def test_too_many_cells_are_not_enumerated():
    assert cells(np.random.default_rng(0).standard_normal((40, 8))) is None


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_least_norm_is_that_of_brute_force_over_directions(slope):
    """In two dimensions, a linear program over 20 000 directions: half the angle between two is 1.6e-4, so that its norm is
    above the least by 1e-8 of it, up to a factor"""
    generator = np.random.default_rng(3)
    system = of_samples(generator.standard_normal((6, 2)), [1, -1, 1, 1, -1, -1], slope)
    angle = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    inputs = np.column_stack([np.cos(angle), np.sin(angle)]) @ system.inputs.T
    columns = system.label * np.where(inputs > 0, inputs, slope * inputs)
    brute = linprog(np.ones(40_000), A_ub=-np.vstack([columns, -columns]).T, b_ub=-np.ones(6), method="highs").fun
    cones = Cones.of_all(system)
    solved = least_norm(system, cones, 1e-8, generator)
    assert solved.at_least <= brute * (1 + 1e-9)
    assert brute <= solved.norm * (1 + 1e-6)
    assert solved.norm == pytest.approx(solved.at_least, rel=1e-7)
    assert strongest(system, cones, solved.multiplier) <= 1 + 1e-7


def test_the_strongest_force_is_that_of_all_edges_and_projections():
    """In three dimensions: of 200 000 random directions none is pulled more, and the best comes within 1e-3"""
    generator = np.random.default_rng(1)
    system = of_samples(generator.standard_normal((7, 3)), np.resize([1, -1], 7))
    weight = generator.exponential(size=7)
    direction = generator.standard_normal((200_000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    forces = np.abs(np.maximum(direction @ system.inputs.T, 0.0) @ (weight * system.label))
    found = strongest(system, Cones.of_all(system), weight)
    assert forces.max() <= found * (1 + 1e-12)
    assert forces.max() >= found * (1 - 1e-3)


def test_the_limit_of_a_flow_is_one_of_the_points():
    tree = flowsim.run(flowsim.Scenario({**KEYS, "flow": {"until": {"log10_loss": -300.0}}}))
    found, limit = flowsim.kkt_points(tree, starts=0, patterns=0, samples=5, probes=0), flowsim.limit(tree)
    own = found.isel(point=found["origin"] == "flow")
    assert own["normalised_margin"].item() == pytest.approx(limit["normalised_margin"].item(), rel=1e-9)
    np.testing.assert_allclose(own["multiplier"].values[0], limit["multiplier"], atol=1e-9)


def test_where_cells_are_too_many_there_is_no_upper_bound():
    keys = {**KEYS, "data": {**KEYS["data"], "dimension": 30, "samples": 24}}
    found = flowsim.kkt_points(flowsim.Scenario(keys), starts=1, patterns=0, samples=5, probes=0)
    assert found["best_margin_at_most"].item() == np.inf
    assert found["best_margin_at_least"].item() == found["normalised_margin"].values[0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"activation": "tanh"}, "homogeneous"),
        ({"activation": "relu", "output": "fixed", "output_weight": 0.5}, "two trained layers"),
    ],
)
def test_what_has_no_kkt_points_is_refused(model, words):
    keys = {**KEYS, "model": {"width": 4, **model}}
    with pytest.raises(flowsim.UsageError, match=words):
        flowsim.kkt_points(flowsim.Scenario(keys))


def test_smooth_neurons_have_points_from_starts():
    model = {"activation": "prelu", "degree": 3, "width": 8}
    data = {**KEYS["data"], "centers": "orthonormal", "dimension": 4, "noise": {"total": 0.1}}
    found = flowsim.kkt_points(
        flowsim.Scenario({**KEYS, "data": data, "model": model}), starts=2, patterns=3, samples=5, probes=1
    )
    assert set(found["origin"].values) == {"start"}
    assert (found["residual"] < 1e-8).all()


def test_claims_are_asked_of_each_point():
    """Two clusters with orthogonal means far apart: the training error of every KKT point is 0"""
    data = {
        "dimension": 40,
        "positive": 1,
        "negative": 1,
        "samples": 6,
        "centers": "orthonormal",
        "radius": "sqrt_dimension",
        "noise": {"per_coordinate": 0.1},
    }
    keys = {**KEYS, "data": data, "model": {"activation": "relu", "bias": True, "width": 4}}
    claims = ["frei_vardi_2023.theorem_3_1", "frei_vardi_2023.theorem_2_1"]
    found = flowsim.kkt_points(flowsim.Scenario(keys), starts=2, patterns=4, samples=5, probes=0, claims=claims)
    # theorem 2.1 is about the flow, and not asked
    assert set(found["claim"].values) == {f"{claims[0]}.training_error", f"{claims[0]}.test_error"}
    assert set(found["verdict"].sel(claim=f"{claims[0]}.training_error").values) == {"holds"}
    assert set(found["verdict"].sel(claim=f"{claims[0]}.test_error").values) == {"outside"}


def test_the_smallest_network_over_all_patterns_of_two_neurons(scenario):
    """No pair of cells has a network of smaller norm than the largest margin allows"""
    problem = flowsim.build(scenario)
    system = of_samples(problem.inputs, problem.targets)
    every, generator = Cones.of_all(system), np.random.default_rng(0)
    whole = least_norm(system, every, 1e-7, generator)
    chosen = generator.permutation(len(every.sign))[:6]
    for pair in product(chosen, chosen):
        part = Cones(every.side[list(pair)], every.sign[list(pair)])
        solved = least_norm(system, part, 1e-3, generator)
        assert solved is None or solved.missing > 1e-9 or solved.norm >= whole.at_least * (1 - 1e-3)
