"""Transfer of perturbations: against what linear classifiers say in closed form, and between runs of one distribution."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.problem import build, fresh

TEXT = """
[data]
kind = "sparse_coding"
dimension = 8
sparsity = 2.0
samples = 60
noise = { total = 0.3 }
seed = 5
[model]
kind = "linear"
[init]
scale = 0.1
[loss]
kind = "logistic"
[flow]
until = { time = 4.0 }
"""


def run(**keys):
    return flowsim.run(flowsim.loads(TEXT, overrides=keys))


@pytest.fixture(scope="module")
def two():
    return run(seed=0), run(seed=1)


def test_runs_of_one_distribution_share_what_the_labels_come_from_and_nothing_else():
    first, second = (build(flowsim.loads(TEXT, overrides={"seed": seed})) for seed in (0, 1))
    np.testing.assert_array_equal(first.centers, second.centers)
    np.testing.assert_array_equal(first.samples.label_weight, second.samples.label_weight)
    assert not (first.inputs == second.inputs).any()
    assert not (first.hidden == second.hidden).any()
    own = build(flowsim.loads(TEXT, overrides={"seed": 5}))
    np.testing.assert_array_equal(first.centers, own.centers)


@pytest.mark.parametrize("kind", ["xor", "gaussian_mixture"])
def test_mixtures_have_a_seed_of_their_centres_too(kind):
    data = {"kind": kind, "dimension": 8, "seed": 3}
    first, second = (build(flowsim.loads("", overrides={"seed": seed, "data": data})) for seed in (0, 1))
    np.testing.assert_array_equal(first.centers, second.centers)
    assert not (first.inputs == second.inputs).any()


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_between_linear_classifiers_a_move_lowers_the_other_margin_by_its_product(two, norm):
    radii = [0.0, 0.1, 0.4]
    found = flowsim.transfer(*two, radii, norm=norm, samples=300)
    a, b = (flowsim.reopen(tree).network for tree in two)
    scenario = flowsim.loads(TEXT, overrides={"seed": 0})
    test = fresh(scenario, build(scenario).samples, 300)
    w, v, y = a.hidden[0], b.hidden[0], test.label
    unit = np.sign(w) if norm == "linf" else w / np.linalg.norm(w)
    for radius in radii:
        own, other = (y * (test.inputs @ u) - radius * (unit @ u) for u in (w, v))
        for attack in ("fgm", "pgd"):
            at = found.sel(attack=attack, radius=radius)
            # no sample is so near to the boundary that rounding could turn it
            assert min(np.abs(own).min(), np.abs(other).min()) > 1e-9
            assert float(at["attacked_accuracy"]) == (own > 0).mean()
            assert float(at["transferred_accuracy"]) == (other > 0).mean()
            right = (y * (test.inputs @ w) > 0) & (y * (test.inputs @ v) > 0)
            fooled = right & (own <= 0)
            if fooled.any():
                assert float(at["transfer_rate"]) == pytest.approx((other[fooled] <= 0).mean())
            else:
                assert np.isnan(at["transfer_rate"])


def test_everything_transfers_to_the_network_itself(two):
    found = flowsim.transfer(two[0], two[0], [0.3], samples=200)
    assert (found["transfer_rate"] == 1).all()
    np.testing.assert_array_equal(found["attacked_accuracy"], found["transferred_accuracy"])
    assert (found["random_accuracy"] > found["transferred_accuracy"]).all()


def test_files_are_as_good_as_trees(two, tmp_path):
    scenario = flowsim.loads(TEXT, overrides={"seed": 0})
    flowsim.run(scenario, tmp_path / "a.nc")
    found = flowsim.transfer(tmp_path / "a.nc", two[1], [0.3], samples=100)
    assert found.equals(flowsim.transfer(*two, [0.3], samples=100))


@pytest.mark.parametrize(
    ("other", "keys", "words"),
    [
        ({"data.seed": 6}, {}, "data.seed"),
        ({"data.dimension": 9}, {}, "one distribution"),
        ({"seed": [0, 1]}, {}, "one member is needed: choose its seed"),
        ({}, {"radii": [-1.0]}, "radii"),
        ({}, {"radii": [0.2, 0.1]}, "radii"),
        ({}, {"attacks": ["minimal"], "norm": "l1", "samples": 0}, "attacks.*norm.*samples"),
        ({}, {"onto": 2}, "onto: 2; weights were kept 2 times, so from 0 to 1"),
    ],
)
def test_what_cannot_be_asked_is_answered(two, other, keys, words):
    with pytest.raises(flowsim.UsageError, match=words):
        flowsim.transfer(two[0], run(**other) if other else two[1], **{"radii": [0.1], **keys})


def test_centres_from_a_file_have_no_seed(tmp_path):
    np.save(tmp_path / "c.npy", np.eye(4))
    data = {"dimension": 4, "centers": "c.npy", "seed": 3}
    with pytest.raises(flowsim.ScenarioError, match=r"data\.seed: only for drawn centres"):
        flowsim.loads("", folder=tmp_path, overrides={"data": data})


def test_held_out_samples_of_the_first_are_moved_where_it_has_some(two):
    first = run(seed=0, **{"data.test": {"samples": 25}})
    found = flowsim.transfer(first, two[1], [0.0], attacks=["fgm"], samples=500)
    assert found.attrs["samples"] == "test"
    assert found["attacked_accuracy"].item() == first["test_accuracy"][-1].item()
    test = build(flowsim.loads(TEXT, overrides={"data.test": {"samples": 25}})).test
    right = test.label * flowsim.reopen(two[1]).network.value(test.inputs) > 0
    assert found["transferred_accuracy"].item() == right.mean()
    assert flowsim.transfer(*two, [0.0], attacks=["fgm"], samples=5).attrs["samples"] == "fresh"
