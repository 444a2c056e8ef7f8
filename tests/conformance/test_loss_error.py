"""On the loss clock the tolerance is the loss's, too: where inputs are large, margins move much more than neurons."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import find

#: ReLU and inputs of norm 4e4, to which 1e-4 of a neuron is 5 of a margin.
KINKED = {
    **{"data.positive": 2, "data.negative": 2, "data.samples": 32, "evaluate": {}, "sweep": {}},
    **{"flow.until.steps": 20000, "observe.spacing": "solver", "observe.variables": ["log10_loss"]},
}

#: A linear network of two layers and inputs of norm 1e4.
LINEAR = """
[data]
dimension = 30
positive = 2
negative = 2
samples = 24
radius = 1e4
noise = { total = 5e3 }

[model]
activation = "leaky_relu"
slope = 1.0
width = 10

[init]
scale = 3.0

[loss]
kind = "exponential"

[flow]
rtol = 1e-4
until = { log10_loss = -1000.0, steps = 20000 }

[observe]
times = 20
spacing = "log"
variables = ["log10_loss"]
"""


@pytest.mark.parametrize("seed", [0, 2])
def test_a_loss_at_large_inputs_never_rises_and_its_time_is_right(seed):
    changes = {**KINKED, "seed": seed}
    tree = flowsim.run(flowsim.load(find("frei_vardi_2023/over_clusters"), changes), progress=False)
    fine = flowsim.run(
        flowsim.load(find("frei_vardi_2023/over_clusters"), {**changes, "flow.rtol": 1e-6}), progress=False
    )
    assert tree.attrs["status"] == fine.attrs["status"] == "done"
    assert (np.diff(tree["log10_loss"]) < 0).all()
    # each step errs by at most ten tolerances of the log of the loss, of 1e-4 each; neurons alone left 5e-2
    assert abs(tree["log10_time"][-1] / fine["log10_time"][-1] - 1) < 1e-3


@pytest.mark.parametrize("engine", ["numba", "diffrax"])
def test_engines_agree_on_the_time_of_a_loss_at_large_inputs(engine):
    scenario = flowsim.loads(LINEAR)
    tree = flowsim.run(scenario.replace({"flow.engine": engine, "flow.clock": "loss"}), progress=False)
    fine = flowsim.run(scenario.replace({"flow.engine": "numba", "flow.rtol": 1e-7}), progress=False)
    assert tree.attrs["status"] == fine.attrs["status"] == "done"
    # neurons alone left no time at all here: steps that jump over thousands of e-folds
    assert abs(tree["log10_time"][-1] / fine["log10_time"][-1] - 1) < 2e-3


def test_neurons_that_all_but_rest_do_not_stop_steps_of_order_8():
    # at a loss of e^520 some neurons see no sample but those of weight e^-400: squares of their errors underflow
    small = {"data.radius": 30.0, "init.scale": 0.1, "flow.rtol": 1e-7, "evaluate": {}, "observe.times": 10}
    until = {"log10_loss": 100.0, "steps": 100}
    scenario = flowsim.load(find("limits/prelu_mixture"), {**small, "flow.solver": "dop853", "flow.until": until})
    tree = flowsim.run(scenario, progress=False)
    assert tree["log10_loss"][0] > 200
    assert tree.attrs["status"] == "done"
