"""Observables of any network, as runs keep them: of functions from Python, and of the networks that flowsim has."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import flowsim
from flowsim.observe import Instant, Setting
from flowsim.problem import reduce
from flowsim.solve import Snapshot

OF_MATRICES = ["singular_value", "effective_rank"]
OF_ANY = ["leaf_norm", "gradient_norm", "sharpness", "tangent_kernel", "kernel_drift", "kernel_alignment"]


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def linear(params, x):
    return x @ params["w"]


@pytest.fixture(scope="module")
def regression():
    """Linear regression by gradient flow: everything about it is known in closed form."""
    x, y = draw(12, 4), draw(12, seed=1)
    keys = {"variables": OF_ANY, "eigenvalues": 2, "kernel_samples": 5, "times": 4, "snapshots": "all", "rtol": 1e-10}
    tree = flowsim.flow(linear, {"w": draw(4, seed=2)}, x, y, until={"time": 2.0}, **keys)
    return x, y, tree.to_dataset()


def test_of_linear_regression_all_is_known(regression):
    x, y, run = regression
    w = run["w"].values
    gradient = (w @ x.T - y) @ x / len(x)
    np.testing.assert_allclose(run["gradient_norm"], np.linalg.norm(gradient, axis=1), rtol=1e-9)
    np.testing.assert_allclose(run["leaf_norm"].sel(leaf="w"), np.linalg.norm(w, axis=1), rtol=1e-12)
    largest = np.linalg.svd(x, compute_uv=False)[:2] ** 2 / len(x)
    np.testing.assert_allclose(run["sharpness"], np.tile(largest, (4, 1)), rtol=1e-12)
    seen = x[run["kernel_sample"].values]
    assert len(seen) == 5
    np.testing.assert_allclose(run["tangent_kernel"][2], seen @ seen.T, rtol=1e-12)
    np.testing.assert_array_equal(run["kernel_drift"], 0.0)
    wanted = y[run["kernel_sample"].values]
    aligned = wanted @ (seen @ seen.T) @ wanted / (np.linalg.norm(seen @ seen.T) * wanted @ wanted)
    np.testing.assert_allclose(run["kernel_alignment"], aligned, rtol=1e-12)


def test_a_vector_has_a_norm_and_no_singular_values():
    with pytest.raises(flowsim.ScenarioError, match=r'"singular_value" does not exist .* a trained array of two axes'):
        flowsim.flow(linear, {"w": draw(4)}, draw(6, 4), draw(6), variables=["singular_value"])


def deep(params, x):
    return x @ params["a"].T @ params["b"].T


@pytest.fixture(scope="module")
def factors():
    """A product of two matrices, fitted to vectors."""
    x, y = draw(8, 3), draw(8, 2, seed=1)
    params = {"a": draw(4, 3, seed=2), "b": draw(2, 4, seed=3)}
    names = [*OF_ANY, *OF_MATRICES]
    tree = flowsim.flow(deep, params, x, y, until={"time": 1.0}, variables=names, times=3, snapshots="all")
    return x, y, params, tree.to_dataset()


def test_matrices_of_different_shapes_stand_side_by_side(factors):
    _, _, _, run = factors
    assert list(run["matrix"].values) == ["a", "b"]
    for name, count in (("a", 3), ("b", 2)):
        values = run["singular_value"].sel(matrix=name)
        np.testing.assert_allclose(values[:, :count], np.linalg.svd(run[name], compute_uv=False), rtol=1e-12)
        assert np.isnan(values[:, count:]).all()
        share = values[:, :count] / values[:, :count].sum("rank")
        np.testing.assert_allclose(run["effective_rank"].sel(matrix=name), np.exp(-(share * np.log(share)).sum("rank")))


def test_the_kernel_of_several_outputs_goes_output_by_output(factors):
    x, y, params, run = factors
    a, b = params["a"], params["b"]
    kernel = run["tangent_kernel"][0].values.reshape(2, 8, 2, 8)
    for row in range(2):
        for column in range(2):
            expected = b[row] @ b[column] * x @ x.T + (row == column) * x @ a.T @ a @ x.T
            np.testing.assert_allclose(kernel[row, :, column], expected, rtol=1e-10, atol=1e-10)
    flat, wanted = run["tangent_kernel"].values, y.T.ravel()
    drift = np.linalg.norm(flat - flat[0], axis=(1, 2)) / np.linalg.norm(flat[0])
    np.testing.assert_allclose(run["kernel_drift"], drift, rtol=1e-12)
    aligned = np.einsum("tij,i,j->t", flat, wanted, wanted) / (np.linalg.norm(flat, axis=(1, 2)) * (wanted @ wanted))
    np.testing.assert_allclose(run["kernel_alignment"], aligned, rtol=1e-12)


#: The networks that flowsim has: whatever an activation, a layer or a bias may do to derivatives.
MODELS = {
    "prelu": {},
    "power, bias, in the span of the data": {
        "model": {"activation": "relu_power", "degree": 1.5, "width": 6, "bias": True},
        "data__dimension": 60,
    },
    "tanh, bias": {"model": {"activation": "tanh", "width": 6, "bias": True}},
    "leaky, logistic": {"model": {"activation": "leaky_relu", "width": 6}, "loss__kind": "logistic"},
    "classes": {"loss__kind": "cross_entropy", "data__supervision": "cluster", "model__width": 8},
    "fixed": {"model": {"activation": "prelu", "width": 6, "output": "fixed", "output_weight": 0.3}},
    "layers": {"model": {"kind": "mlp", "widths": [5, 4], "bias": True, "activation": "tanh"}},
    "linear": {"model": {"kind": "linear", "bias": True}},
}


@pytest.fixture(params=MODELS.values(), ids=list(MODELS))
def start(request, small) -> Instant:
    """Time 0 of a problem."""
    setting = Setting(reduce(flowsim.build(small(**{"init__scale": 0.5} | request.param))))
    return Instant(setting, Snapshot.first(setting.reduced))


def moved(start: Instant, change: list[np.ndarray]) -> Instant:
    """The same instant with other weights, in polar form: no formula of it is JAX's."""
    setting, problem = start.setting, start.problem
    hidden, *rest = [array + by for array, by in zip(start.arrays, change, strict=True)]
    norm = np.linalg.norm(hidden, axis=1)
    unit = hidden / norm[:, None]
    plain = reduce(problem, project=False, merge=False)
    direction = plain.lower(unit[:, : problem.inputs.shape[1]], unit[:, -1] if problem.bias else np.zeros(len(unit)))
    output = rest[0] if problem.trained_output and not problem.leaves else problem.output
    leaves = tuple(rest) if problem.leaves else ()
    with np.errstate(divide="ignore"):
        snapshot = Snapshot(0.0, direction, np.log(norm), np.sign(output), np.log(np.abs(output)), leaves=leaves)
    return Instant(Setting(plain, setting.observe), snapshot)


