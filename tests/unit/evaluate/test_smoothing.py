"""Randomised smoothing: certified radii against closed forms, and the majority's accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import flowsim
from flowsim.errors import ScenarioError
from flowsim.evaluate.robustness.smoothing import certified

NOISE = 0.3
ASKED = {"smoothing.noise": NOISE, "smoothing.radii": [0.0, 0.3, 0.6], "smoothing.samples": 30}


def test_the_radius_is_that_of_cohen_rosenfeld_and_kolter():
    # all of 1000 draws and alpha = 0.001: sigma Phi^-1(alpha^(1/n)), their largest radius but for n
    assert certified(1000, 1000, 0.5, 0.999) == pytest.approx(0.5 * 2.46326261)
    assert certified(500, 1000, 0.5, 0.999) == certified(0, 1000, 0.5, 0.999) == 0.0
    least = binomtest(700, 1000).proportion_ci(0.98).low  # two-sided, so 1 % below
    normal = np.random.default_rng(0).standard_normal(400_000)
    radius = certified(700, 1000, 1.0, 0.99)
    assert (normal < radius).mean() == pytest.approx(least, abs=5e-3)


def scenario(model, loss, supervision="class"):
    return flowsim.Scenario(
        {
            "data": {
                "dimension": 4,
                "positive": 1,
                "negative": 2,
                "samples": 24,
                "noise": {"total": 0.4},
                "supervision": supervision,
            },
            "model": model,
            "init": {"scale": 0.1},
            "loss": {"kind": loss},
            "flow": {"until": {"time": 15.0}},
            "observe": {"times": 2},
        }
    )


def test_of_a_linear_network_it_is_the_distance_to_the_boundary():
    tree = flowsim.run(scenario({"kind": "linear"}, "logistic"))
    found = flowsim.evaluate(tree, {**ASKED, "smoothing.draws": 4000, "smoothing.confidence": 0.9999})["smoothing"]
    case = flowsim.reopen(tree)
    weight = case.network(np.eye(4))
    test = flowsim.robustness(tree, {"radii": [0.0], "attacks": ["minimal"], "samples": 30})
    distance = test["attacked_radius"].sel(classifier="network").values
    radius = found["certified_radius"].values
    assert len(weight) == 4
    assert (radius <= distance).all()
    # past 3 sigma no number of draws tells
    near = (distance > 0.1) & (distance < 2 * NOISE)
    assert near.sum() > 3
    assert radius[near] == pytest.approx(distance[near], rel=0.25)
    for asked, share in zip(found["radius"].values, found["certified_accuracy"].values, strict=True):
        assert share == (radius > asked).mean()


def test_several_outputs_choose_the_largest():
    tree = flowsim.run(scenario({"width": 12}, "cross_entropy", "cluster"))
    found = flowsim.evaluate(tree, ASKED)["smoothing"]
    assert set(found["prediction"].values.tolist()) <= {-1, 0, 1, 2}
    assert found["majority_accuracy"] > 0.8
    assert found["certified_accuracy"][0] <= found["majority_accuracy"]
    assert found["abstained"] == (found["prediction"] == -1).mean()
    again = flowsim.evaluate(tree, ASKED)["smoothing"]
    np.testing.assert_array_equal(found["certified_radius"], again["certified_radius"])


def test_what_cannot_be_smoothed_is_answered():
    with pytest.raises(ScenarioError, match="radii are in increasing order"):
        scenario({"width": 12}, "square").replace({"evaluate.smoothing": {"noise": 1.0, "radii": [0.1, 0.1]}})
    targets = {"kind": "linear_teacher", "dimension": 4, "samples": 8}
    asked = {"data": targets, "model": {"width": 4}, "evaluate": {"smoothing": {"noise": 1.0, "radii": [0.1]}}}
    with pytest.raises(ScenarioError, match="needs classes, or samples of both labels"):
        flowsim.run(flowsim.Scenario({**asked, "flow": {"until": {"time": 0.1}}}))
