"""Networks that are functions of a tree of arrays, through ``flowsim.flow``."""

from __future__ import annotations

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.checkpoints import at_every_chance

import flowsim
from flowsim.cli import main


def homogeneous(params, x):
    """Of degree 7 in its three layers, each activation of degree 2."""
    for matrix in params[:-1]:
        x = jax.nn.relu(x @ matrix.T) ** 2
    return (x @ params[-1].T)[:, 0]


@pytest.mark.slow
def test_the_loss_clock_leads_to_any_loss_and_the_smoothed_margin_never_falls():
    """Lyu & Li (2020): of a homogeneous network with the logistic loss, once all samples are right."""
    random, samples = np.random.default_rng(0), 20
    x = random.standard_normal((samples, 5))
    y = np.sign(x[:, 0] + 0.3 * x[:, 1])
    shapes = [(8, 5), (6, 8), (1, 6)]
    layers = [0.3 * random.standard_normal(shape) for shape in shapes]
    run = flowsim.flow(
        homogeneous,
        layers,
        x,
        y,
        loss="logistic",
        until={"log10_loss": -1000.0},
        degree=7,
        times=100,
    )
    assert run.attrs["status"] == "done"
    assert run["log10_loss"][-1] <= -1000
    smoothed = run["kkt/smoothed_margin"].values
    right = np.isfinite(smoothed)
    assert right[-50:].all()
    assert (np.diff(smoothed[right]) >= 0).all()
    # in the end the loss is that of its smallest margins, so both margins agree to log(n) over the margin
    assert run["kkt/normalised_margin"][-1] == pytest.approx(smoothed[-1], rel=np.log(samples) / 2000)
    assert run["kkt/gradient_cosine"][-1] > run["kkt/gradient_cosine"][10]


def test_the_certificate_of_a_function_is_that_of_the_same_neurons():
    random = np.random.default_rng(0)
    x = random.standard_normal((10, 4))
    data = flowsim.Data(x, np.sign(x[:, 0]))
    hidden, output = 0.3 * random.standard_normal((20, 4)), 0.3 * random.standard_normal(20)
    sections = {
        "model": {"activation": "relu_power", "degree": 2.0, "width": 20},
        "loss": {"kind": "logistic"},
        "flow": {"engine": "diffrax", "until": {"time": 300.0}, "rtol": 1e-9},
        "observe": {"times": 5},
    }
    neurons = flowsim.run(flowsim.Scenario(sections), data=data, init=flowsim.Weights(hidden, output))

    def apply(params, x):
        return jax.nn.relu(x @ params["hidden"].T) ** 2 @ params["output"]

    function = flowsim.flow(
        apply,
        {"hidden": hidden, "output": output},
        data.x,
        data.y,
        loss="logistic",
        degree=3,
        until={"time": 300.0},
        rtol=1e-9,
        times=5,
    )
    assert np.isfinite(neurons["kkt/kkt_residual"][-1])
    for name, expected in neurons["kkt"].data_vars.items():
        np.testing.assert_allclose(function[f"kkt/{name}"], expected, rtol=1e-5, err_msg=str(name))


class Convolutions(eqx.Module):
    convolution: eqx.nn.Conv2d
    readout: eqx.nn.Linear
    activation: object

    def __init__(self, seed: int):
        one, other = jax.random.split(jax.random.key(seed))
        self.convolution = eqx.nn.Conv2d(1, 2, 3, key=one)
        self.readout = eqx.nn.Linear(2 * 4, 1, key=other)
        self.activation = jax.nn.tanh

    def __call__(self, x):
        return self.readout(self.activation(self.convolution(x)).ravel())[0]


@pytest.fixture(scope="module")
def images():
    x = np.random.default_rng(0).standard_normal((12, 1, 4, 4))
    return x, np.sign(x[:, 0, 0, 0] + x[:, 0, 2, 2])


MOMENTUM = {"method": "sgd", "step": 0.05, "batch": 5, "momentum": 0.9, "iterations": 40}
ADAMW = {"method": "adamw", "step": 0.05, "batch": 4, "weight_decay": 0.1, "iterations": 40}
FLOW = {"until": {"time": 4.0}}


