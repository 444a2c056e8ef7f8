"""Kinds made of functions and classes: they mean what the formulas say, and their keys are checked as flowsim's own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flowsim
from flowsim.kinds.losses import LOSSES, Loss, LossSection
from flowsim.kinds.ordinary import RESERVED
from flowsim.kinds.origin import Plugin, registered_by
from flowsim.kinds.registry import REGISTRIES
from flowsim.problem import reduce
from flowsim.results.layout import COORDINATES, WEIGHTS
from flowsim.scenario.schema import schema

FLOW = {"until": {"time": 3.0}, "rtol": 1e-8}
DESCENT = {"method": "gradient_descent", "step": 0.05, "iterations": 40}


@pytest.fixture(autouse=True)
def lab():
    """A plugin that is gone after the test."""
    plugin = Plugin("lab")
    with registered_by(plugin):
        yield
    for registry in REGISTRIES.values():
        registry.forget(plugin)


def register_silu() -> None:
    @flowsim.register.activation("silu")
    def silu(z, xp, *, beta: float = 1.0):
        gate = 1 / (1 + xp.exp(-beta * z))
        return z * gate, gate + beta * z * gate * (1 - gate)


def register_huber() -> None:
    @flowsim.register.loss("huber")
    def huber(output, target, xp, *, delta: float = 1.0):
        size = xp.abs(output - target)
        return xp.where(size < delta, 0.5 * size**2, delta * (size - 0.5 * delta))


def final(tree: Any) -> np.ndarray:
    """(m, d + 1): w_j and v_j at the end."""
    weights = flowsim.weights(tree)
    return np.column_stack((weights.hidden, weights.output))


def test_the_flow_of_a_function_of_w_x_is_that_of_its_formula(small):
    register_silu()
    scenario = small(model={"activation": "silu", "beta": 1.5, "width": 3}, init__scale=0.3, flow=FLOW)
    problem = flowsim.build(scenario)
    x, y = problem.inputs, problem.targets

    def velocity(time: float, state: np.ndarray) -> np.ndarray:
        rows = state.reshape(3, -1)
        w, v = rows[:, :-1], rows[:, -1]
        z = x @ w.T
        gate = 1 / (1 + np.exp(-1.5 * z))
        pull = -((z * gate) @ v - y) / len(y)
        slope = gate + 1.5 * z * gate * (1 - gate)
        return np.column_stack((v[:, None] * ((slope * pull[:, None]).T @ x), (z * gate).T @ pull)).ravel()

    start = np.column_stack((problem.hidden, problem.output)).ravel()
    expected = solve_ivp(velocity, (0, 3), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1].reshape(3, -1)
    np.testing.assert_allclose(final(flowsim.run(scenario)), expected, rtol=1e-6, atol=1e-8)


def test_a_tiny_neuron_of_such_a_function_is_linear(small):
    register_silu()
    scenario = small(model={"activation": "silu", "width": 3}, init__scale=1e-200, flow=FLOW)
    response, slope = flowsim.build(scenario).activation.response(np.array([0.3, -0.7]), np.array(-460.0), np)
    np.testing.assert_allclose(response, [0.15, -0.35], rtol=1e-14)
    np.testing.assert_allclose(slope, [0.5, 0.5], rtol=1e-14)
    rise = flowsim.run(scenario)["log_norm"]
    assert np.isfinite(rise).all()


def test_a_function_that_is_not_0_at_0_keeps_its_value_there(small):
    @flowsim.register.activation("softplus")
    def softplus(z, xp):
        return xp.logaddexp(0.0, z)

    activation = flowsim.build(small(model={"activation": "softplus"})).activation
    value, slope = activation.response(np.array([0.5]), np.array(np.log(2.0)), np)
    assert activation.homogeneity == 0
    np.testing.assert_allclose(value, np.logaddexp(0, 1.0))
    # its derivative is taken by JAX, in <u, x>
    np.testing.assert_allclose(slope, 2 / (1 + np.exp(-1.0)), rtol=1e-14)


def test_a_function_without_keys_is_one_of_hidden_layers(small):
    @flowsim.register.activation("same", lipschitz=1.0)
    def same(z, xp):
        return z, xp.ones_like(z)

    @flowsim.register.activation("bent", smooth=False)
    def bent(z, xp):
        return xp.maximum(z, 0.0), xp.where(z > 0, 1.0, 0.0)

    deep = {"kind": "mlp", "widths": [4, 3]}
    scenario = small(model={**deep, "activation": "same"}, init__scale=0.3)
    first, (second, third) = flowsim.build(scenario).hidden, flowsim.build(scenario).leaves
    outputs = flowsim.build(scenario).inputs @ (third @ second @ first).ravel()
    run = flowsim.run(scenario.replace({"flow": {"until": {"time": 0.1}}}))
    np.testing.assert_allclose(run["margin"][0], outputs * flowsim.build(scenario).targets, rtol=1e-12)
    # what is not known of an activation switches off what needs it, and nothing else
    robust = {"flow": {"until": {"time": 0.1}}, "evaluate.robustness": {"radii": [0.1], "samples": 8}}
    with pytest.warns(UserWarning, match="No engine follows them"):
        unknown = flowsim.run(scenario.replace({**robust, "model.activation": "bent"}))["robustness"]
    known = flowsim.run(scenario.replace(robust))["robustness"]
    assert "certified_radius" in known
    assert "certified_radius" not in unknown


@pytest.mark.parametrize("flow", [FLOW, DESCENT], ids=["flow", "descent"])
@pytest.mark.parametrize("model", [{"activation": "prelu"}, {"activation": "tanh", "bias": True}], ids=str)
def test_a_loss_that_is_the_square_loss_moves_the_weights_as_that_does(model, flow, small):
    register_huber()
    options = {"model": {**model, "width": 4}, "init__scale": 0.3, "flow": flow}
    plain = {"regularizer": {"square": 0.1, "cubic": 0.2}}
    square = flowsim.run(small(**options, loss=plain))
    huber = flowsim.run(small(**options, loss={"kind": "huber", "delta": 1e6, **plain}))
    np.testing.assert_allclose(final(huber), final(square), rtol=1e-5 if flow is FLOW else 1e-11)
    np.testing.assert_allclose(huber["loss_derivative"], square["loss_derivative"], rtol=1e-5)


def test_without_compiled_code_flow_goes_to_the_other_engine_and_says_why(small):
    register_huber()
    tree = flowsim.run(small(loss={"kind": "huber"}, flow=FLOW))
    assert tree.attrs["engine"] == "diffrax"
    with pytest.raises(flowsim.ScenarioError, match="no compiled kernel for huber"):
        flowsim.run(small(loss={"kind": "huber"}, flow={**FLOW, "engine": "numba"}))


def test_new_samples_have_the_law_of_the_training_data():
    @flowsim.register.data("teacher")
    def teacher(rng, law, *, dimension: int = 3, samples: int = 20):
        x = rng.standard_normal((samples, dimension))
        return flowsim.Data(x, x @ law.standard_normal(dimension))

    problem = flowsim.build(flowsim.loads('[data]\nkind = "teacher"\nsamples = 30\ntest = { samples = 7 }'))
    assert problem.inputs.shape == (30, 3)
    assert problem.test.inputs.shape == (7, 3)
    weight = np.linalg.lstsq(problem.inputs, problem.targets, rcond=None)[0]
    np.testing.assert_allclose(problem.test.inputs @ weight, problem.test.targets, rtol=1e-12)
    other = flowsim.build(flowsim.loads('seed = 1\n[data]\nkind = "teacher"'))
    assert not np.allclose(other.inputs @ weight, other.targets)


def test_data_without_a_law_are_split_and_not_drawn_anew():
    @flowsim.register.data("ramp")
    def ramp(rng, *, samples: int = 10):
        return flowsim.Data(rng.standard_normal((samples, 2)), np.arange(float(samples)))

    problem = flowsim.build(flowsim.loads('[data]\nkind = "ramp"\ntest = { fraction = 0.3 }'))
    assert sorted([*problem.targets, *problem.test.targets]) == list(range(10))
    with pytest.raises(flowsim.ScenarioError, match=r"data\.test\.samples: .* come from no distribution"):
        flowsim.loads('[data]\nkind = "ramp"\ntest = { samples = 3 }')
    with pytest.raises(flowsim.ScenarioError, match="y must be"):
        flowsim.build(flowsim.loads('[data]\nkind = "ramp"\n[loss]\nkind = "logistic"'))


def test_a_start_is_what_the_function_draws_times_the_scale():
    @flowsim.register.init("orthogonal")
    def orthogonal(rng, shape, *, flip: bool = False):
        rows = np.linalg.qr(rng.standard_normal((max(shape), max(shape))))[0][: shape[0], : shape[1]]
        return -rows if flip else rows

    text = '[data]\ndimension = 6\n[model]\nwidth = 4\n[init]\nshape = "orthogonal"\nscale = 1e-3\nflip = {}'
    kept, flipped = (flowsim.build(flowsim.loads(text.format(flip))) for flip in ("false", "true"))
    np.testing.assert_allclose(kept.hidden @ kept.hidden.T, 1e-6 * np.eye(4), atol=1e-20)
    np.testing.assert_array_equal(flipped.hidden, -kept.hidden)


def test_a_start_of_another_shape_is_refused():
    @flowsim.register.init("flat")
    def flat(rng, shape):
        return np.ones(shape[0])

    with pytest.raises(flowsim.UsageError, match=r'init "flat": gives an array of shape \(50,\)'):
        flowsim.build(flowsim.loads('[init]\nshape = "flat"'))


def register_quadratic() -> None:
    @flowsim.register.network("quadratic")
    class Quadratic:
        """f(x) = sum_j <w_j, x>^2 / width"""

        width: int = 5
        degree = 2.0

        def shapes(self, features, outputs):
            return {"w": (self.width, features)}

        def apply(self, params, x):
            return ((x @ params["w"].T) ** 2).sum(axis=1) / self.width


def test_a_network_of_a_class_flows_by_its_formula(small):
    register_quadratic()
    scenario = small(model={"kind": "quadratic", "width": 2}, init__scale=0.5, flow=FLOW)
    tree = flowsim.run(scenario)
    problem = flowsim.build(scenario)
    x, y = problem.inputs, problem.targets

    def velocity(time: float, state: np.ndarray) -> np.ndarray:
        w = state.reshape(2, -1)
        z = x @ w.T
        return -((2 / 2) * z * ((z**2).sum(axis=1) / 2 - y)[:, None]).T.dot(x).ravel() / len(y)

    start = np.asarray(tree["w"][0]).ravel()
    expected = solve_ivp(velocity, (0, 3), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1].reshape(2, -1)
    np.testing.assert_allclose(tree["w"][-1], expected, rtol=1e-6, atol=1e-8)
    assert problem.network.degree == 2


def test_a_network_may_say_where_it_starts(small):
    @flowsim.register.network("squares")
    class Diagonal:
        def start(self, rng, features, outputs):
            return {"u": np.ones(features), "v": np.ones(features)}

        def apply(self, params, x):
            return x @ (params["u"] ** 2 - params["v"] ** 2)

    problem = flowsim.build(small(model={"kind": "squares"}, init={"scale": 1e-20}))
    assert [array.tolist() for array in problem.leaves] == [[1e-20] * problem.inputs.shape[1]] * 2


def test_a_function_with_its_start_is_a_network_and_so_is_a_module_of_equinox(small):
    equinox, jax = pytest.importorskip("equinox"), pytest.importorskip("jax")

    def layers(rng, features, outputs, *, width: int):
        return equinox.nn.MLP(features, "scalar", width, 1, activation=jax.nn.tanh, key=jax.random.key(0))

    @flowsim.register.network("module", start=layers)
    def module(params, x, *, width: int = 3, gain: float = 1.0):
        return gain * jax.vmap(params)(x)

    scenario = small(model={"kind": "module", "width": 4, "gain": 0.5}, init__scale=1.0, flow=FLOW)
    problem = flowsim.build(scenario)
    assert sum(array.size for array in problem.leaves) == (problem.inputs.shape[1] + 1) * 4 + 4 + 1
    loss = flowsim.run(scenario)["loss"]
    assert loss[-1] < 0.9 * loss[0]
    with pytest.raises(flowsim.ScenarioError, match='did you mean "gain"'):
        small(model={"kind": "module", "gian": 0.5})


def test_a_network_that_names_its_neurons_is_the_same_in_the_span_of_the_data(small):
    class Squares:
        degree = 3.0

        def shapes(self, features, outputs):
            return {"scale": (4,), "w": (4, features)}

        def apply(self, params, x):
            return (x @ params["w"].T) ** 2 @ params["scale"]

    class Neurons(Squares):
        neurons = "w"

    flowsim.register.network("plain")(Squares)
    flowsim.register.network("first_layer")(Neurons)
    keys = {"data__samples": 8, "init__scale": 0.5, "flow": {"rtol": 1e-9, "until": {"time": 2.0}}}
    plain, reduced = (small(model={"kind": kind}, **keys) for kind in ("plain", "first_layer"))
    assert [one.project for one in (plain, reduced)] == [False, True]
    assert reduce(flowsim.build(reduced)).projected
    plain, reduced = flowsim.run(plain), flowsim.run(reduced)
    np.testing.assert_allclose(reduced["scale"], plain["scale"], rtol=1e-7)
    rows = np.exp(reduced["log_norm"][-1].values)[:, None] * reduced["direction"][-1].values
    np.testing.assert_allclose(rows, plain["w"][-1], atol=1e-7)
    assert "cosine" in reduced
    assert "cosine" not in plain


def test_arrays_may_be_called_as_what_results_have(small):
    assert {*COORDINATES, *WEIGHTS} == RESERVED

    @flowsim.register.network("product", start=lambda rng, features, outputs: {"time": np.ones(features)})
    def product(params, x):
        return x @ params["time"]

    run = flowsim.run(small(model={"kind": "product"}, flow={"until": {"time": 0.5}}))
    assert run["leaf_time"].sizes["snapshot"] == 2
    assert run["time"].dims == ("time",)


def test_starts_of_two_scales_share_a_network_and_its_compiled_code(small):
    register_quadratic()
    scenario = small(model={"kind": "quadratic"})
    large, tiny = (flowsim.build(scenario.replace({"init.scale": scale})) for scale in (1.0, 1e-9))
    assert large.network is tiny.network
    np.testing.assert_allclose(1e-9 * large.leaves[0], tiny.leaves[0], rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[model]\nactivation = "silu"\nbetta = 2.0', 3, 'unknown key; did you mean "beta"?'),
        ('[model]\nactivation = "silu"\nbeta = "x"', 3, '"x" is not allowed; it should be a valid number'),
        ('[model]\nactivation = "sillu"', 2, 'did you mean "silu"?'),
        ('[loss]\nkind = "huber"\ndelt = 2.0', 3, 'unknown key; did you mean "delta"?'),
        ('[loss]\nkind = "square"\ndelta = 2.0', 3, 'only with kind = "huber"'),
        ('[model]\nkind = "quadratic"\nwidht = 2', 3, 'unknown key; did you mean "width"?'),
        ('[model]\nkind = "quadratic"\n[init]\nsigns = "half"', 4, 'not for model.kind = "quadratic"'),
        ('[model]\nkind = "quadratic"\n[init]\nshape = "given"\npath = "w.npz"', 4, 'use "gaussian" or "sphere"'),
    ],
)
def test_a_mistyped_key_is_answered_with_its_line(text, line, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.npz").touch()
    for register in (register_silu, register_huber, register_quadratic):
        register()
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.loads(text, name="a.toml")
    (issue,) = caught.value.issues
    assert issue.place == f"a.toml:{line}"
    assert message in issue.message


def test_the_schema_and_changes_and_other_processes_know_the_kind():
    register_silu()
    scenario = flowsim.loads('[model]\nactivation = "prelu"\ndegree = 4.0').replace({"model.activation": "silu"})
    assert scenario.to_dict()["model"]["beta"] == 1.0
    assert flowsim.loads(scenario.to_toml()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert schema()["$defs"]["Silu"]["properties"]["beta"]["default"] == 1.0


def test_a_kind_that_is_forgotten_is_unknown_again():
    plugin = Plugin("other")
    with registered_by(plugin):
        register_huber()
    flowsim.loads('[loss]\nkind = "huber"')
    REGISTRIES["loss"].forget(plugin)
    with pytest.raises(flowsim.ScenarioError, match='"huber" is not allowed'):
        flowsim.loads('[loss]\nkind = "huber"')


def test_a_section_registers_as_flowsim_s_own_kinds_do(small):
    @flowsim.register.loss("quartic")
    class Quartic(LossSection):
        """(f - y)^4 / 4"""

        of_any_target: ClassVar[bool] = True

        kind: Literal["quartic"]
        weight: float = 1.0

        @property
        def formulas(self) -> Loss:
            weight = self.weight
            return Loss(
                "quartic",
                lambda output, target, xp: weight * (output - target) ** 4 / 4,
                lambda output, target, xp: weight * (output - target) ** 3,
                lambda output, target, xp: xp.log(weight * (output - target) ** 4 / 4),
                parameters=(weight,),
            )

    run = flowsim.run(small(loss={"kind": "quartic", "weight": 2.0}, flow={"until": {"time": 0.5}}))
    residual = np.cbrt(run["loss_derivative"] / 2)
    np.testing.assert_allclose(run["loss"], (2 * residual**4 / 4).mean("sample"), rtol=1e-12)
    with pytest.raises(flowsim.UsageError, match=r'needs a key kind: Literal\["other"\]'):
        flowsim.register.loss("other")(Quartic)


def test_what_goes_wrong_in_the_function_is_told_with_its_line(small):
    @flowsim.register.network("broken", start=lambda rng, features, outputs: {"w": rng.standard_normal(features)})
    def broken(params, x):
        return x @ params["v"]

    @flowsim.register.data("broken")
    def empty(rng, *, samples: int = 3):
        return 1 / (samples - 3)

    for section in ("model", "data"):
        with pytest.raises(flowsim.UsageError, match=rf"{Path(__file__).name}:\d+: (KeyError|ZeroDivisionError)"):
            flowsim.build(flowsim.loads(f'[{section}]\nkind = "broken"'))


def test_what_cannot_be_a_kind_is_refused_where_it_registers():
    with pytest.raises(flowsim.UsageError, match="the argument beta has no annotation"):

        @flowsim.register.activation("one")
        def one(z, xp, *, beta=1.0):
            return z

    with pytest.raises(flowsim.UsageError, match="width: the section has such a key already"):

        @flowsim.register.activation("two")
        def two(z, xp, *, width: int = 1):
            return z

    with pytest.raises(flowsim.UsageError, match="needs 2 arguments before the keyword-only ones"):

        @flowsim.register.activation("three")
        def three(z):
            return z

    with pytest.raises(flowsim.UsageError, match=r"needs a method shapes\(self, features, outputs\)"):

        @flowsim.register.network("four")
        class Four:
            def apply(self, params, x):
                return x

    with pytest.raises(flowsim.UsageError, match='loss "square" is registered already, by flowsim'):

        @flowsim.register.loss("square")
        def square(output, target, xp):
            return output


def test_a_class_that_leaves_out_what_its_sort_must_say_is_refused_when_it_registers():
    class Half(LossSection):
        """A loss without formulas."""

        kind: Literal["half"]

    with pytest.raises(flowsim.UsageError, match='the loss "half" does not say formulas'):
        LOSSES.register("half", Half)
    assert "half" not in LOSSES
