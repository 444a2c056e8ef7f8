"""Derivatives of any network in all of its parameters, against finite differences and against linear models."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.formulas import LOSSES

from flowsim.observe.derivatives import Derivatives
from flowsim.observe.kinds.sharpness import DENSE, largest_eigenvalues
from flowsim.observe.kinds.tangent_kernel import alignment, drift, wanted_outputs

SAMPLES, FEATURES, HIDDEN = 7, 3, 4
#: Loss -> (targets, number of outputs)
PROBLEMS = {
    "square": (np.linspace(-1, 2, SAMPLES), 1),
    "logistic": (np.resize([1.0, -1.0], SAMPLES), 1),
    "exponential": (np.resize([1.0, -1.0], SAMPLES), 1),
    "cross_entropy": (np.resize([0.0, 1.0, 2.0], SAMPLES), 3),
}


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def deep(params, x):
    """Three layers in a nested tree, with biases and a scale of no axes."""
    first, rest = params["first"], params["rest"]
    hidden = jnp.tanh(x @ first["weight"].T + first["bias"])
    outputs = params["scale"] * jnp.tanh(hidden @ rest[0].T) @ rest[1].T
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs.T


def deep_params(outputs: int) -> dict:
    return {
        "first": {"weight": draw(HIDDEN, FEATURES), "bias": draw(HIDDEN, seed=1)},
        "rest": [draw(HIDDEN, HIDDEN, seed=2), draw(outputs, HIDDEN, seed=3)],
        "scale": np.array(0.7),
    }


def deep_in_numpy(flat: np.ndarray, x: np.ndarray, outputs: int) -> np.ndarray:
    """(n, k): the same of all leaves in one vector, in the order of the tree: sorted keys."""
    sizes = np.cumsum([HIDDEN, HIDDEN * FEATURES, HIDDEN**2, outputs * HIDDEN])
    bias, weight, second, third, scale = np.split(flat, sizes)
    hidden = np.tanh(x @ weight.reshape(HIDDEN, FEATURES).T + bias)
    return scale * np.tanh(hidden @ second.reshape(HIDDEN, HIDDEN).T) @ third.reshape(outputs, HIDDEN).T


def plain_loss(name: str, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(n,), from outputs (n, k), by its definition."""
    if name == "cross_entropy":
        return np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(len(targets)), targets.astype(int)]
    output = outputs[:, 0]
    return {
        "square": (output - targets) ** 2 / 2,
        "logistic": np.log(1 + np.exp(-targets * output)),
        "exponential": np.exp(-targets * output),
    }[name]


def differences(function, where: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """(…, p): central differences of a function of a vector (p,)."""
    units = step * np.eye(len(where))
    return np.stack([(function(where + unit) - function(where - unit)) / (2 * step) for unit in units], axis=-1)


def flat_of(params) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])


@pytest.fixture(params=PROBLEMS)
def problem(request) -> tuple[str, Derivatives, dict, int]:
    targets, outputs = PROBLEMS[request.param]
    weight = np.linspace(0.1, 0.4, SAMPLES)
    loss = LOSSES[request.param]
    return (
        request.param,
        Derivatives(deep, loss, draw(SAMPLES, FEATURES), targets, weight),
        deep_params(outputs),
        outputs,
    )


def test_gradient_and_hessian_are_the_loss_s_finite_differences(problem):
    name, derivatives, params, outputs = problem

    def loss(flat: np.ndarray) -> float:
        seen = deep_in_numpy(flat, derivatives.inputs, outputs)
        return derivatives.weight @ plain_loss(name, seen, derivatives.targets)

    flat = flat_of(params)
    np.testing.assert_allclose(derivatives.gradient(params), differences(loss, flat), atol=1e-8)

    def gradient(flat: np.ndarray) -> np.ndarray:
        return differences(loss, flat, 1e-4)

    hessian = derivatives.hessian(params)
    # steps of 1e-4 leave an error of their squares and of eps over them
    np.testing.assert_allclose(hessian, differences(gradient, flat, 1e-4), atol=1e-6 * np.abs(hessian).max())
    vector = draw(len(flat), seed=5)
    np.testing.assert_allclose(derivatives.hessian_product(params, vector), hessian @ vector, rtol=1e-10, atol=1e-12)


def test_the_tangent_kernel_is_made_of_the_outputs_finite_differences(problem):
    _, derivatives, params, outputs = problem
    inputs = derivatives.inputs[:5]
    jacobian = differences(lambda flat: deep_in_numpy(flat, inputs, outputs).T.ravel(), flat_of(params))
    kernel = derivatives.tangent_kernel(params, inputs)
    np.testing.assert_allclose(kernel, jacobian @ jacobian.T, atol=1e-8)


def test_samples_that_come_in_parts_give_the_same(problem):
    _, whole, params, _ = problem
    parts, vector = replace(whole, most=3), draw(len(flat_of(params)), seed=5)
    for name, others in (("gradient", ()), ("hessian_product", (vector,)), ("hessian", ())):
        expected = getattr(whole, name)(params, *others)
        # sums of some ten numbers in another order
        scale = np.abs(expected).max()
        np.testing.assert_allclose(getattr(parts, name)(params, *others), expected, rtol=0, atol=1e-14 * scale)