@pytest.mark.parametrize(
    "keys", [MOMENTUM, pytest.param(ADAMW, marks=pytest.mark.papers), FLOW], ids=["sgd", "adamw", "flow"]
)
def test_an_equinox_module_goes_on_after_it_was_killed_as_if_it_had_not_been(keys, images, tmp_path, monkeypatch):
    def run(output, **more):
        return flowsim.flow(
            None, Convolutions(0), *images, loss="logistic", times=11, output=tmp_path / output, **keys, **more
        )

    class Killed(BaseException):
        pass

    reports = []

    def killing(standing):
        reports.append(standing)
        if len(reports) == 4:
            raise Killed

    whole = run("whole.nc")
    at_every_chance(monkeypatch)
    monkeypatch.setattr("flowsim.solve.advance.MOST_ATTEMPTS", 2)
    with pytest.raises(Killed):
        run("cut.nc", progress=killing)
    with flowsim.open(tmp_path / "cut.nc") as cut:
        assert cut.attrs["status"] == "running"
        assert 1 < cut.sizes["time"] < whole.sizes["time"]
    resumed = run("cut.nc", resume=True)
    assert resumed.attrs["status"] == whole.attrs["status"] == "done"
    assert float(resumed["loss"][-1]) < float(resumed["loss"][0])
    for name in ("loss", "margin", "convolution_weight", "readout_bias"):
        np.testing.assert_array_equal(resumed[name], whole[name])
    np.testing.assert_array_equal(resumed["numerics/evaluations"], whole["numerics/evaluations"])


def test_an_array_may_have_a_name_that_the_solver_s_own_arrays_have(tmp_path):
    random = np.random.default_rng(0)
    x, start = random.standard_normal((5, 3)), {"hidden": random.standard_normal((4, 3)), "clock": np.ones(4)}

    def apply(params, x):
        return jnp.tanh(x @ params["hidden"].T) @ params["clock"]

    keys = {"times": 6, "output": tmp_path / "run.nc"}
    cut = flowsim.flow(apply, start, x, x[:, 0], until={"time": 9.0, "steps": 3}, **keys)
    assert cut.attrs["status"] == "step_limit"
    resumed = flowsim.flow(apply, start, x, x[:, 0], until={"time": 9.0}, resume=True, **keys)
    whole = flowsim.flow(apply, start, x, x[:, 0], until={"time": 9.0}, times=6)
    np.testing.assert_array_equal(resumed["hidden"], whole["hidden"])


def linear(params, x):
    return x @ params["w"] + params["b"]


def test_a_function_that_is_handed_over_again_is_compiled_again_only_where_it_has_changed(regression):
    slope, traces = {"is": 1.0}, []

    def apply(params, x):
        traces.append(x.shape)
        return slope["is"] * x @ params["w"]

    def train():
        run = flowsim.flow(apply, {"w": np.zeros(3)}, *regression, until={"time": 1.0}, times=2)
        return run["w"].values[-1], traces.count((9, 3))

    first, once = train()
    again, still = train()
    slope["is"] = 2.0
    other, more = train()
    np.testing.assert_array_equal(first, again)
    assert once == still < more
    assert np.abs(other - first).min() > 1e-3


@pytest.fixture
def regression():
    random = np.random.default_rng(1)
    return random.standard_normal((9, 3)), random.standard_normal(9)


def descended(start, data, **keys):
    run = flowsim.flow(linear, start, *data, step=0.1, iterations=7, times=8, snapshots="all", **keys)
    return np.column_stack([run["w"], run["b"]])


@pytest.mark.parametrize(
    ("keys", "optimizer"),
    [
        ({"method": "gradient_descent"}, optax.sgd(0.1)),
        ({"method": "gradient_descent", "momentum": 0.9}, optax.sgd(0.1, 0.9)),
        ({"method": "gradient_descent", "momentum": 0.9, "nesterov": True}, optax.sgd(0.1, 0.9, nesterov=True)),
        ({"method": "adam", "betas": [0.8, 0.95], "epsilon": 1e-3}, optax.adam(0.1, 0.8, 0.95, 1e-3)),
        ({"method": "adamw", "weight_decay": 0.2}, optax.adamw(0.1, weight_decay=0.2)),
        (
            {"method": "gradient_descent", "schedule": {"kind": "cosine", "final": 0.1}},
            optax.sgd(optax.cosine_decay_schedule(0.1, 7, 0.1)),
        ),
    ],
    ids=["plain", "momentum", "nesterov", "adam", "adamw", "cosine"],
)
def test_descent_makes_the_steps_of_its_optimizer(keys, optimizer, regression):
    start = {"b": 0.1, "w": np.array([0.5, -0.2, 0.3])}
    found = descended({**start, "b": np.array(0.1)}, regression, **keys)
    x, y = regression
    theta = np.append(start["w"], start["b"])
    state, expected = optimizer.init(theta), [theta]
    with jax.enable_x64(True):
        for _ in range(7):
            residual = x @ theta[:3] + theta[3] - y
            gradient = np.append(x.T @ residual, residual.sum()) / len(y)
            updates, state = optimizer.update(gradient, state, theta)
            theta = theta + np.asarray(updates)
            expected.append(theta)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_an_array_of_rate_0_stays_where_it_is_and_others_make_their_part_of_a_step(regression):
    start = {"b": np.array(0.1), "w": np.array([0.5, -0.2, 0.3])}
    keys = {"method": "gradient_descent", "step": 0.1, "iterations": 1, "times": 2, "snapshots": "all"}
    plain = flowsim.flow(linear, start, *regression, **keys)
    rated = flowsim.flow(linear, start, *regression, rates={"b": 0.0, "w": 0.25}, **keys)
    assert rated["b"][-1] == start["b"] != plain["b"][-1]
    np.testing.assert_allclose(rated["w"][-1] - start["w"], 0.25 * (plain["w"][-1] - start["w"]), rtol=1e-12)


