"""Features of a tangent kernel: against the network they belong to, JAX, finite differences, and the linear classifier."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import flowsim
from flowsim.evaluate.robustness import Ordinary, TwoLayer
from flowsim.kinds.network import Network
from flowsim.kinds.networks.symmetric_relu import SymmetricRelu
from flowsim.kinds.streams import stream

TEXT = """
[data]
kind = "sparse_coding"
dimension = 6
sparsity = 2.0
samples = 40
noise = { total = 0.3 }
[model]
kind = "ntk_features"
width = 5
threshold = 1.2
[init]
scale = 0.3
[loss]
kind = "logistic"
[observe]
times = 3
"""
GD = {"method": "gradient_descent", "step": 0.5}
SGD = {"method": "sgd", "step": 0.5, "batch": 7}
FRESH = {**SGD, "fresh": True}
FGM = {"kind": "fgm", "radius": 0.2}


def stages(*parts, **keys):
    listed = [{"name": str(index), **part} for index, part in enumerate(parts)]
    return flowsim.loads(TEXT, overrides={"stage": listed, **keys})


def trained(tree):
    """(snapshot, neuron, feature)"""
    dataset = tree.to_dataset()
    return (np.exp(dataset["log_norm"].sel(time=dataset["snapshot"])) * dataset["direction"]).values


class Gates(NamedTuple):
    weights: np.ndarray
    threshold: float
    spread: float
    sign: float

    @classmethod
    def of(cls, scenario):
        """Those of a scenario, drawn again."""
        model, shape = scenario.model, (scenario.model.width, scenario.data.dimension)
        weights = stream(scenario.seed, "model.features").standard_normal(shape)
        sign = 1.0 if model.gates == "sum" else -1.0
        return cls(weights, model.threshold, model.smoothing * model.threshold, sign)

    def at(self, x):
        """(n, m)"""
        z = x @ self.weights.T
        if self.spread:
            above, below = (norm.cdf((sign * z - self.threshold) / self.spread) for sign in (1, -1))
        else:
            above, below = (1.0 * (sign * z >= self.threshold) for sign in (1, -1))
        return above + self.sign * below


@jax.jit
def formula(v, x, gates):
    """f (n,), in JAX from the definition"""
    z = x @ gates.weights.T
    spread = jnp.where(gates.spread > 0, gates.spread, 1.0)
    smooth, hard = (
        [gate(s * z - gates.threshold) for s in (1, -1)]
        for gate in (lambda over: jax.scipy.stats.norm.cdf(over / spread), lambda over: jnp.where(over >= 0, 1.0, 0.0))
    )
    above, below = (jnp.where(gates.spread > 0, *pair) for pair in zip(smooth, hard, strict=True))
    return ((x @ v.T) * (above + gates.sign * below)).sum(axis=1)


@jax.jit
def formula_and_slope(v, x, gates):
    """f (n,), and its derivative in x (n, d)"""
    return formula(v, x, gates), jax.grad(lambda at: formula(v, at, gates).sum())(x)


def drawn(seed, smoothing=0.0, gates="sum", threshold=0.8):
    """(v (5, 4), x (7, 4), the gates, the network). Gates are drawn in two ways only, as code is compiled for each."""
    random = np.random.default_rng(seed)
    keys = {"model.threshold": threshold, "model.smoothing": smoothing, "model.gates": gates, "data.dimension": 4}
    scenario = flowsim.loads(TEXT, overrides={**keys, "seed": seed % 2, "data.samples": 2})
    network = flowsim.build(scenario).network
    return random.standard_normal((5, 4)), random.standard_normal((7, 4)), Gates.of(scenario), network


def classifier_of(network: Network, v: np.ndarray) -> Ordinary:
    return Ordinary(network, (v,), v.shape[1])


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5]), st.sampled_from(["sum", "difference"]))
def test_value_and_gradient_are_those_of_jax_and_of_finite_differences(seed, smoothing, gates):
    v, x, frozen, network = drawn(seed, smoothing, gates)
    classifier = classifier_of(network, v)
    value, gradient = classifier.value_and_gradient(x)
    with jax.enable_x64(True):
        expected, slope = map(np.asarray, formula_and_slope(v, x, frozen))
    assert value == pytest.approx(expected, abs=1e-12)
    assert gradient == pytest.approx(slope, abs=1e-12)
    near = np.abs(np.abs(x @ frozen.weights.T) - frozen.threshold).min(axis=1) > 1e-3
    for axis in np.eye(4):
        change = (classifier.value(x + 1e-6 * axis) - classifier.value(x - 1e-6 * axis)) / 2e-6
        assert gradient[near] @ axis == pytest.approx(change[near], abs=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3]))
def test_it_is_the_derivative_of_the_symmetric_relu_in_its_weights(seed, smoothing):
    v, x, gates, features = drawn(seed, smoothing)
    activation = SymmetricRelu(kind="symmetric_relu", width=5, threshold=gates.threshold, smoothing=smoothing).formulas

    def network(weights):
        return TwoLayer.of(weights, np.zeros(5), np.ones(5), activation)(x)

    step = 1e-6
    change = (network(gates.weights + step * v) - network(gates.weights - step * v)) / (2 * step)
    near = np.abs(np.abs(x @ gates.weights.T) - gates.threshold).min(axis=1) > 1e-3
    assert classifier_of(features, v).value(x)[near] == pytest.approx(change[near], abs=1e-7)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5]))
def test_the_sum_of_gates_makes_an_odd_function_and_the_difference_an_even_one(seed, smoothing):
    for gates, parity in (("sum", -1), ("difference", 1)):
        v, x, _, network = drawn(seed, smoothing, gates)
        classifier = classifier_of(network, v)
        assert classifier.value(-x) == pytest.approx(parity * classifier.value(x), abs=1e-12)


@partial(jax.jit, static_argnames=("loss", "by_sign", "steps"))
def iterated(v, x, y, gates, radius, length, loss, by_sign, steps):
    """v after three iterations of step 0.5, each on samples that so many steps of an attack have moved"""

    def losses(v, at):
        f = formula(v, at, gates)
        return jnp.logaddexp(0, -y * f) if loss == "logistic" else (f - y) ** 2 / 2

    def attack(moved, v):
        rise = jax.grad(lambda at: losses(v, at).sum())(moved)
        size = jnp.maximum(jnp.linalg.norm(rise, axis=1, keepdims=True), 1e-300)
        move = moved - x + length * (jnp.sign(rise) if by_sign else rise / size)
        size = jnp.maximum(jnp.linalg.norm(move, axis=1, keepdims=True), radius)
        return x + (jnp.clip(move, -radius, radius) if by_sign else move * radius / size)

    def iterate(_, v):
        moved = jax.lax.fori_loop(0, steps, lambda _, moved: attack(moved, v), x)
        return v - 0.5 * jax.grad(lambda at: losses(at, moved).mean())(v)

    return jax.lax.fori_loop(0, 3, iterate, v)


@pytest.mark.parametrize("kind", ["fgm", "pgd"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize(("smoothing", "loss"), [(0.0, "logistic"), (0.4, "square")])
def test_iterations_follow_the_gradient_that_jax_finds_at_the_moved_samples(kind, norm, smoothing, loss):
    radius, steps = 0.2, 1 if kind == "fgm" else 4
    attack = {"kind": kind, "norm": norm, "radius": radius, **({"steps": steps} if kind == "pgd" else {})}
    scenario = stages({**GD, "iterations": 3, "attack": attack}, **{"model.smoothing": smoothing, "loss.kind": loss})
    problem = flowsim.build(scenario)
    y, gates = problem.targets, Gates.of(scenario)
    length = radius if kind == "fgm" else 2.5 * radius / steps

    with jax.enable_x64(True):
        v = iterated(problem.hidden, problem.inputs, y, gates, radius, length, loss, norm == "linf", steps)
    assert trained(flowsim.run(scenario))[-1] == pytest.approx(np.asarray(v), abs=1e-12)


@pytest.mark.parametrize("attack", [{}, {"attack": {**FGM, "norm": "linf"}}, {"attack": {**FGM, "kind": "pgd"}}])
@pytest.mark.parametrize("part", [GD, SGD, FRESH])
def test_without_a_threshold_it_is_the_linear_classifier_of_the_summed_weights(part, attack):
    part = {**part, **attack, "iterations": 8}
    features = stages(part, **{"model.threshold": 0.0, "model.width": 1})
    linear = stages(part, model={"kind": "linear"})
    assert trained(flowsim.run(features)) == pytest.approx(trained(flowsim.run(linear)), rel=1e-12)


@pytest.mark.parametrize("part", [GD, SGD, FRESH, {**GD, "attack": FGM}, {**FRESH, "attack": {**FGM, "kind": "pgd"}}])
def test_two_stages_are_one_of_their_length(part):
    parted = flowsim.run(stages({**part, "iterations": 9}, {**part, "iterations": 12}))
    whole = flowsim.run(stages({**part, "iterations": 21}))
    assert trained(parted)[-1] == pytest.approx(trained(whole)[-1], rel=1e-12, abs=1e-15)


def test_what_a_run_says_of_itself_is_what_its_classifier_does():
    scenario = stages({**GD, "iterations": 30})
    tree, problem = flowsim.run(scenario), flowsim.build(scenario)
    output = flowsim.reopen(tree).network.value(problem.inputs)
    assert tree["margin"].values[-1] == pytest.approx(problem.targets * output, rel=1e-12)
    assert tree["loss"].values[-1] == pytest.approx(np.logaddexp(0, -problem.targets * output).mean(), rel=1e-12)
    assert tree["loss"].values[-1] < tree["loss"].values[0]
    assert not {"output_weight", "active_fraction", "cluster_mass"} & set(tree.data_vars)


@pytest.mark.parametrize("smoothing", [0.0, 0.4])
def test_the_flow_of_least_squares_is_the_exponential_of_the_kernel(smoothing):
    keys = {"data.samples": 20, "loss.kind": "square", "model.smoothing": smoothing, "observe.snapshots": 3}
    flow = {"rtol": 1e-9, "until": {"time": 6.0}}
    scenario = flowsim.loads(TEXT, overrides={**keys, "flow": flow})
    tree, problem = flowsim.run(scenario), flowsim.build(scenario)
    features = (Gates.of(scenario).at(problem.inputs)[:, :, None] * problem.inputs[:, None, :]).reshape(20, -1)
    rates, axes = np.linalg.eigh(features @ features.T / 20)
    start = axes.T @ (features @ problem.hidden.ravel() - problem.targets)
    for index, time in enumerate(tree["snapshot"].values):
        left = np.where(rates > 1e-12, -np.expm1(-rates * time) / np.where(rates > 1e-12, rates, 1.0), time)
        expected = problem.hidden.ravel() - features.T @ (axes @ (left * start)) / 20
        assert trained(tree)[index].ravel() == pytest.approx(expected, abs=1e-7)


def test_on_the_loss_clock_the_flow_is_the_same():
    def flown(clock):
        flow = {"rtol": 1e-9, "until": {"time": 50.0}, "clock": clock}
        return flowsim.run(flowsim.loads(TEXT, overrides={"data.samples": 10, "model.threshold": 0.3, "flow": flow}))

    fast, slow = flown("loss"), flown("time")
    assert trained(fast)[-1] == pytest.approx(trained(slow)[-1], abs=1e-6)
    assert slow["loss"].values[-1] < 0.2 * slow["loss"].values[0]


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({}, "stage[0].attack"),
        ({"stage": [{"name": "a", "engine": "numba"}]}, "stage[0].engine"),
        ({"loss.regularizer": {"square": 0.1}}, "loss.regularizer"),
        ({"evaluate.limit": True}, "evaluate.limit"),
        ({"evaluate.distance": {}}, "evaluate.distance"),
        ({"init.signs": "half"}, "init.signs"),
        ({"stage": [{"name": "a", "coordinates": "polar"}]}, "stage[0].coordinates"),
        ({"model.threshold": -1.0}, "model.threshold"),
        ({"model.noise": "sampled"}, "model.noise"),
    ],
)
def test_what_it_cannot_have_is_refused(keys, key):
    part = {**GD, "iterations": 3} if keys else {"until": {"time": 1.0}, "attack": FGM}
    with pytest.raises(flowsim.ScenarioError) as refused:
        stages(part, **keys)
    assert key in [issue.key for issue in refused.value.issues]