def linear(params, x):
    return x @ params


@pytest.mark.parametrize("features", [5, DENSE + 30], ids=["formed", "by Lanczos"])
def test_a_linear_model_has_the_kernel_and_the_sharpness_of_its_data(features):
    inputs = draw(12, features)
    derivatives = Derivatives(linear, LOSSES["square"], inputs, draw(12, seed=1), np.full(12, 1 / 12))
    params = draw(features, seed=2)
    np.testing.assert_allclose(derivatives.tangent_kernel(params, inputs), inputs @ inputs.T, rtol=1e-12, atol=1e-12)
    expected = np.linalg.svd(inputs, compute_uv=False)[:3] ** 2 / 12
    np.testing.assert_allclose(largest_eigenvalues(derivatives, params, features, 3), expected, rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_lanczos_finds_what_the_dense_hessian_has_at_any_scale(scale):
    targets, weight = PROBLEMS["square"][0], np.full(SAMPLES, scale)
    derivatives = Derivatives(wide, LOSSES["square"], draw(SAMPLES, FEATURES), targets, weight)
    params = {"hidden": draw(40, FEATURES), "output": draw(40, seed=1)}

    def loss(flat):
        split = {"hidden": flat[:120].reshape(40, FEATURES), "output": flat[120:]}
        return jnp.sum(weight * (wide(split, derivatives.inputs) - targets) ** 2) / 2

    with jax.enable_x64(True):
        dense = np.asarray(jax.hessian(loss)(jnp.asarray(flat_of(params))))
    expected = np.linalg.eigvalsh(dense)[::-1][:4]
    np.testing.assert_allclose(largest_eigenvalues(derivatives, params, 160, 4), expected, rtol=1e-8)


def wide(params, x):
    return jnp.tanh(x @ params["hidden"].T) @ params["output"]


def test_sharpness_where_there_is_little_to_find():
    flat = Derivatives(
        lambda params, x: 0.0 * x[:, 0] * params.sum(), LOSSES["square"], draw(3, 2), np.ones(3), np.ones(3)
    )
    np.testing.assert_array_equal(largest_eigenvalues(flat, np.ones(DENSE + 1), DENSE + 1, 2), [0.0, 0.0])
    one = Derivatives(linear, LOSSES["square"], np.full((1, 1), 3.0), np.ones(1), np.ones(1))
    np.testing.assert_array_equal(largest_eigenvalues(one, np.ones(1), 1, 3), [9.0, np.nan, np.nan])
    endless = Derivatives(linear, LOSSES["square"], np.full((1, DENSE + 1), np.inf), np.ones(1), np.ones(1))
    assert np.isnan(largest_eigenvalues(endless, np.ones(DENSE + 1), DENSE + 1, 1)).all()


def test_the_sharpness_is_the_same_however_often_it_is_asked_for():
    inputs = draw(12, 100)
    derivatives = Derivatives(linear, LOSSES["square"], inputs, draw(12, seed=1), np.full(12, 1.0))
    first, second = (largest_eigenvalues(derivatives, np.zeros(100), 100, 2) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_negative_curvature_is_no_sharpness():
    # 1/2 (uv - 1)^2 at u = v = 0: the Hessian is [[0, -1], [-1, 0]]
    def product(params, x):
        return x[:, 0] * params[0] * params[1]

    derivatives = Derivatives(product, LOSSES["square"], np.ones((1, 1)), np.ones(1), np.ones(1))
    np.testing.assert_allclose(largest_eigenvalues(derivatives, np.zeros(2), 2, 2), [1.0, -1.0], atol=1e-15)


def test_a_kernel_is_aligned_with_targets_as_far_as_it_is_their_square():
    y = draw(6)
    assert alignment(3.0 * np.outer(y, y), y) == pytest.approx(1.0)
    assert alignment(np.eye(6), y) == pytest.approx(1 / np.sqrt(6))
    across = draw(6, seed=1)
    across -= across @ y / (y @ y) * y
    assert alignment(np.outer(across, across), y) == pytest.approx(0.0, abs=1e-15)
    assert np.isnan(alignment(np.zeros((6, 6)), y))


def test_the_drift_of_a_kernel_is_relative_to_its_start():
    start = np.diag([3.0, 4.0])
    assert drift(1.5 * start, start) == pytest.approx(0.5)
    assert drift(start, start) == 0.0
    assert np.isnan(drift(start, np.zeros((2, 2))))


def test_classes_are_wanted_as_one_hot_vectors_that_add_up_to_zero():
    np.testing.assert_allclose(wanted_outputs(np.array([0.0, 1.0, 1.0]), 2, True), np.array([1, -1, -1, -1, 1, 1]) / 2)
    np.testing.assert_array_equal(wanted_outputs(np.array([3.0, 4.0]), 1, False), [3.0, 4.0])
    several = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(wanted_outputs(several, 2, False), [1.0, 2.0, 3.0, 4.0])


def test_jax_is_left_in_its_own_precision(problem):
    _, derivatives, params, _ = problem
    assert derivatives.gradient(params).dtype == np.float64
    assert jnp.zeros(1).dtype == np.float32
