"""Descent over images: a batch of them at a time becomes numbers, and of all that are looked at no more than fit."""

from __future__ import annotations

import numpy as np
import pytest
from support.pictures import write_sets

import flowsim
from flowsim.kinds import pixels, trees
from flowsim.kinds.pixels import Pixels

BATCH = 8
#: Inputs on their way through the network below at a time, and images that become numbers.
ON_THE_WAY, AT_A_TIME = 4, 5
EVALUATE = {
    "evaluate.robustness": {"radii": [0.1], "attacks": ["pgd"], "samples": 6, "steps": 2, "compare": ["classes"]},
    "evaluate.features": {"layers": ["conv_1"], "units": 1, "starts": 1, "steps": 2, "samples": 7},
}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    folder = write_sets(tmp_path_factory.mktemp("sets"))
    return flowsim.Scenario(
        {
            "data": {"kind": "idx", "folder": str(folder / "mnist"), "supervision": "cluster", "center": "pixel"},
            "model": {"kind": "conv", "channels": [2], "image": [1, 6, 5]},
            "init": {"shape": "he"},
            "loss": {"kind": "cross_entropy"},
            "flow": {"method": "sgd", "step": 0.3, "batch": BATCH, "iterations": 40},
            "observe": {"times": 3, "variables": ["loss", "margin", "test_accuracy", "gradient_norm"]},
        }
    ).replace({"data.test": {"standard": True}})


@pytest.fixture
def looked_at(monkeypatch, scenario) -> list[int]:
    """How many images became numbers at a time, of those that are gone through a few at a time."""
    network = flowsim.build(scenario).network
    monkeypatch.setattr(trees, "BYTES", 8 * ON_THE_WAY * trees.entries_of_one(network))
    monkeypatch.setattr(pixels, "AT_A_TIME", AT_A_TIME * 30)
    counts: list[int] = []
    taken = Pixels.__getitem__

    def counted(self, rows):
        found = taken(self, rows)
        counts.append(len(found))
        return found

    monkeypatch.setattr(Pixels, "__getitem__", counted)
    return counts


def test_never_are_more_images_numbers_than_are_looked_at(scenario, looked_at):
    flowsim.run(scenario.replace(EVALUATE))
    assert sum(looked_at) > 600
    # but for those that attacks aim at, at most 32 of each label
    assert [count for count in looked_at if count > BATCH] == [30, 30]


def test_numbers_in_place_of_images_give_the_same(scenario, looked_at):
    problem = flowsim.build(scenario)
    samples, test = ((of.inputs, of.label, of.sample_cluster) for of in (problem.samples, problem.test))
    looked_at.clear()
    arrays = flowsim.Data(*samples, problem.centers, test=test)
    whole, images = flowsim.run(scenario, data=arrays), flowsim.run(scenario)
    assert looked_at
    for name in ("loss", "margin", "test_accuracy", "gradient_norm", "conv_1", "output"):
        np.testing.assert_array_equal(whole[name], images[name])


def test_a_goal_looks_at_all_of_them_a_few_at_a_time(scenario, looked_at, monkeypatch):
    goal = scenario.replace({"flow.until": {"loss": 2.25}})
    few = flowsim.run(goal)
    assert max(looked_at) <= BATCH
    monkeypatch.undo()
    once = flowsim.run(goal)
    assert once.attrs["status"] == few.attrs["status"] == "done"
    assert 0 < once["time"].values[-1] == few["time"].values[-1] < 40 * 0.3
    np.testing.assert_allclose(few["output"].values[-1], once["output"].values[-1], rtol=1e-12)
