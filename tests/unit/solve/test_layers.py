"""Networks of any depth: their gradient, their flow, their descent, and what is kept of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.arrays import Floats
from flowsim.kinds.streams import stream
from flowsim.problem import reduce
from flowsim.problem.weights import Weights
from flowsim.solve import choose, make
from flowsim.solve.diffrax.integrator import DiffraxIntegrator

pytestmark = pytest.mark.filterwarnings("ignore:relu has a kink")

DEEP: dict[str, Any] = {"kind": "mlp", "widths": [12, 10, 8], "bias": True}
DESCENT = {"method": "gradient_descent", "step": 0.1, "iterations": 40}


@pytest.fixture(scope="module")
def deep(small):
    """The small scenario with a network of four layers, large enough to learn at once."""

    def scenario(**overrides: Any) -> flowsim.Scenario:
        model = {**DEEP, **overrides.pop("model", {})}
        usual = {"model": model, "init__scale": 0.5, "flow": {"rtol": 1e-4, "until": {"time": 8.0}}}
        return small(**{**usual, **overrides})

    return scenario


def layers(problem: flowsim.Problem) -> list[Floats]:
    """W_1, W_2, … at time 0, biases in a last column."""
    first = np.column_stack([problem.hidden, problem.hidden_bias]) if problem.bias else problem.hidden
    return [first, *problem.leaves]


def kept_layers(run: xr.Dataset, place: int) -> list[Floats]:
    """The same of a result, at one of its snapshots."""
    at = run.isel(snapshot=place)
    norm = np.exp(run["log_norm"].sel(time=at["snapshot"]).values)[:, None]
    found = [norm * at["direction"].values]
    if "bias_weight" in run:
        found = [np.column_stack([found[0], norm * at["bias_weight"].values[:, None]])]
    for layer in range(2, 2 + sum(str(name).endswith("_weight") and str(name)[:5] == "layer" for name in run)):
        matrix = at[f"layer_{layer}_weight"].values
        biases = [at[f"layer_{layer}_bias"].values] if "bias_weight" in run else []
        found.append(np.column_stack([matrix, *biases]))
    return found


def output(matrices, inputs, bias: bool, activation: str, xp=np):
    """f(x_i) (n, k) as anybody would write it"""
    signal = inputs
    for index, matrix in enumerate(matrices):
        signal = xp.column_stack([signal, xp.ones(len(signal))]) if bias else signal
        signal = signal @ matrix.T
        if index < len(matrices) - 1:
            signal = xp.tanh(signal) if activation == "tanh" else xp.where(signal > 0, signal, 0.0)
    return signal


def descended(problem: flowsim.Problem, step: float, batches: list[Any]) -> list[Floats]:
    """A ReLU network with biases after an iteration of square loss on each of the batches, derivatives by hand."""
    matrices, n = layers(problem), len(problem.targets)
    for batch in batches:
        signals, active = [problem.inputs[batch]], []
        for matrix in matrices:
            signals[-1] = np.column_stack([signals[-1], np.ones(len(signals[-1]))])
            seen = signals[-1] @ matrix.T
            active.append(seen > 0)
            signals.append(np.maximum(seen, 0))
        weight = problem.sample_weight[batch] * n / len(seen)
        delta = (weight * (seen[:, 0] - problem.targets[batch]))[:, None]
        gradients = []
        for index in reversed(range(len(matrices))):
            gradients.insert(0, delta.T @ signals[index])
            delta = (delta @ matrices[index])[:, :-1] * (active[index - 1] if index else 1.0)
        matrices = [matrix - step * gradient for matrix, gradient in zip(matrices, gradients, strict=True)]
    return matrices


def assert_close(found: list[Floats], wanted: list[Floats], tolerance: float) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize("reduction", [True, False])
def test_descent_is_a_loop_of_plain_numpy(deep, reduction):
    scenario = deep(flow={**DESCENT, "reduce": reduction}, data__samples=8)
    problem = flowsim.build(scenario)
    assert (reduce(problem).projected, len(problem.leaves)) == (True, 3)
    run = flowsim.run(scenario).dataset
    assert_close(kept_layers(run, -1), descended(problem, 0.1, [slice(None)] * 40), 1e-11)


def test_sgd_takes_the_batches_of_its_stream(deep):
    scenario = deep(flow={**DESCENT, "method": "sgd", "batch": 10}, flow__until={"loss": 1e-9})
    orders = [stream(0, f"flow.batches.{epoch}").permutation(24) for epoch in range(20)]
    batches = [order[begin : begin + 10] for order in orders for begin in (0, 10)]
    problem, run = flowsim.build(scenario), flowsim.run(scenario).dataset
    assert_close(kept_layers(run, -1), descended(problem, 0.1, batches), 1e-11)
    assert run["loss"][-1] < 0.5 * run["loss"][0]


@pytest.mark.parametrize("method", ["gradient_descent", "sgd"])
def test_descent_ends_at_its_loss(deep, method):
    batch = {"batch": 8} if method == "sgd" else {}
    run = flowsim.run(deep(flow={"method": method, "step": 0.1, "until": {"loss": 0.1}, **batch}))
    assert run.attrs["status_cause"].startswith("reached loss 0.1")
    # every iteration is looked at, or the end of every epoch of three
    iteration = int(run["iteration"][-1])
    assert run["loss"][-1] <= 0.1
    assert iteration > 1
    assert method == "gradient_descent" or iteration % 3 == 0


def test_descent_that_runs_away_says_so(deep):
    run = flowsim.run(deep(flow={**DESCENT, "step": 50.0, "iterations": 200}))
    assert run.attrs["status"] == "non_finite"
    assert np.isfinite(run["layer_4_weight"].values).all()


@pytest.mark.parametrize(
    ("activation", "loss", "bias"),
    [("relu", "square", False), ("tanh", "logistic", True), ("relu", "cross_entropy", True)],
)
def test_the_field_is_the_gradient_that_jax_finds(deep, activation, loss, bias):
    classes = {"data__supervision": "cluster"} if loss == "cross_entropy" else {}
    scenario = deep(model={"activation": activation, "bias": bias}, loss__kind=loss, **classes)
    problem = flowsim.build(scenario)
    reduced = reduce(problem)
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    with jax.enable_x64(True):

        def risk(matrices: list[jax.Array]) -> jax.Array:
            f = output(matrices, jnp.asarray(problem.inputs), bias, activation, jnp)
            f = f.T if problem.loss.classes else f[:, 0]
            return (problem.sample_weight * problem.loss.value(f, jnp.asarray(problem.targets), jnp)).sum()

        gradient = jax.grad(risk)([jnp.asarray(matrix) for matrix in layers(problem)])
        velocity = integrator._stepper.coordinates.field(integrator._start, integrator._constants)
    first, *upper = gradient
    parts = [first[:, :-1], first[:, -1]] if bias else [first, np.zeros(len(first))]
    assert_close(velocity.leaves, [-reduced.lower(*parts), *(-matrix for matrix in upper)], 1e-12)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_two_layers_are_a_two_layer_network(small, activation):
    flow: dict[str, Any] = {"rtol": 1e-8, "until": {"time": 5.0}}
    if activation == "relu":
        flow = DESCENT
    keys = {"init__scale": 0.3, "flow": flow, "data__samples": 12}
    mlp = small(model={"kind": "mlp", "width": 6, "activation": activation}, **keys)
    two = small(model={"width": 6, "activation": activation}, init__balanced=False, **keys)
    deep, plain = flowsim.build(mlp), flowsim.build(two)
    np.testing.assert_allclose(deep.hidden, plain.hidden, rtol=1e-14)
    v = deep.leaves[0][0]
    rows = plain.weights.direction, plain.weights.log_norm
    plain = replace(plain, weights=Weights.exactly(*rows, np.sign(v), np.log(np.abs(v)), bias=plain.bias))
    ends = []
    for scenario, problem in ((mlp, deep), (two, plain)):
        reduced = reduce(problem)
        plan = replace(choose(scenario, reduced), coordinates="cartesian")
        integrator = make(scenario, reduced, plan)
        carry = integrator.advance(integrator.begin(), np.inf, 10_000)
        end = integrator.now(carry)
        assert end.time == (5.0 if activation == "tanh" else pytest.approx(4.0))
        last = end.leaves[0][0] if end.leaves else end.output_sign * np.exp(end.output_log)
        ends.append([np.exp(end.log_norm)[:, None] * end.direction, last[None]])
    assert np.abs(ends[0][1] - v).max() > 0.1
    assert_close(*ends, 1e-6 if activation == "tanh" else 1e-12)


def test_the_flow_is_the_limit_of_descent(deep):
    keys = {"model": {"activation": "tanh"}, "observe__times": 2}
    flow = kept_layers(flowsim.run(deep(flow={"rtol": 1e-9, "until": {"time": 4.0}}, **keys)).dataset, -1)
    gaps = []
    for step in (0.02, 0.01):
        descent = deep(flow={**DESCENT, "step": step, "iterations": round(4 / step)}, **keys)
        ends = kept_layers(flowsim.run(descent).dataset, -1)
        gaps.append(max(np.abs(one - other).max() for one, other in zip(ends, flow, strict=True)))
    assert gaps[0] < 0.05
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.1)


def test_a_flow_keeps_its_rows_within_the_tolerance(deep):
    keys = {"model": {"activation": "tanh"}, "flow__solver": "tsit5", "observe__times": 2}
    ends = {rtol: kept_layers(flowsim.run(deep(**keys, flow__rtol=rtol)).dataset, -1) for rtol in (1e-4, 1e-6, 1e-9)}
    errors = [max(np.abs(a - b).max() for a, b in zip(ends[rtol], ends[1e-9], strict=True)) for rtol in (1e-4, 1e-6)]
    assert errors[1] < 1e-5
    assert errors[1] < 0.1 * errors[0]


def test_mixed_precision_is_close_to_float64(deep):
    tanh = {"model": {"activation": "tanh"}, "flow__rtol": 1e-4, "flow__solver": "tsit5", "observe__times": 2}
    exact = kept_layers(flowsim.run(deep(**tanh, flow__precision="float64")).dataset, -1)
    mixed = kept_layers(flowsim.run(deep(**tanh, flow__precision="mixed")).dataset, -1)
    assert_close(mixed, exact, 1e-3)
    assert max(np.abs(one - other).max() for one, other in zip(mixed, exact, strict=True)) > 0


def test_what_goes_into_a_relu_neuron_stays_balanced_with_what_comes_out(deep):
    scenario = deep(observe__snapshots="all", model={"bias": False})
    run = flowsim.run(scenario).dataset
    first, last = kept_layers(run, 0), kept_layers(run, -1)
    assert all(np.abs(after - before).max() > 0.05 for before, after in zip(first, last, strict=True))
    assert run["balance_drift"].max() < 1e-4
    balances = []
    for place in (0, -1):
        matrices = kept_layers(run, place)
        balances.append([(out**2).sum(0) - (into**2).sum(1) for into, out in pairwise(matrices)])
    assert_close(balances[1], balances[0], 2e-4)
    # descent keeps it to first order only
    run = flowsim.run(deep(flow=DESCENT, model={"bias": False})).dataset
    assert 1e-3 < run["balance_drift"].max() < 0.3


@pytest.mark.parametrize("bias", [True, False])
def test_a_result_has_every_layer_and_its_outputs_follow(deep, bias):
    run = flowsim.run(deep(model={"bias": bias}, observe__snapshots=5)).dataset
    problem = flowsim.build(deep(model={"bias": bias}))
    assert run["layer_2_weight"].dims == ("snapshot", "unit_2", "neuron")
    assert run["layer_4_weight"].dims == ("snapshot", "unit_4", "unit_3")
    assert ("layer_3_bias" in run) == bias
    assert_close(kept_layers(run, 0), layers(problem), 1e-12)
    for place, time in enumerate(run["snapshot"].values):
        f = output(kept_layers(run, place), problem.inputs, bias, "relu")[:, 0]
        np.testing.assert_allclose(problem.targets * f, run["margin"].sel(time=time), atol=1e-12)


def test_neurons_of_several_layers_have_no_sign_and_no_target(deep):
    run = flowsim.run(deep()).dataset
    assert {"cosine", "log_norm", "active_fraction", "balance_drift", "margin"} <= set(run)
    assert not {"output_weight", "cluster_mass", "void_mass", "neuron_sign", "target_cluster"} & {*run, *run.coords}
    with pytest.raises(flowsim.ScenarioError, match="it needs two layers: neurons that have an output weight each"):
        flowsim.run(deep(observe__variables=["output_weight"]))


@pytest.mark.parametrize("flow", [{"rtol": 1e-4}, {"method": "sgd", "step": 0.05, "batch": 8, "iterations": 160}])
def test_a_run_that_is_resumed_ends_as_one_that_was_not(deep, tmp_path, flow):
    whole = deep(flow={**flow, "until": {"time": 8.0}}, observe__snapshots=4)
    wanted, file = flowsim.run(whole), tmp_path / "run.nc"
    cut = deep(flow={**flow, "until": {"time": 8.0, "steps": 25}}, observe__snapshots=4)
    assert flowsim.run(cut, file).attrs["status"] == "step_limit"
    again = flowsim.run(whole, file, resume=True)
    xr.testing.assert_equal(again.to_dataset(), wanted.to_dataset())


def test_a_trained_network_is_a_classifier_of_its_inputs(deep):
    tree = flowsim.run(deep(model={"activation": "tanh"}))
    classifier, x = flowsim.reopen(tree).network, np.random.default_rng(0).normal(size=(6, 12))
    value, gradient = classifier.value_and_gradient(x)
    np.testing.assert_allclose(value, output(kept_layers(tree.dataset, -1), x, True, "tanh")[:, 0])
    for feature in range(12):
        moved = 1e-6 * np.eye(12)[feature]
        slope = (classifier.value(x + moved) - classifier.value(x - moved)) / 2e-6
        np.testing.assert_allclose(gradient[:, feature], slope, atol=1e-7)
    basis = np.linalg.qr(classifier.directions.T)[0]
    np.testing.assert_allclose(classifier.within(basis).value(x @ basis), value)


def test_hidden_widths_are_depth_and_width_or_as_listed():
    model = {
        text: flowsim.loads(f'[model]\nkind = "mlp"\n{text}').model
        for text in ("depth = 4\nwidth = 9", "", "width = 3")
    }
    assert [one.hidden_widths for one in model.values()] == [(9, 9, 9), (50,), (3,)]


def test_the_first_layer_starts_where_a_two_layer_network_does(small):
    problem = flowsim.build(small(model={"kind": "mlp", "widths": [6, 4]}, init={"shape": "sphere", "scale": 0.1}))
    two_layers = flowsim.build(small(init={"shape": "sphere", "scale": 0.1}))
    np.testing.assert_allclose(problem.hidden, two_layers.hidden, rtol=1e-14)
    for matrix in layers(problem):
        np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 0.1)
