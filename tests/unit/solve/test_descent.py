"""Descent: exactly w <- w - step dL/dw, against a loop of plain NumPy, and what its results say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.arrays import Floats
from flowsim.kinds.streams import stream
from flowsim.problem import reduce
from flowsim.solve import choose, make

STEPS = 40
DESCENT = {"method": "gradient_descent", "step": 0.2, "iterations": STEPS}
RELU = {"activation": "relu", "width": 6}

ACTIVATIONS = {
    "relu": {"activation": "relu"},
    "leaky_relu": {"activation": "leaky_relu", "slope": 0.3},
    "prelu": {"activation": "prelu", "degree": 3},
    "relu_power": {"activation": "relu_power", "degree": 2},
    "tanh": {"activation": "tanh"},
}


def neurons(problem: flowsim.Problem, rows: Floats, inputs: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """h(w_j, x_i) (m, n), and the gradient in w of sum_ij pull_ji h(w_j, x_i) as a function of the pull."""
    activation, z = problem.activation, rows @ inputs.T
    active, positive, norm = z >= 0, np.maximum(z, 0), np.linalg.norm(rows, axis=1)[:, None]
    p = activation.degree
    if activation.name in ("relu", "leaky_relu"):
        slope = np.where(active, 1.0, activation.inactive_slope)
        return slope * z, lambda pull: (pull * slope) @ inputs
    if activation.name == "tanh":
        return np.tanh(z), lambda pull: (pull / np.cosh(z) ** 2) @ inputs
    if activation.name == "relu_power":
        return positive**p, lambda pull: (pull * p * positive ** (p - 1)) @ inputs
    value = positive**p / norm ** (p - 1)
    return (
        value,
        lambda pull: (
            (pull * p * positive ** (p - 1) / norm ** (p - 1)) @ inputs
            - (p - 1) * (pull * value).sum(axis=1, keepdims=True) / norm**2 * rows
        ),
    )


def derivative(problem: flowsim.Problem, outputs: Floats, targets: Floats) -> Floats:
    return {
        "square": lambda: outputs - targets,
        "logistic": lambda: -targets / (1 + np.exp(targets * outputs)),
        "exponential": lambda: -targets * np.exp(-targets * outputs),
    }[problem.loss.name]()


def descent(problem: flowsim.Problem, step: float, batches: list[Any]) -> tuple[Floats, Floats]:
    """(hidden (m, d + bias), output (m,)) after an iteration on each of the batches: the samples that it sees."""
    inputs, n = problem.inputs, len(problem.targets)
    rows, output = problem.hidden, problem.output.copy()
    if problem.bias:
        inputs, rows = np.column_stack([inputs, np.ones(n)]), np.column_stack([rows, problem.hidden_bias])
    for batch in batches:
        x, y = inputs[batch], problem.targets[batch]
        weight = problem.sample_weight[batch] * n / len(y)
        value, backward = neurons(problem, rows, x)
        pull = weight * derivative(problem, output @ value, y)
        by_rows, by_output = backward(output[:, None] * pull), value @ pull
        rows = rows - step * by_rows
        if problem.trained_output:
            output = output - step * by_output
    return rows, output


def final_weights(run: xr.DataTree) -> tuple[Floats, Floats]:
    last = run.to_dataset().isel(time=-1, snapshot=-1)
    norm = np.exp(last["log_norm"].values)[:, None]
    rows = last["direction"].values
    if "bias_weight" in last:
        rows = np.column_stack([rows, last["bias_weight"].values])
    return norm * rows, last["output_weight"].values


def assert_close(run: xr.DataTree, expected: tuple[Floats, Floats]) -> None:
    for found, wanted in zip(final_weights(run), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


EVERYTHING = [slice(None)]


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("output", "bias"), [("trained", False), ("trained", True), ("fixed", True)])
def test_descent_is_what_its_formula_says(small, activation, loss, output, bias):
    model = {"width": 6, "bias": bias, "output": output, **ACTIVATIONS[activation]}
    model |= {"output_weight": 0.3} if output == "fixed" else {}
    scenario = small(model=model, loss__kind=loss, init={"scale": 0.5, "balanced": False}, flow=DESCENT)
    problem = flowsim.build(scenario)
    expected = descent(problem, 0.2, EVERYTHING * STEPS)
    assert np.abs(expected[0] - descent(problem, 0.2, [])[0]).max() > 0.01  # it has gone somewhere
    assert_close(flowsim.run(scenario), expected)


def test_sums_over_several_pieces_of_the_data_are_sums_over_all(small):
    # 1200 samples are two whole pieces and a part of one
    scenario = small(data__samples=1200, model=RELU, init__scale=0.5, flow=DESCENT)
    run = flowsim.run(scenario)
    assert_close(run, descent(flowsim.build(scenario), 0.2, EVERYTHING * STEPS))


@pytest.mark.parametrize(
    "overrides", [{"data__dimension": 40}, {"data__noise": {"total": 0.0}}], ids=["span", "merged"]
)
def test_descent_in_fewer_coordinates_and_samples_is_the_same(small, overrides):
    scenario = small(model=RELU, init__scale=0.5, flow=DESCENT, **overrides)
    reduced = reduce(flowsim.build(scenario))
    assert reduced.projected or reduced.merged
    assert_close(flowsim.run(scenario), descent(flowsim.build(scenario), 0.2, EVERYTHING * STEPS))


def test_a_sample_exactly_orthogonal_to_a_neuron_counts_as_active(on_table):
    # ReLU'(0) = 1: the first neuron moves along the sample that it does not see, and along nothing else
    scenario = on_table(
        {"x": np.array([[0.0, 2.0]]), "y": np.array([1.0])},
        model={"activation": "relu", "width": 3, "output": "fixed", "output_weight": 0.5},
        flow={"method": "gradient_descent", "step": 0.1, "iterations": 1, "reduce": False},
    )
    reduced = reduce(flowsim.build(scenario), project=False)
    integrator = make(scenario, reduced, choose(scenario, reduced))
    start = integrator.save(integrator.begin())
    start["y"][:, :2] = [[3.0, 0.0], [-3.0, -1e-9], [0.0, 0.0]]
    start["counts"][:] = 0
    carry = integrator.advance(integrator.advance(integrator.restore(start), 0.0, 0), np.inf, 1)
    moved = integrator.save(carry)["y"][:, :2]
    sign = reduced.problem.weights.output_sign
    # outputs are 0, so the square loss pulls by 1: v x step = 0.5 x 2 x 0.1
    np.testing.assert_allclose(moved[0], [3.0, 0.1 * sign[0]], rtol=1e-15)
    np.testing.assert_array_equal(moved[1], [-3.0, -1e-9])
    np.testing.assert_allclose(moved[2], [0.0, 0.1 * sign[2]], rtol=1e-15)


def test_a_batch_of_all_samples_is_gradient_descent_up_to_rounding(small):
    whole = flowsim.run(small(init__scale=0.5, flow=DESCENT))
    batch = flowsim.run(small(init__scale=0.5, flow={**DESCENT, "method": "sgd", "batch": 24}))
    assert_close(batch, final_weights(whole))


SGD = {"method": "sgd", "step": 0.2, "iterations": 40, "batch": 7}


def test_batches_are_cut_from_a_new_order_of_the_samples_in_every_epoch(small):
    scenario = small(model=RELU, init__scale=0.5, flow=SGD)
    orders = [stream(0, f"flow.batches.{epoch}").permutation(24) for epoch in range(14)]
    batches = [order[begin : begin + 7] for order in orders for begin in (0, 7, 14)]
    assert_close(flowsim.run(scenario), descent(flowsim.build(scenario), 0.2, batches[:40]))


def test_batches_come_from_the_seed(small):
    first, again = (flowsim.run(small(flow=SGD)) for _ in range(2))
    np.testing.assert_array_equal(first["log_norm"], again["log_norm"])
    other = small(flow=SGD)
    reduced = reduce(flowsim.build(other), merge=False)
    moved = make(other.model_copy(update={"seed": 1}), reduced, choose(other, reduced))
    end = moved.now(moved.advance(moved.begin(), np.inf, 40))
    assert np.abs(end.log_norm - first["log_norm"].values[-1]).max() > 1e-6


def test_the_gradients_of_an_epoch_s_batches_average_to_the_whole_gradient(small):
    # a step so small that hardly anything moves in an epoch: then three batches of 8 are a step of three times the size,
    # but for a part of order `step`, and for eps/step, as a move is told from weights of order 1
    one = {"method": "gradient_descent", "step": 3e-8, "iterations": 1}
    three = {"method": "sgd", "step": 1e-8, "iterations": 3, "batch": 8}
    start = flowsim.build(small(init__scale=0.5)).hidden
    whole, epoch = (final_weights(flowsim.run(small(init__scale=0.5, flow=flow)))[0] - start for flow in (one, three))
    np.testing.assert_allclose(epoch, whole, rtol=0, atol=1e-6 * np.abs(whole).max())


@pytest.mark.parametrize("flow", [DESCENT, SGD], ids=lambda flow: flow["method"])
def test_a_saved_carry_goes_on_to_the_last_bit(small, flow):
    scenario = small(flow=flow, model=RELU)
    reduced = reduce(flowsim.build(scenario), merge=False)
    integrator = make(scenario, reduced, choose(scenario, reduced))
    saved, carry = [], integrator.begin()
    while integrator.report(carry).time < 0.2 * STEPS:
        saved.append({name: np.array(array) for name, array in integrator.save(carry).items()})
        carry = integrator.advance(carry, np.inf, attempts=5)
    report, end = integrator.report(carry), integrator.now(carry)
    assert (report.steps, report.evaluations, len(saved)) == (STEPS, STEPS + 1, 8)
    for arrays in saved:
        again = integrator.advance(integrator.restore(arrays), np.inf, attempts=1000)
        assert integrator.report(again) == report
        for name, array in vars(integrator.now(again)).items():
            np.testing.assert_array_equal(array, getattr(end, name), err_msg=name)


@pytest.mark.parametrize("flow", [DESCENT, SGD], ids=lambda flow: flow["method"])
def test_members_of_an_ensemble_are_the_runs_of_their_seeds(small, flow):
    together = flowsim.run_ensemble(small(flow=flow), [3, 1])
    for member, seed in enumerate((3, 1)):
        alone = flowsim.run(small(flow=flow, seed=seed))
        for name in ("log_norm", "loss", "cosine"):
            np.testing.assert_array_equal(together[name][member], alone[name], err_msg=name)
    np.testing.assert_array_equal(together["iteration"], np.rint(together["time"] / 0.2))


def test_time_is_step_times_iteration_exactly(small):
    run = flowsim.run(small(flow={"method": "gradient_descent", "step": 0.1, "iterations": 77}))
    assert (run["iteration"].values == [0, 8, 15, 23, 31, 38, 46, 54, 62, 69, 77]).all()
    assert (run["time"].values == 0.1 * run["iteration"].values).all()
    assert run["step"].shape == ()
    assert run["step"].item() == run.attrs["step"] == 0.1
    assert (run["numerics/steps"].values == run["iteration"].values).all()
    assert (run["numerics/step_size"].values == 0.1).all()
    assert (run.attrs["engine"], run.attrs["solver"], run.attrs["method"]) == (
        "descent",
        "gradient_descent",
        "gradient_descent",
    )
    assert run.attrs["step"] == 0.1


@pytest.mark.parametrize(
    ("flow", "iterations"),
    [
        ({"iterations": 7}, 7),
        ({"until": {"time": 0.7}}, 7),  # 0.7 / 0.1 is 6.999…
        ({"until": {"time": 0.75}}, 8),
        ({"until": {"time": 0.3}, "iterations": 5}, 3),
        ({"until": {"time": 0.9}, "iterations": 5}, 5),
        ({"until": {"time": 1e-9}}, 1),
    ],
)
def test_iterations_and_time_end_a_run_whichever_comes_first(small, flow, iterations):
    run = flowsim.run(small(flow={"method": "gradient_descent", "step": 0.1, **flow}))
    assert run["iteration"].values[-1] == iterations
    assert run.attrs["status"] == "done"


def test_a_loss_ends_descent_at_the_first_iteration_that_has_it(small):
    flow = {"method": "gradient_descent", "step": 0.2, "iterations": 1000}
    losses = flowsim.run(small(flow=flow, model=RELU, observe__spacing="solver"))["loss"].values
    first = int((losses <= 0.1).argmax())
    assert 0 < first < 1000
    run = flowsim.run(small(flow={**flow, "until": {"loss": 0.1}}, model=RELU))
    assert (run.attrs["status"], run["iteration"].values[-1]) == ("done", first)


def test_sgd_looks_at_the_loss_after_every_epoch(small):
    flow = {"method": "sgd", "step": 0.2, "batch": 7, "iterations": 1000}
    losses = flowsim.run(small(flow=flow, model=RELU, observe__spacing="solver"))["loss"].values
    first = 3 * int((losses[::3] <= 0.1).argmax())
    assert first > 0
    run = flowsim.run(small(flow={**flow, "until": {"loss": 0.1}}, model=RELU))
    assert (run.attrs["status"], run["iteration"].values[-1]) == ("done", first)


@pytest.mark.parametrize("flow", [DESCENT, SGD], ids=lambda flow: flow["method"])
def test_steps_that_diverge_are_told_of_and_what_was_finite_is_kept(small, flow):
    run = flowsim.run(small(flow={**flow, "step": 1e3, "iterations": 1000}, init__scale=0.5))
    assert run["numerics"].attrs["exit_code"] == 3
    assert (run.attrs["status"], run.attrs["status_remedy"]) == ("non_finite", "take a smaller flow.step")
    assert 0 < run["iteration"].values[-1] < 1000
    assert np.isfinite(run["log_norm"]).all()


@pytest.mark.parametrize(
    ("flow", "keys"),
    [
        ("step = 0.1", ["flow.step"]),
        ("iterations = 3\nbatch = 2", ["flow.iterations", "flow.batch"]),
        ('method = "gradient_descent"', ["flow.step", "flow.iterations"]),
        ('method = "gradient_descent"\nstep = 0.1\nuntil = { steps = 4 }', ["flow.iterations"]),
        ('method = "gradient_descent"\nstep = 0.1\niterations = 4\nbatch = 3', ["flow.batch"]),
        ('method = "sgd"\nstep = 0.1\niterations = 4', ["flow.batch"]),
        ('method = "sgd"\nstep = -0.1\niterations = 0\nbatch = 0.5', ["flow.step", "flow.iterations", "flow.batch"]),
        (
            'method = "gradient_descent"\nstep = 1\niterations = 1\nengine = "numba"\nrtol = 1e-5\ncoordinates = "polar"',
            ["flow.engine", "flow.rtol", "flow.coordinates"],
        ),
        (
            'method = "gradient_descent"\nstep = 1\nuntil = { loss = 0.1 }\n[observe]\nspacing = "log"',
            ["observe.spacing"],
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(flow, keys):
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.loads(f"[flow]\n{flow}\n")
    assert {issue.key for issue in caught.value.issues} == set(keys)


def test_words_that_ask_for_nothing_are_no_mistake():
    flowsim.loads(
        '[flow]\nmethod = "gradient_descent"\nstep = 1\niterations = 1\nengine = "auto"\ncoordinates = "auto"\n'
        'solver = "auto"\nclock = "auto"\nprecision = "float64"'
    )


@pytest.mark.parametrize("kind", ["prelu", "tanh"])
@pytest.mark.parametrize("keys", [{}, {"method": "sgd", "batch": 5}])
def test_mixed_precision_is_float64_to_what_float32_products_give(small, kind, keys):
    options = {"model": {**ACTIVATIONS[kind], "width": 6}, "init__scale": 0.3}
    exact, mixed = (
        final_weights(flowsim.run(small(flow={**DESCENT, **keys, "precision": precision}, **options)))[0]
        for precision in ("float64", "mixed")
    )
    difference = np.abs(mixed - exact).max() / np.abs(exact).max()
    assert 0 < difference < 1e-5  # not nothing: float32 was at work


ATTACKED = {"attack": {"kind": "pgd", "norm": "l2", "radius": 1.0, "steps": 2, "warmup": 3}}


@pytest.mark.parametrize(
    "keys", [{}, {**ATTACKED, "noise": {"deviation": 0.1, "draws": 2}}], ids=["clean", "smoothed adversary"]
)
def test_mixed_precision_of_networks_of_images_is_float64_to_what_a_network_in_float32_gives(keys):
    stage = {"name": "a", "method": "sgd", "step": 0.05, "batch": 10, "momentum": 0.9, "iterations": 5, **keys}
    found = [
        flowsim.run(
            flowsim.Scenario(
                {
                    "data": {"kind": "digits", "samples": 40, "supervision": "cluster"},
                    "model": {"kind": "conv", "channels": [3], "norm": "batch"},
                    "init": {"shape": "he"},
                    "loss": {"kind": "cross_entropy"},
                    "stage": [{**stage, "precision": precision}],
                    "observe": {"times": 2},
                }
            )
        )
        for precision in ("float64", "mixed")
    ]
    for name in ("conv_1", "norm_1_mean", "norm_1_variance", "output"):
        exact, mixed = (tree[name].values[-1] for tree in found)
        assert mixed.dtype == np.float64
        assert 0 < np.abs(mixed - exact).max() / np.abs(exact).max() < 1e-4, name


def test_attackers_in_float32_move_samples_whose_loss_it_cannot_hold():
    data = flowsim.Data(x=[[200.0, 1.0], [1.0, 200.0]], y=[1, -1], cluster=[0, 1])
    stage = {"name": "a", "method": "gradient_descent", "step": 1e-3, "iterations": 1}
    asked = {
        "data": {"kind": "table", "supervision": "cluster"},
        "model": {"kind": "dense", "widths": [2], "activation": "relu"},
        "init": {"shape": "identity", "scale": 1.0},
        "loss": {"kind": "cross_entropy"},
        "observe": {"times": 2},
    }
    exact, mixed = (
        flowsim.run(
            {
                **asked,
                "stage": [{**stage, "precision": precision, "attack": {"kind": "fgm", "norm": "l2", "radius": 200.0}}],
            },
            data=data,
        )["layer_1"].values
        for precision in ("float64", "mixed")
    )
    assert np.abs(exact[-1] - exact[0]).max() > 1e-3
    np.testing.assert_allclose(mixed[-1], exact[-1], atol=1e-6)


def test_a_batch_has_at_most_all_samples(small):
    scenario = small(flow={**SGD, "batch": 25})
    with pytest.raises(flowsim.ScenarioError, match=r"flow.batch: 25 samples of 24"):
        flowsim.run(scenario)


def test_weights_too_small_for_descent_are_refused(small):
    with pytest.raises(flowsim.ScenarioError, match=r"init.scale: .*gradient_flow"):
        flowsim.run(small(flow=DESCENT, init__scale=1e-300))


SMOOTH = {
    "prelu": {"model": {"activation": "prelu", "width": 6}, "init__scale": 0.3},
    "tanh, logistic": {"model": {"activation": "tanh", "width": 6}, "init__scale": 0.3, "loss__kind": "logistic"},
}


def errors(small, steps: list[float], **overrides: Any) -> Floats:
    """Largest difference of a weight at time 8 between descent with each of the steps and the flow."""
    flow = flowsim.run(small(flow={"engine": "numba", "rtol": 1e-9, "until": {"time": 8.0}}, **overrides))
    end = {"method": "gradient_descent", "until": {"time": 8.0}}
    descents = [flowsim.run(small(flow={**end, "step": step}, **overrides)) for step in steps]
    return np.array([np.abs(final_weights(run)[0] - final_weights(flow)[0]).max() for run in descents])


@pytest.mark.parametrize("kind", SMOOTH)
def test_with_smaller_steps_descent_becomes_the_flow_at_first_order(small, kind):
    found = errors(small, [0.08, 0.04, 0.02], **SMOOTH[kind])
    np.testing.assert_allclose(found[:-1] / found[1:], 2.0, atol=0.05)


def test_with_smaller_steps_descent_of_relu_becomes_the_flow_along_its_kinks(small):
    # 48 changes of gates and up to 9 sliding pairs: descent chatters about the boundaries that the flow slides along
    found = errors(small, [0.08, 0.04, 0.02], model=RELU)
    assert ((found[:-1] / found[1:] > 1.8) & (found[:-1] / found[1:] < 2.2)).all()


def test_a_plan_says_how_many_iterations_there_will_be_over_what(small):
    for flow, sentence in (
        (DESCENT, "solver gradient_descent: at most 40 iterations of step 0.2, each over all 24 samples"),
        (SGD, "solver sgd: at most 40 iterations of step 0.2, each over 7 of 24 samples"),
        (
            {"method": "gradient_descent", "step": 1, "until": {"loss": 0.1}},
            "solver gradient_descent: any number of iterations of step 1, each over all 24 samples",
        ),
    ):
        scenario = small(flow=flow)
        plan = choose(scenario, reduce(flowsim.build(scenario)))
        assert (plan.engine, plan.coordinates, plan.reasons[1]) == ("descent", "cartesian", sentence)


def test_logistic_regression_descends_as_anybody_would_write_it(small):
    scenario = small(model={"kind": "linear"}, flow={**DESCENT, "method": "gradient_descent"}, loss__kind="logistic")
    problem = flowsim.build(scenario)
    w, run = problem.hidden[0], flowsim.run(scenario).dataset
    for _ in range(STEPS):
        pull = problem.targets / (1 + np.exp(problem.targets * (problem.inputs @ w)))
        w = w + DESCENT["step"] * pull @ problem.inputs / len(pull)
    found = np.exp(run["log_norm"].values[-1, 0]) * run["direction"].values[-1, 0]
    np.testing.assert_allclose(found, w, atol=1e-12)
