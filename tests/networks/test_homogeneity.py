"""Networks that say a degree of homogeneity have it: the loss clock relies on that."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import flowsim

MATRICES = {"kind": "matrix_sensing", "size": 3, "samples": 5}
PROMPTS = {"kind": "in_context_regression", "dimension": 2, "examples": 4, "samples": 5}
IMAGES = {"kind": "single_index", "dimension": 256, "samples": 5}
VECTORS = {"kind": "single_index", "dimension": 3, "samples": 5}


@pytest.mark.parametrize(
    ("data", "model"),
    [
        (VECTORS, {"kind": "deep_linear", "depth": 3}),
        (VECTORS, {"kind": "diagonal"}),
        (MATRICES, {"kind": "matrix_factorization", "depth": 4}),
        (MATRICES, {"kind": "matrix_factorization", "symmetric": True}),
        (PROMPTS, {"kind": "linear_attention", "examples": 4}),
        (IMAGES, {"kind": "conv", "channels": [3, 4]}),
        (IMAGES, {"kind": "alexnet", "widen": 0.05, "hidden": [60]}),
    ],
)
def test_scaled_weights_give_outputs_scaled_by_a_power(data, model):
    problem = flowsim.build(flowsim.Scenario({"data": data, "model": model, "loss": {"kind": "square"}}))
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(array.shape) for array in problem.leaves]
    with jax.enable_x64(True):
        once, twice = (
            np.asarray(problem.network.outputs([factor * array for array in arrays], problem.inputs))
            for factor in (1.0, 2.0)
        )
    assert np.abs(once).min() > 0
    np.testing.assert_allclose(twice, 2**problem.network.degree * once)
