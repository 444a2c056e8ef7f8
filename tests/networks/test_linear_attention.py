"""One layer of linear attention against the limit of its flow (Zhang, Frei & Bartlett 2024, Theorem 4.1)."""

from __future__ import annotations

import numpy as np
from support.designs import fifth_degree, grid, signs

import flowsim
from flowsim.kinds.networks import NETWORKS


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
    variances, size = np.array([1.0, 0.5]), 0.1
    prompt, target = prompts(variances, 1)
    value, key_query = np.zeros((3, 3)), np.zeros((3, 3))
    value[2, 2] = size
    key_query[:2, :2] = size * np.eye(2) / 2**0.5
    tree = flowsim.flow(
        NETWORKS["linear_attention"](kind="linear_attention").apply,
        {"value": value, "key_query": key_query},
        prompt,
        target,
        units="whole",
        until={"time": 200.0},
        rtol=1e-8,
        observe={"value": lambda p: p["value"], "key_query": lambda p: p["key_query"]},
    )
    entry, block = limit(variances, 1)
    wanted = np.zeros((2, 3, 3))
    wanted[0, 2, 2], wanted[1, :2, :2] = entry, block
    np.testing.assert_allclose([tree["value"].values[-1], tree["key_query"].values[-1]], wanted, atol=1e-6)