def random_change(start: Instant) -> list[np.ndarray]:
    return [draw(*array.shape, seed=index) for index, array in enumerate(start.arrays)]


def test_derivatives_of_a_network_of_flowsim_are_those_of_its_loss(start):
    change, step = random_change(start), 1e-5
    flat = np.concatenate([part.ravel() for part in change])
    up, down = (moved(start, [sign * step * part for part in change]) for sign in (1, -1))
    slope = (np.exp(up.log_loss) - np.exp(down.log_loss)) / (2 * step)
    derivatives = start.setting.derivatives
    assert derivatives.gradient(start.arrays) @ flat == pytest.approx(slope, rel=1e-7)
    curvature = (derivatives.gradient(up.arrays) - derivatives.gradient(down.arrays)) / (2 * step)
    found = derivatives.hessian_product(start.arrays, flat)
    np.testing.assert_allclose(found, curvature, atol=1e-4 * np.abs(found).max())


def test_the_tangent_kernel_of_a_network_of_flowsim_is_that_of_its_outputs(start):
    samples, step = start.setting.kernel_samples, 1e-5
    change = random_change(start)
    columns = []
    for index, part in enumerate(change):
        for place in range(part.size):
            unit = [np.zeros(array.shape) for array in change]
            unit[index].flat[place] = step
            up, down = moved(start, unit), moved(start, [-array for array in unit])
            difference = up.outputs_at(start.problem.inputs[samples]) - down.outputs_at(start.problem.inputs[samples])
            columns.append(difference.ravel() / (2 * step))
    expected = np.array(columns).T @ np.array(columns)
    np.testing.assert_allclose(start.tangent_kernel, expected, atol=1e-7 * np.abs(expected).max())


