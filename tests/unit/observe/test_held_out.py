"""What is observed on held-out samples, against a plain forward pass in the original features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm as normal

import flowsim
from flowsim.kinds.streams import stream
from flowsim.observe import Instant, Setting, instant
from flowsim.problem import reduce
from flowsim.results import write
from flowsim.solve import Snapshot

EPS = np.finfo(float).eps
LOGISTIC, CLASSES = {"kind": "logistic"}, {"kind": "cross_entropy"}
#: One network per row, of every kind.
NETWORKS = {
    "relu": {"model": {"activation": "relu", "width": 6}},
    "leaky relu, bias": {"model": {"activation": "leaky_relu", "slope": 0.3, "width": 6, "bias": True}},
    "prelu, logistic": {"model": {"activation": "prelu", "width": 6}, "loss": LOGISTIC},
    "prelu, exponential sum": {"model__width": 6, "loss": {"kind": "exponential", "reduction": "sum"}},
    "relu power, bias": {"model": {"activation": "relu_power", "degree": 2.5, "width": 6, "bias": True}},
    "tanh, fixed output": {"model": {"activation": "tanh", "width": 6, "output": "fixed", "output_weight": 0.4}},
    "classes": {
        "model": {"activation": "relu", "width": 8},
        "data__supervision": "cluster",
        "loss": CLASSES,
    },
    "linear, bias": {"model": {"kind": "linear", "bias": True}, "loss": LOGISTIC},
    "symmetric relu": {
        "model": {"kind": "symmetric_relu", "width": 6, "threshold": 0.1, "growth": 0.2, "cap": 9.0, "smoothing": 0.5}
    },
    "features of a kernel": {"model": {"kind": "ntk_features", "width": 6, "threshold": 0.5, "smoothing": 0.2}},
    "mlp, bias": {"model": {"kind": "mlp", "activation": "relu", "widths": [6, 5, 4], "bias": True}},
    "mlp of tanh, classes": {
        "model": {"kind": "mlp", "activation": "tanh", "widths": [6, 5]},
        "data__supervision": "cluster",
        "loss": CLASSES,
    },
}


def upward(scenario, problem, weights: dict, time: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(outputs (k, n), bounds of what is added up in them (k, n)) by the definition of each network."""
    hidden, bias, output, model = weights["hidden"], weights["bias"], weights["output"], scenario.model
    seen, reach = hidden @ x.T + bias[:, None], np.abs(hidden) @ np.abs(x.T) + np.abs(bias)[:, None]
    if model.kind == "mlp":
        squash = np.tanh if model.activation == "tanh" else lambda z: np.maximum(z, 0)
        for matrix in weights["leaves"]:
            ones = np.ones((matrix.shape[1] - len(seen), x.shape[0]))
            seen = matrix @ np.vstack([squash(seen), ones])
            reach = np.abs(matrix) @ np.vstack([reach, ones])
        return seen, reach
    size = np.sqrt((hidden**2).sum(axis=1) + bias**2)[:, None]
    positive = np.maximum(seen, 0)
    if model.kind == "symmetric_relu":
        level = model.threshold + model.growth * time
        spread = model.smoothing * level

        def ramp(z):
            return z * normal.cdf(z / spread) + spread * normal.pdf(z / spread)

        response, reach = ramp(seen - level) - ramp(-seen - level), reach + level
    elif model.kind == "ntk_features":
        gates = stream(0, "model.features").standard_normal(hidden.shape) @ x.T
        spread = model.smoothing * model.threshold
        rises = normal.cdf((gates - model.threshold) / spread) + normal.cdf((-gates - model.threshold) / spread)
        response, reach = seen * rises, 2 * reach
    elif model.kind == "linear":
        response = seen
    else:
        degree = getattr(model, "degree", 1.0)
        response = {
            "relu": lambda: positive,
            "leaky_relu": lambda: np.where(seen > 0, seen, 0.3 * seen),
            "prelu": lambda: positive**degree / size ** (degree - 1),
            "relu_power": lambda: positive**degree,
            "tanh": lambda: np.tanh(seen),
        }[model.activation]()
        if model.activation in ("prelu", "relu_power"):  # what the power makes of an error of the projection
            reach = degree * reach**degree / (size ** (degree - 1) if model.activation == "prelu" else 1.0)
    if not model.two_layers:
        return response.sum(axis=0)[None], reach.sum(axis=0)[None]
    parts, sizes = output[:, None] * response, np.abs(output)[:, None] * reach
    of = problem.neuron_output[None, :] == np.arange(problem.outputs)[:, None]
    return of @ parts, of @ sizes