def test_label_noise_moves_every_gradient_and_is_drawn_from_the_seed(regression):
    start = {"b": np.array(0.0), "w": np.zeros(3)}
    one, again, other, without = (
        descended(start, regression, method="gradient_descent", seed=seed, **noise)
        for seed, noise in [(0, {"label_noise": 0.5}), (0, {"label_noise": 0.5}), (1, {"label_noise": 0.5}), (0, {})]
    )
    np.testing.assert_array_equal(one, again)
    assert (one[1:] != other[1:]).any(axis=1).all()
    x, y = regression
    # the first update differs by the mean of signs times inputs, and every sign is one
    shift = (one[1] - without[1]) * len(y) / 0.1 / 0.5
    signs = np.linalg.lstsq(np.column_stack([x, np.ones(9)]).T, shift)[0]
    assert np.linalg.norm(signs) <= 3 + 1e-9


def test_several_outputs_are_trained_on_vectors_and_on_classes(regression):
    x, _ = regression
    start = {"w": np.zeros((2, 3))}
    targets = x @ np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])

    def apply(params, x):
        return x @ params["w"].T

    run = flowsim.flow(apply, start, x, targets, until={"time": 200.0}, times=5, test=(x[:4], targets[:4]))
    np.testing.assert_allclose(run["w"][-1], [[1.0, 0.5, 0.0], [0.0, -1.0, 2.0]], atol=1e-4)
    assert run["loss"][0] == pytest.approx(0.5 * (targets**2).sum(axis=1).mean())
    assert run["test_loss"][0] == pytest.approx(0.5 * (targets[:4] ** 2).sum(axis=1).mean())
    classes = (x[:, 0] > 0).astype(int)
    run = flowsim.flow(apply, start, x, classes, loss="cross_entropy", until={"time": 50.0}, times=5)
    assert run["loss"][0] == pytest.approx(np.log(2))
    assert run["accuracy"][-1] == 1


def two_layers(params, x):
    return x @ params["layers"][0].T @ params["layers"][1]


def drawn(seed):
    random = np.random.default_rng(seed)
    return {"layers": [0.5 * random.standard_normal((4, 3)), 0.5 * random.standard_normal(4)]}