def test_the_loss_falls_by_the_square_of_the_gradient(small):
    scenario = small(observe={"times": [1.0, 1.0001], "variables": ["gradient_norm", "loss"]}, flow__rtol=1e-10)
    run = flowsim.run(scenario).to_dataset().isel(time=slice(1, 3))
    fall = -float(run["loss"].diff("time")[0]) / 0.0001
    assert float((run["gradient_norm"] ** 2).mean()) == pytest.approx(fall, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-80])
def test_the_gradient_of_a_tiny_network_is_small_and_not_lost(small, scale):
    names = ["gradient_norm", "leaf_norm"]
    run = flowsim.run(small(init__scale=scale, flow__until={"steps": 2}, observe={"variables": names})).to_dataset()
    # of order |w|: every neuron pulls with its output weight
    assert 0.01 * scale < float(run["gradient_norm"][0]) < 100 * scale
    assert 0.1 * scale < float(run["leaf_norm"].sel(leaf="hidden")[0]) < 100 * scale


def test_probes_are_where_the_network_is_looked_at(small):
    axis = {"from": -1.0, "to": 1.0, "count": 3}
    observe = {"probes": [[0.0] * 10, [1.0] * 10], "times": 3, "snapshots": "all"}
    run = flowsim.run(small(data__dimension=10, observe=observe)).to_dataset()
    weights = np.exp(run["log_norm"].values)[..., None] * run["direction"].values
    at_one = np.maximum(weights.sum(axis=2), 0.0)
    size = np.linalg.norm(weights, axis=2)
    expected = (run["output_weight"].values * at_one**3 / size**2).sum(axis=1)
    np.testing.assert_allclose(
        run["probe_output"][:, 0, 1],
        expected,
        rtol=1e-10,
    )
    np.testing.assert_array_equal(run["probe_output"][:, 0, 0], 0.0)
    np.testing.assert_array_equal(run["probe_x"], observe["probes"])
    keys = {"grid": [axis, {"from": 2, "to": 2, "count": 1}], "probes": [[5.0, 6.0]]}
    flat = flowsim.flow(linear, {"w": np.array([1.0, 10.0])}, draw(4, 2), draw(4), times=2, until={"time": 0.1}, **keys)
    np.testing.assert_array_equal(flat["probe_x"], [[5, 6], [-1, 2], [0, 2], [1, 2]])
    np.testing.assert_allclose(flat["probe_output"][0, 0], [65, 19, 20, 21])


def test_probes_of_several_outputs_have_them_all(small):
    observe = {"grid": [{"from": -1.0, "to": 1.0, "count": 2}, {"from": 0, "to": 0, "count": 1}], "times": 2}
    run = flowsim.flow(
        deep, {"a": np.eye(2), "b": np.diag([1.0, 2.0])}, draw(4, 2), draw(4, 2), until={"time": 0.1}, **observe
    )
    np.testing.assert_allclose(run["probe_output"][0], [[-1, 1], [0, 0]])


