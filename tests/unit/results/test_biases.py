"""A bias is in the normalisation of the weights that stand beside it, in every place that has one."""

from __future__ import annotations

import numpy as np

import flowsim


def test_every_home_of_a_bias_gives_the_same_outputs(small):
    scenario = small(model={"activation": "relu_power", "degree": 2, "width": 6, "bias": True, "output": "trained"})
    problem, tree = flowsim.build(scenario), flowsim.run(scenario)

    def outputs(hidden, bias, output):
        return np.maximum(problem.inputs @ hidden.T + bias, 0.0) ** 2 @ output

    first = outputs(problem.hidden, problem.hidden_bias, problem.output)
    norm = np.exp(problem.hidden_log_norm)
    by_norm = outputs(norm[:, None] * problem.hidden_direction, norm * problem.hidden_bias_direction, problem.output)
    assert (problem.hidden_bias != 0).all()
    np.testing.assert_allclose(by_norm, first, rtol=1e-12)
    last, weights = tree.isel(time=-1, snapshot=-1), flowsim.weights(tree)
    norm, output = np.exp(last["log_norm"].values), last["output_weight"].values
    at_end = outputs(norm[:, None] * last["direction"].values, norm * last["bias_weight"].values, output)
    # the loss is 0 to rounding at no end of a run to a time, so that margins are of the size of outputs
    np.testing.assert_allclose(problem.targets * at_end, last["margin"].values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(outputs(weights.hidden, weights.hidden_bias, weights.output), at_end, rtol=1e-10)