@pytest.mark.parametrize(
    "keys",
    [{"until": {"time": 3.0}}, {"method": "sgd", "step": 0.05, "batch": 4, "iterations": 60}],
    ids=["flow", "sgd"],
)
def test_the_members_of_an_ensemble_are_the_runs_of_its_seeds(keys, regression):
    together = flowsim.flow(two_layers, drawn, *regression, seed=[3, 5], times=4, snapshots=3, **keys)
    for place, seed in enumerate((3, 5)):
        alone = flowsim.flow(two_layers, drawn, *regression, seed=seed, times=4, snapshots=3, **keys)
        for name in ("loss", "layers_0", "layers_1"):
            np.testing.assert_allclose(together[name][place], alone[name], rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(together["init/layers_0"][place], drawn(seed)["layers"][0])


def test_a_result_is_reopened_with_its_function_and_with_no_other(regression, tmp_path):
    file = tmp_path / "run.nc"
    run = flowsim.flow(two_layers, drawn, *regression, until={"time": 3.0}, times=4, snapshots=2, output=file)
    with flowsim.reopen(file) as case, pytest.raises(flowsim.UsageError, match=r"two_layers is a function of Python"):
        _ = case.problem
    with flowsim.reopen(file, apply=two_layers) as case:
        np.testing.assert_array_equal(case.problem.leaves[0], drawn(0)["layers"][0])
        np.testing.assert_array_equal(case.params_at(-1)["layers"][1], run["layers_1"][-1])
    doubled = flowsim.reopen(file, apply=lambda params, x: 2 * two_layers(params, x))
    with doubled, pytest.raises(flowsim.UsageError, match="at time 0 are others"):
        _ = doubled.problem
    other = flowsim.reopen(file, apply=linear, params={"w": np.zeros(3)})
    with other, pytest.raises(flowsim.UsageError, match="those of this tree are"):
        _ = other.problem


def test_a_module_is_reopened_with_one_like_it(images, tmp_path):
    file = tmp_path / "run.nc"
    flowsim.flow(None, Convolutions(0), *images, loss="logistic", until={"time": 1.0}, times=2, output=file)
    with flowsim.reopen(file, params=Convolutions(7)) as case:
        trained = case.params_at(-1)
        assert isinstance(trained, Convolutions)
        np.testing.assert_array_equal(trained.readout.bias, case.trajectory["readout_bias"][-1])
    with flowsim.reopen(file, apply=two_layers) as case, pytest.raises(flowsim.UsageError, match="give params, too"):
        _ = case.problem


def test_two_runs_are_compared_array_by_array(regression):
    keys = {"until": {"time": 3.0}, "times": 4, "snapshots": "all"}
    coarse, fine = (flowsim.flow(two_layers, drawn, *regression, rtol=rtol, **keys) for rtol in (1e-3, 1e-9))
    found = flowsim.compare(coarse, fine)["relative_array_distance"]
    assert found.dims == ("snapshot", "array")
    expected = np.linalg.norm(coarse["layers_1"] - fine["layers_1"], axis=1) / np.linalg.norm(fine["layers_1"], axis=1)
    np.testing.assert_allclose(found.sel(array="layers_1"), expected)
    other = flowsim.flow(linear, {"w": np.zeros(3), "b": np.array(0.0)}, *regression, **keys)
    with pytest.raises(flowsim.UsageError, match="the trained arrays of a are"):
        flowsim.compare(coarse, other)


def test_a_result_is_shown_drawn_and_reported(regression, tmp_path):
    file = tmp_path / "run.nc"
    flowsim.flow(two_layers, drawn, *regression, until={"time": 3.0}, times=4, output=file, title="two layers")
    for words in (
        ["show", file],
        ["plot", file, "loss", "-o", tmp_path / "loss.png"],
        ["report", file, "-o", tmp_path / "report.html"],
    ):
        assert main([*map(str, words)]) == 0, words
    assert "two layers" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_inputs_are_attacked_where_a_network_is_a_function(tmp_path):
    """Of a linear classifier the smallest perturbation is of size |f(x)| / |w|, along the gradient."""
    random = np.random.default_rng(0)
    x = random.standard_normal((20, 4))
    y, file = np.sign(x[:, 0]), tmp_path / "run.nc"
    start = {"w": np.zeros(4), "b": np.array(0.0)}
    run = flowsim.flow(linear, start, x, y, loss="logistic", until={"time": 20.0}, times=3, output=file)
    w, b = run["w"].values[-1], run["b"].values[-1]
    with flowsim.reopen(file, apply=linear) as case:
        np.testing.assert_allclose(case.network(x), x @ w + b)
        radii = [0.0, 0.06, 0.2, 0.5, 1.0]
        found = flowsim.robustness(case, {"radii": radii, "attacks": ["pgd", "fgm"], "samples": 20})
    size = (x @ w + b) * y / np.linalg.norm(w)
    expected = [(size > radius).mean() for radius in radii]
    for attack in ("pgd", "fgm"):
        np.testing.assert_allclose(found["robust_accuracy"].sel(attack=attack)[0], expected)


def test_a_unit_that_is_zero_by_a_symmetry_does_not_stop_the_flow():
    """The middle layers stay diagonal but for rounding, whose relative error nothing could keep small."""
    layers = [0.3 * np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0], 0.3 * np.eye(3), 0.3 * np.eye(3)]

    def apply(params, x):
        for matrix in params:
            x = x @ matrix.T
        return x

    targets = np.diag([3.0, 1.5, 0.7]) @ np.linalg.inv(layers[0] / 0.3).T
    keys = {"loss": {"kind": "square", "reduction": "sum"}, "until": {"time": 10.0, "steps": 2000}, "times": 3}
    run = flowsim.flow(apply, layers, np.eye(3), targets.T, units="entries", **keys)
    assert run.attrs["status"] == "done"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"params": {"w": np.zeros(3, dtype=int)}}, "nothing to train"),
        ({"units": "row"}, '"row" is not known; there are rows'),
        ({"units": {"c": "rows"}}, "there is no array c; there are b, w"),
        ({"stop": 1}, "stop: no such argument"),
        ({"method": "adam", "step": 0.1, "iterations": 2, "momentum": 0.1}, 'not with method = "adam"'),
        ({"until": {"alignment": 0.9}}, "which has no neurons"),
        ({"apply": lambda params, x: params["w"]}, "expected (n,)"),
        ({"y": np.zeros((9, 2))}, "the network has 1 outputs, and the targets have 2 entries"),
    ],
)
def test_what_cannot_be_trained_is_refused(change, told, regression):
    x, y = regression
    asked = {"apply": linear, "params": {"w": np.zeros(3), "b": np.array(0.0)}, "x": x, "y": y, **change}
    with pytest.raises(flowsim.FlowsimError, match=re.escape(told)):
        flowsim.flow(**asked)