def test_members_of_an_ensemble_have_them_as_single_runs_do(small):
    keys = {"variables": [*OF_ANY, *OF_MATRICES, "probe_output"], "probes": [[0.3] * 8], "times": 3, "eigenvalues": 2}
    together = flowsim.run(small(seed=[3, 4], data__dimension=8, observe=keys, flow__until={"time": 1.0}))
    alone = flowsim.run(small(seed=4, data__dimension=8, observe=keys, flow__until={"time": 1.0}))
    for name in keys["variables"]:
        np.testing.assert_allclose(together[name].sel(seed=4), alone[name], rtol=1e-6, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(together["leaf"], ["hidden", "output"])
    np.testing.assert_array_equal(together["kernel_sample"], alone["kernel_sample"])


def test_a_network_that_changes_with_time_has_no_derivatives(small):
    model = {"kind": "symmetric_relu", "width": 5, "threshold": 0.1, "growth": 0.1, "cap": 1.0, "smoothing": 0.5}
    with pytest.raises(
        flowsim.ScenarioError, match=r'"sharpness" does not exist .* formulas that JAX can differentiate'
    ):
        flowsim.run(small(model=model, init={"scale": 0.1}, observe={"variables": ["sharpness"]}))
    still = {**model, "growth": 0.0}
    assert (
        flowsim.run(small(model=still, init={"scale": 0.1}, observe={"variables": ["sharpness"]}))["sharpness"][0] > 0
    )


WRONG = """[observe]
probes = [[0.0, 1.0],
          [2.0]]
grid = [{ from = 0.0, to = 1.0, count = 1 }]
kernel_samples = 0
"""


def test_wrong_keys_are_answered_where_they_stand(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG)
    with pytest.raises(flowsim.ScenarioError) as told:
        flowsim.load(path)
    assert "wrong.toml:4: observe.grid[0].count: one value cannot be both from and to" in str(told.value)
    assert "wrong.toml:5: observe.kernel_samples" in str(told.value)
    path.write_text("\n".join(WRONG.splitlines()[:3]))
    with pytest.raises(flowsim.ScenarioError) as told:
        flowsim.run(flowsim.load(path))
    assert "observe.probes[0]: has 2 entries; the samples have" in str(told.value)


def test_what_needs_no_derivatives_needs_no_jax(small):
    pytest.importorskip("numba")
    import subprocess
    import sys

    code = """
import sys, flowsim
names = ["leaf_norm", "singular_value", "effective_rank"]
overrides = {"data.samples": 4, "flow.engine": "numba", "flow.until": {"steps": 2}, "observe.variables": names}
assert "leaf_norm" in flowsim.run(flowsim.loads("", overrides=overrides))
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


X, LABELS = draw(6, 3), np.resize([1.0, -1.0], 6)


def hidden_layer(params, x):
    return jnp.tanh(x @ params["w"].T) @ params["v"]


def drift(apply, params, time: float) -> float:
    keys = {"variables": ["kernel_drift"], "times": 2, "rtol": 1e-5}
    return float(flowsim.flow(apply, params, X, LABELS, until={"time": time}, **keys)["kernel_drift"][-1])


def test_the_wider_a_network_in_the_kernel_s_parametrisation_the_less_its_kernel_moves():
    """Like 1/m (Dyer & Gur-Ari 2020), where pairs of neurons cancel at the start; not like 1/sqrt(m), its bound."""

    def of_width(width: int) -> float:
        w, v = draw(width // 2, 3, seed=5), draw(width // 2, seed=6)
        params = {"w": np.concatenate([w, w]), "v": np.concatenate([v, -v])}
        return drift(lambda params, x: hidden_layer(params, x) / np.sqrt(width), params, 2.0)

    # the widths are 16 times apart, and what is left of chance is in the narrower one
    assert 8 < of_width(400) / of_width(6400) < 32


def test_the_larger_the_output_s_scale_the_less_the_kernel_moves():
    """Like one over the scale, at a time that is shortened by its square (Chizat, Oyallon & Bach 2019)."""
    start = {"w": draw(8, 3, seed=5), "v": draw(8, seed=6)}

    def of_scale(scale: float) -> float:
        return drift(lambda params, x: scale * (hidden_layer(params, x) - hidden_layer(start, x)), start, 1 / scale**2)

    assert of_scale(100.0) / of_scale(1000.0) == pytest.approx(10.0, rel=0.02)
    assert of_scale(1000.0) < 0.01 < of_scale(1.0)


def test_members_of_an_ensemble_share_what_is_compiled(small):
    first, second = (
        Setting(reduce(flowsim.build(small(model={"activation": "tanh", "width": 6}, seed=seed)))).derivatives
        for seed in (0, 1)
    )
    assert first.function == second.function
    assert first.function != Setting(reduce(flowsim.build(small()))).derivatives.function
