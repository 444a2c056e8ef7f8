"""A flow in which nothing but neurons that die still moves is at its end, by any clock."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

X, Y = np.array([[1.0], [0.5], [-1.0], [-0.7]]), np.array([1.0, 1.0, -1.0, -1.0])
#: One neuron for the negative samples. The other two see samples that their output is wrong for: they die, and the positive
#: samples have nobody. In one dimension neurons cannot turn.
HIDDEN, OUTPUT = np.array([[-0.5], [-0.3], [0.3]]), np.array([-0.5, 0.3, -0.3])
FLOW = {
    "model": {"activation": "prelu", "degree": 2, "width": 3},
    "loss": {"kind": "exponential"},
    "flow": {"rtol": 1e-4, "until": {"log10_loss": -100.0, "steps": 2000}},
}


@pytest.mark.parametrize("clock", ["loss", "time"])
@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
def test_a_loss_that_only_dying_neurons_still_lower_is_not_separated(scenario_of, clock, coordinates):
    """The loss tends to 1/2: a half of the samples keeps a margin of 0."""
    scenario = scenario_of("", FLOW).replace({"flow.clock": clock, "flow.coordinates": coordinates})
    tree = flowsim.run(scenario, data=flowsim.Data(X, Y), init=flowsim.Weights(HIDDEN, OUTPUT))
    assert tree.attrs["status"] == "not_separated"
    assert "dying" in tree.attrs["status_cause"]
    assert tree["loss"].values[-1] == pytest.approx(0.5, rel=1e-3)
    # steps to a loss that is flat to 1e-6 of itself, not the budget; in Cartesian coordinates a pair of order 5 takes 1240
    assert tree["numerics/steps"].values[-1] < 1500


def test_one_that_will_grow_again_is_waited_for(scenario_of):
    """|v| < |w|: v passes through zero, and what lost the samples of its sign gains those of the other."""
    hidden, output = np.array([[-0.5], [0.3]]), np.array([-0.5, -0.2])
    scenario = scenario_of("", {**FLOW, "model": {**FLOW["model"], "width": 2}})
    tree = flowsim.run(scenario, data=flowsim.Data(X, Y), init=flowsim.Weights(hidden, output))
    assert tree.attrs["status"] == "done"
    assert tree["log10_loss"].values[-1] == pytest.approx(-100, abs=1e-8)
