"""One layer of linear attention against the limit of its flow (Zhang, Frei & Bartlett 2024, Theorem 4.1)."""

from __future__ import annotations

import numpy as np
import pytest
from support.designs import fifth_degree, grid, signs

import flowsim


def limit(variances, examples):
    """The last entry of the value matrix and the block of the key-query matrix that the flow ends at, for prompts of so
    many examples. variances: of an input's coordinates, which are independent."""
    gamma = (1 + 1 / examples) * variances + variances.sum() / examples
    size = np.sum(gamma**-2.0) ** 0.25
    return size, np.diag(1 / gamma) / size


def prompts(variances, examples):
    """(samples, features + 1, examples + 1), and the query's target: prompts over which the mean loss is the
    population's. It is of degree 4 in an example's input and of degree 2 in the task and in the query."""
    features = len(variances)
    drawn = grid(*[fifth_degree()] * (features * examples), *[signs()] * (2 * features))
    inputs, task, query = np.split(drawn, [features * examples, features * (examples + 1)], axis=1)
    inputs = inputs.reshape(-1, examples, features) * variances**0.5
    query = query * variances**0.5
    prompt = np.zeros((len(drawn), features + 1, examples + 1))
    prompt[:, :-1, :-1] = inputs.swapaxes(1, 2)
    prompt[:, -1, :-1] = (inputs @ task[:, :, None])[:, :, 0]
    prompt[:, :-1, -1] = query
    return prompt, (task * query).sum(axis=1)


def test_the_flow_ends_at_the_preconditioned_step_of_gradient_descent():
    variances, examples = np.array([1.0, 0.5]), 1
    prompt, target = prompts(variances, examples)
    scenario = {
        "model": {"kind": "linear_attention", "examples": examples},
        "init": {"shape": "identity", "scale": 0.1},
        "loss": {"kind": "square"},
        "flow": {"rtol": 1e-8, "until": {"time": 200.0}},
    }
    tree = flowsim.run(scenario, data=flowsim.Data(prompt.reshape(len(prompt), -1), target))
    entry, block = limit(variances, examples)
    wanted = np.zeros((2, 3, 3))
    wanted[0, 2, 2], wanted[1, :2, :2] = entry, block
    np.testing.assert_allclose([tree["value"].values[-1], tree["key_query"].values[-1]], wanted, atol=1e-6)


@pytest.mark.papers
def test_from_another_start_and_for_drawn_prompts_it_comes_close_to_the_same_limit():
    scenario = flowsim.Scenario(
        {
            "data": {"kind": "in_context_regression", "dimension": 2, "examples": 5, "samples": 20000},
            "model": {"kind": "linear_attention", "examples": 5},
            "init": {"shape": "gaussian", "scale": 0.1},
            "loss": {"kind": "square"},
            "flow": {"until": {"time": 100.0}},
        }
    )
    tree = flowsim.run(scenario)
    entry, block = limit(np.ones(2), 5)
    # what it learns is the product; errors are of the order of 1/sqrt(samples)
    found = tree["value"].values[-1, 2, 2] * tree["key_query"].values[-1, :2, :2]
    np.testing.assert_allclose(found, entry * block, atol=0.03)
    assert np.abs(tree["key_query"].values[0, :2, :2] - 0.1 * np.eye(2) / 2**0.5).max() > 0.01