def made_up(setting: Setting, seed: int, time: float) -> tuple[dict, Snapshot]:
    """Weights that the flow could reach, w_j(0) + a combination of the inputs, and the snapshot that stands for them."""
    problem, random = setting.problem, np.random.default_rng(seed)
    inputs = problem.inputs
    hidden = problem.hidden + random.standard_normal((len(problem.hidden), len(inputs))) @ inputs / len(inputs)
    bias = problem.hidden_bias + (0.3 * random.standard_normal(len(hidden)) if problem.bias else 0.0)
    size = np.sqrt((hidden**2).sum(axis=1) + bias**2)
    direction = setting.reduced.lower(hidden / size[:, None], bias / size)
    sign, log = problem.weights.output_sign, problem.weights.output_log
    leaves = tuple(matrix + 0.3 * random.standard_normal(matrix.shape) for matrix in problem.leaves)
    weights = {"hidden": hidden, "bias": bias, "output": sign * np.exp(log), "leaves": leaves}
    return weights, Snapshot(time, direction, np.log(size), sign, log, leaves=leaves)


def per_sample(problem, outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(loss (n,), bound of its derivative (n,))"""
    if problem.loss.classes:
        own = outputs[targets.astype(int), np.arange(len(targets))]
        return logsumexp(outputs, axis=0) - own, np.full(len(targets), 2.0)
    margin = targets * outputs[0]
    return {
        "square": lambda: (0.5 * (outputs[0] - targets) ** 2, np.abs(outputs[0] - targets)),
        "logistic": lambda: (np.log1p(np.exp(-margin)), np.ones(len(margin))),
        "exponential": lambda: (np.exp(-margin), np.exp(-margin)),
    }[problem.loss.name]()


@pytest.mark.parametrize("dimension", [60, 12], ids=["reduced", "in all features"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
def test_held_out_samples_see_neurons_as_they_are_in_all_features(small, monkeypatch, network, dimension):
    monkeypatch.setattr(instant, "BLOCK", 7)  # so that there are several blocks, the last one not full
    scenario = small(**{"init__scale": 0.5, "data__dimension": dimension, "data__test": {"samples": 30}, **network})
    problem = flowsim.build(scenario)
    setting = Setting(reduce(problem, project=scenario.project, merge=scenario.merge))
    assert setting.reduced.projected == (dimension == 60 and scenario.model.kind != "ntk_features")
    times = (0.0, 1.5)
    made = [made_up(setting, seed, time) for seed, time in enumerate(times)]
    seen = Instant(setting, Snapshot.stack([snapshot for _, snapshot in made]))
    test = problem.test
    for index, (weights, _) in enumerate(made):
        outputs, reach = upward(scenario, problem, weights, times[index], test.inputs)
        # sums of d products, then of m, each rounded; a few more for the change of coordinates and the response itself
        bound = 10 * EPS * (dimension + len(weights["hidden"]) + 10) * reach
        found = seen.test_outputs[index].reshape(outputs.shape)
        assert (np.abs(found - outputs) <= bound).all()
        loss, slope = per_sample(problem, outputs, test.targets)
        error = (slope * bound.max(axis=0) + 4 * EPS * (np.abs(loss) + 1) * len(loss)).mean()
        assert np.exp(seen.log_test_loss[index]) == pytest.approx(loss.mean(), rel=0, abs=2 * error)
        own = test.targets.astype(int)
        right = outputs.argmax(axis=0) == own if problem.loss.classes else test.targets * outputs[0] > 0
        assert (seen.test_margin[index] > 0).mean() == right.mean()


@pytest.mark.parametrize("dimension", [40, 5])
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ({"activation": "prelu", "width": 6}, {"kind": "square", "reduction": "mean"}),
        ({"activation": "relu", "width": 6, "bias": True}, {"kind": "logistic", "reduction": "sum"}),
        ({"kind": "mlp", "widths": [6, 4], "activation": "tanh"}, {"kind": "logistic"}),
    ],
)
def test_on_the_training_data_themselves_it_is_the_training_loss(on_table, model, loss, dimension):
    random = np.random.default_rng(0)
    label = np.where(np.arange(16) % 2 == 0, 1.0, -1.0)
    x = random.standard_normal((16, dimension)) / dimension**0.5 + label[:, None] * np.eye(1, dimension)
    x[8:12] = x[:4]  # equal samples, which are merged
    scenario = on_table(
        {"x": x, "y": label},
        model=model,
        loss=loss,
        data__test={"path": "table.npz"},
        init__scale=0.1,
        flow__until={"time": 3.0},
        observe__times=5,
    )
    run = flowsim.run(scenario).to_dataset()
    factor = 16.0 if scenario.loss.reduction == "sum" else 1.0
    # outputs and losses are of order 1: sums over features, neurons and samples, each term rounded
    bound = 10 * EPS * (dimension + 6 + 16)
    np.testing.assert_allclose(factor * run["test_loss"], run["loss"], rtol=bound)
    np.testing.assert_allclose(10 ** run["log10_test_loss"], run["test_loss"], rtol=1e-14)
    np.testing.assert_array_equal(run["test_accuracy"], run["accuracy"])


def test_a_test_loss_too_small_for_a_float_has_its_logarithm(small, setting_of):
    scenario = small(loss__kind="exponential", data__noise={"total": 0.0}, data__test={"samples": 4})
    setting = setting_of(scenario)
    centre = np.arange(6) % 4
    direction = setting.reduced.lower(setting.problem.centers[centre], np.zeros(6))
    sign = setting.problem.cluster_label[centre].astype(float)
    large = Snapshot(0.0, direction, np.full(6, 4.0), sign, np.r_[np.full(4, 4.0), -40.0, -40.0])
    seen = Instant(setting, Snapshot.stack([large]))
    # a neuron for every centre, v |w| = e^8 (and two that are e^44 times smaller): the loss of every sample is exp(-e^8)
    assert seen.log_test_loss[0] == pytest.approx(-np.exp(8.0), rel=1e-12)
    assert flowsim.observe.OBSERVABLES["test_loss"].value(seen)[0] == np.finfo(float).tiny


def test_the_members_of_an_ensemble_have_the_test_losses_of_single_runs(small):
    options = {"data__test": {"samples": 9}, "data__dimension": 40, "init__scale": 0.1, "observe__times": 4}
    together = flowsim.run(small(**options, seed=[3, 4]))
    for seed in (3, 4):
        alone = flowsim.run(small(**options, seed=seed))
        for name in ("test_loss", "log10_test_loss", "test_accuracy"):
            np.testing.assert_allclose(together[name].sel(seed=seed), alone[name], rtol=1e-6)  # flow.rtol
            np.testing.assert_array_equal(together[f"final/{name}"].sel(seed=seed), together[name].sel(seed=seed)[-1])
    assert together["test_loss"].dims == ("seed", "time")


@pytest.mark.parametrize("method", ["gradient_flow", "gradient_descent"])
def test_a_result_keeps_them_with_long_names(small, tmp_path, method):
    descent = {"method": method, "step": 0.1, "iterations": 20}
    flow = descent if method == "gradient_descent" else {"until": {"time": 2.0}}
    file = tmp_path / "run.nc"
    write(flowsim.run(small(data__test={"samples": 9}, flow=flow, observe__times=3)), file)
    with flowsim.open(file) as tree:
        for name in ("test_loss", "log10_test_loss", "test_accuracy"):
            assert tree[name].dims == ("time",)
            assert "held-out" in tree[name].attrs["long_name"] or "test_loss" in tree[name].attrs["long_name"]
            assert tree[name].attrs["units"] == "1"
