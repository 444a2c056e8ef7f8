"""Samples and weights in memory, and weights from a file."""

from __future__ import annotations

import netCDF4
import numpy as np
import pandas as pd
import pytest

import flowsim
from flowsim.scenario.arrays import Attached

X = np.array([[1.0, 0.5, 0.0], [3.0, 0.0, 0.25], [0.0, 2.0, 1.0], [0.5, -4.0, 0.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0])
CLUSTER = np.array([0, 0, 1, 1])
HIDDEN = np.array([[0.3, -0.2, 0.1], [0.05, 0.7, -0.4]])
OUTPUT = np.array([0.5, -0.25])
DATA = flowsim.Data(X, Y, cluster=CLUSTER)
MLP = {"kind": "mlp", "activation": "tanh"}
PARTS = (
    "inputs",
    "targets",
    "centers",
    "sample_cluster",
    "hidden_direction",
    "hidden_log_norm",
    "output",
    "hidden_bias",
)


def same(one: flowsim.Problem, other: flowsim.Problem) -> None:
    """To the last bit."""
    for name in PARTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for layer, expected in zip(one.leaves, other.leaves, strict=True):
        np.testing.assert_array_equal(layer, expected)


def from_file(folder, path: str, model: str = "width = 2\nactivation = 'relu'") -> flowsim.Scenario:
    return flowsim.loads(
        f"[data]\ndimension = 4\nsamples = 8\n[model]\n{model}\n[init]\nshape = 'given'\npath = '{path}'",
        name="a.toml",
        folder=folder,
    )


@pytest.fixture
def relu() -> flowsim.Scenario:
    return flowsim.Scenario({"model": {"activation": "relu"}})


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("centers", [None, [[1.0, 0, 0], [0, 1, 0]]])
def test_samples_in_memory_are_those_of_a_table(on_table, centers):
    arrays = {"x": X, "y": Y, "cluster": CLUSTER} | ({} if centers is None else {"centers": centers})
    data = flowsim.Data(X, Y, cluster=CLUSTER, centers=centers)
    same(flowsim.build(on_table(arrays)), flowsim.build(flowsim.Scenario({"model": {"width": 5}}), data=data))


def test_samples_are_anything_that_numpy_makes_an_array_of():
    built = flowsim.build(flowsim.Scenario(), data=flowsim.Data(pd.DataFrame(X), [1, 1, -1, -1]))
    np.testing.assert_array_equal(built.inputs, X)
    assert built.targets.dtype == float


def test_samples_are_copied_and_cannot_be_changed():
    x = X.copy()
    data = flowsim.Data(x, Y, cluster=CLUSTER, test=(X, Y))
    x[:] = 0
    np.testing.assert_array_equal(data.x, X)
    with pytest.raises(ValueError, match="read-only"):
        data.x[0] = 0
    # compiled code is of one type of array
    built = flowsim.build(flowsim.Scenario(), data=data)
    for array in (built.inputs, built.label, built.centers, built.test.inputs, built.test.label):
        assert array.flags.writeable


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": Y[:3]}, r"Data: y has shape \(3,\).*expected \(4,\)"),
        ({"x": X[0]}, r"Data: x has shape \(3,\)"),
        ({"x": X * np.nan}, "Data: x has 12 values that are not finite"),
        ({"cluster": [0, 1, 2.5, 0]}, "Data: cluster must hold whole numbers"),
        ({"cluster": [0, 0, 2, 2]}, r"Data: clusters \[1\] have no samples"),
        ({"x": [["a", "b"]]}, "Data: x is not an array of numbers"),
        ({"test": (X,)}, r"Data: test is \(x, y\)"),
        ({"test": (X, Y[:2])}, "Data: test: y has shape"),
    ],
)
def test_what_is_wrong_with_samples_is_said_at_once(arrays, message):
    with pytest.raises(flowsim.FlowsimError, match=message):
        flowsim.Data(**{"x": X, "y": Y, **arrays})


def test_losses_of_margins_need_labels_and_clusters_as_targets_need_clusters(relu):
    with pytest.raises(flowsim.ScenarioError, match=r"^Data: y must be \+1 or -1"):
        flowsim.build(relu.replace({"loss.kind": "logistic"}), data=flowsim.Data(X, 2 * Y))
    by_cluster = flowsim.Scenario(
        {"data": {"kind": "table", "supervision": "cluster"}, "loss": {"kind": "cross_entropy"}}
    )
    with pytest.raises(flowsim.ScenarioError, match=r"^Data: data.supervision"):
        flowsim.build(by_cluster, data=flowsim.Data(X, Y))
    np.testing.assert_array_equal(flowsim.build(by_cluster, data=DATA).targets, CLUSTER)


def test_a_table_without_a_path_is_for_python_alone():
    with pytest.raises(flowsim.ScenarioError, match=r"data.path: is required.*flowsim.Data"):
        flowsim.loads("[data]\nkind = 'table'", name="a.toml")
    with pytest.raises(flowsim.ScenarioError, match=r"data.path: is required"):
        flowsim.build(flowsim.Scenario({"data": {"kind": "table"}}))
    with pytest.raises(flowsim.ScenarioError, match=r"init.path: is required.*flowsim.Weights"):
        flowsim.build(flowsim.Scenario({"init": {"shape": "given"}}))
    with pytest.raises(flowsim.UsageError, match=r"data is a flowsim.Data, not ndarray"):
        flowsim.build(flowsim.Scenario(), data=X)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_the_flow_starts_from_what_was_given(relu):
    built = flowsim.build(relu, data=DATA, init=flowsim.Weights(HIDDEN, OUTPUT, hidden_bias=[0.1, -0.3]))
    np.testing.assert_allclose(built.hidden, HIDDEN, rtol=1e-15)
    np.testing.assert_allclose(built.hidden_bias, [0.1, -0.3], rtol=1e-15)
    np.testing.assert_allclose(built.output, OUTPUT, rtol=1e-15)
    assert built.bias
    assert not built.balanced


def test_weights_that_are_balanced_to_the_last_bit_are_balanced(relu):
    norm = np.linalg.norm(HIDDEN, axis=1)
    assert flowsim.build(relu, data=DATA, init=flowsim.Weights(HIDDEN, norm)).balanced
    nearly = norm * np.array([1 + 1e-15, 1])
    assert not flowsim.build(relu, data=DATA, init=flowsim.Weights(HIDDEN, nearly)).balanced


def test_weights_of_a_trajectory_are_balanced_where_rounding_alone_says_they_are_not():
    log_norm = np.linspace(-0.5, 0.5, 301)
    run = {"time": np.zeros(1), "snapshot": np.zeros(1), "direction": np.ones((1, 301, 1)), "log_norm": log_norm[None]}
    assert (np.log(np.exp(log_norm)) != log_norm).any()
    weights = flowsim.Weights.of_trajectory({**run, "output_weight": -np.exp(log_norm)[None]})
    np.testing.assert_array_equal(weights.output_log, log_norm)
    others = flowsim.Weights.of_trajectory({**run, "output_weight": np.exp(log_norm + 1e-9)[None]})
    assert (others.output_log != log_norm).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e200])
def test_numbers_whose_squares_are_none_are_no_harm(scale):
    tiny, usual = flowsim.Weights(scale * HIDDEN, OUTPUT), flowsim.Weights(HIDDEN, OUTPUT)
    np.testing.assert_allclose(tiny.direction, usual.direction, rtol=1e-14)
    np.testing.assert_allclose(tiny.log_norm, usual.log_norm + np.log(scale), rtol=1e-14)


def test_logarithms_hold_what_is_below_all_floats(relu):
    direction = HIDDEN / np.linalg.norm(HIDDEN, axis=1, keepdims=True)
    weights = flowsim.Weights.of_logs(direction, [-5000, -4000], [1, -1], [-5000, -4000])
    built = flowsim.build(relu, data=DATA, init=weights)
    np.testing.assert_array_equal(built.hidden_log_norm, [-5000, -4000])
    np.testing.assert_array_equal(built.hidden_direction, direction)
    assert built.balanced
    stretched = flowsim.Weights.of_logs(2 * direction, [0, 0], [1, -1], [0, 0])
    np.testing.assert_allclose(stretched.log_norm, np.log(2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hidden": HIDDEN[0]}, r"hidden has shape \(3,\)"),
        ({"output": OUTPUT[:1]}, r"output has shape \(1,\); expected \(2,\)"),
        ({"hidden": HIDDEN * [[1], [0]]}, "row 1 of hidden is 0 and has no direction"),
        ({"output": [1, 0]}, r"output\[1\] is 0"),
        ({"output": [1, np.inf]}, r"output has values that are not finite, the first at \[1\]"),
        ({"hidden_bias": [1.0]}, r"hidden_bias has shape \(1,\)"),
        ({"upper": [np.ones((1, 2))]}, "either output or upper"),
        ({"output": None, "upper": [np.ones((2, 3))]}, r"layer 2 has shape \(2, 3\); expected \(units, 2\)"),
    ],
)
def test_what_is_wrong_with_weights_is_said_at_once(given, message):
    with pytest.raises(flowsim.UsageError, match=f"Weights: .*{message}"):
        flowsim.Weights(**{"hidden": HIDDEN, "output": OUTPUT, **given})


@pytest.mark.parametrize(
    ("keys", "weights", "message"),
    [
        ({}, flowsim.Weights(HIDDEN[:, :2], OUTPUT), "^Weights: hidden has 2 features, the data have 3"),
        ({"model.width": 7}, flowsim.Weights(HIDDEN, OUTPUT), "model.width: 7, but the weights are of 2 neurons"),
        ({"model.bias": True}, flowsim.Weights(HIDDEN, OUTPUT), "there are no biases"),
        ({"model.bias": False}, flowsim.Weights(HIDDEN, OUTPUT, hidden_bias=[1, 1]), "there are biases"),
        ({}, flowsim.Weights(HIDDEN), "needs output"),
        (
            {"model.output": "fixed", "model.output_weight": 0.5},
            flowsim.Weights(HIDDEN, OUTPUT),
            "is to be model.output_",
        ),
        ({"model": {**MLP, "widths": [2, 2]}}, flowsim.Weights(HIDDEN, OUTPUT), r"have \[1\] units; expected \[2, 1\]"),
    ],
)
def test_weights_have_to_fit_the_model(relu, keys, weights, message):
    with pytest.raises(flowsim.ScenarioError, match=message):
        flowsim.build(relu.replace(keys), data=DATA, init=weights)


def test_networks_whose_output_is_not_trained_take_hidden_alone():
    linear = flowsim.build(flowsim.Scenario({"model": {"kind": "linear"}}), data=DATA, init=flowsim.Weights(HIDDEN[:1]))
    assert linear.output.tolist() == [1]
    np.testing.assert_allclose(linear.hidden, HIDDEN[:1], rtol=1e-15)
    fixed = {"activation": "relu", "output": "fixed", "output_weight": 0.5}
    signs = flowsim.Weights(HIDDEN, [0.5, -0.5])
    assert flowsim.build(flowsim.Scenario({"model": fixed}), data=DATA, init=signs).output.tolist() == [0.5, -0.5]


def test_a_network_of_any_depth_takes_its_layers(relu):
    upper = [np.arange(6.0).reshape(2, 3) + 1, np.array([[1.0, -1.0, 0.5]])]
    weights = flowsim.Weights(HIDDEN, hidden_bias=[0, 0.5], upper=upper)
    deep = flowsim.build(flowsim.Scenario({"model": MLP}), data=DATA, init=weights)
    for layer, expected in zip(deep.leaves, upper, strict=True):
        np.testing.assert_array_equal(layer, expected)
    shallow = flowsim.build(flowsim.Scenario({"model": MLP}), data=DATA, init=flowsim.Weights(HIDDEN, OUTPUT))
    np.testing.assert_allclose(shallow.leaves[0], OUTPUT[None], rtol=1e-15)


# --- files ------------------------------------------------------------------------------------------------------------


def test_weights_from_a_file_are_those_in_memory(tmp_path, relu):
    rows = np.random.default_rng(0).standard_normal((2, 4))
    np.savez(tmp_path / "plain.npz", hidden=rows, output=OUTPUT)
    weights = flowsim.Weights(rows, OUTPUT)
    weights.save(tmp_path / "saved.npz")
    np.savez(tmp_path / "torch.npz", **{"0.weight": rows, "2.weight": OUTPUT[None]})
    with netCDF4.Dataset(tmp_path / "w.nc", "w") as file:
        file.createDimension("neuron", 2)
        file.createDimension("feature", 4)
        file.createVariable("hidden", "f8", ("neuron", "feature"))[:] = rows
        file.createVariable("output", "f8", ("neuron",))[:] = OUTPUT
    small = from_file(tmp_path, "plain.npz").replace({"init": {"shape": "gaussian"}})
    expected = flowsim.build(small, init=weights)
    for name in ("plain.npz", "saved.npz", "torch.npz", "w.nc"):
        same(flowsim.build(from_file(tmp_path, name)), expected)


def test_a_state_dict_of_several_layers_is_a_network_of_any_depth(tmp_path):
    state = {"0.weight": np.ones((3, 4)), "0.bias": np.ones(3), "2.weight": np.ones((2, 3)), "2.bias": np.zeros(2)}
    state |= {"4.weight": np.ones((1, 2)), "4.bias": np.full(1, 0.25)}
    np.savez(tmp_path / "w.npz", **state)
    model = "kind = 'mlp'\nactivation = 'relu'\nbias = true\nwidths = [3, 2]"
    built = flowsim.build(from_file(tmp_path, "w.npz", model))
    assert [layer.tolist() for layer in built.leaves] == [[[1, 1, 1, 0]] * 2, [[1, 1, 0.25]]]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"hidden": np.ones((2, 3)), "output": OUTPUT}, "hidden has 3 features, the data have 4"),
        ({"hidden": np.ones((3, 4)), "output": np.ones(3)}, "there are 3 neurons, the model has 2"),
        ({"hidden": np.full((2, 4), np.nan), "output": OUTPUT}, "hidden has values that are not finite"),
        ({"w": np.ones(2)}, "no array hidden, hidden_direction or .*; there are w"),
        ({"0.weight": np.ones((2, 4)), "2.weight": np.ones((1, 2)), "2.bias": np.ones(1)}, "there are biases"),
    ],
)
def test_a_file_with_other_weights_is_answered_with_its_line(tmp_path, arrays, message):
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(flowsim.ScenarioError, match=f"a.toml:9: init.path: .*{message}"):
        flowsim.build(from_file(tmp_path, "w.npz"))


def test_a_file_that_is_missing_or_holds_no_arrays_is_answered_with_its_line(tmp_path):
    with pytest.raises(flowsim.ScenarioError, match=r"a.toml:9: init.path: no such file"):
        from_file(tmp_path, "w.npz")
    (tmp_path / "w.npz").write_text("nothing")
    with pytest.raises(flowsim.ScenarioError, match=r"a.toml:9: init.path: w.npz cannot be read"):
        flowsim.build(from_file(tmp_path, "w.npz"))


def test_what_is_drawn_is_not_for_given_weights(tmp_path):
    np.savez(tmp_path / "w.npz", hidden=HIDDEN, output=OUTPUT)
    with pytest.raises(flowsim.ScenarioError) as caught:
        from_file(tmp_path, "w.npz").replace({"init.scale": 1.0, "init.balanced": True, "init.signs": "half"})
    assert {issue.key for issue in caught.value.issues} == {"init.scale", "init.balanced", "init.signs"}


# --- PyTorch ----------------------------------------------------------------------------------------------------------


def test_pytorch_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(flowsim.UsageError, match="pip install torch"):
        flowsim.Weights(HIDDEN, OUTPUT).to_torch()


def test_a_state_dict_of_pytorch_goes_there_and_back(tmp_path):
    torch = pytest.importorskip("torch")
    rows = np.random.default_rng(0).standard_normal((2, 4))
    state = flowsim.Weights(rows, OUTPUT).to_torch()
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 2, bias=False), torch.nn.ReLU(), torch.nn.Linear(2, 1, bias=False)
    ).double()
    net.load_state_dict(state)
    np.savez(tmp_path / "w.npz", **{name: array.numpy() for name, array in net.state_dict().items()})
    built = flowsim.build(from_file(tmp_path, "w.npz"))
    np.testing.assert_allclose(built.hidden, rows, rtol=1e-14)
    np.testing.assert_allclose(built.output, OUTPUT, rtol=1e-14)


# --- the scenario that has them ---------------------------------------------------------------------------------------


def test_scenarios_are_equal_where_values_and_arrays_are(relu):
    def holding(values) -> flowsim.Scenario:
        table = relu.replace({"data": {"kind": "table"}})
        return table.with_arrays({"data": {"x": values, "y": Y}})

    one, again, other = holding(X), holding(X.copy()), holding(X + 1)
    assert one == again
    assert one.sha256 == again.sha256
    assert one != other
    assert one.sha256 != other.sha256
    assert one.to_toml() == other.to_toml()


def test_copies_of_a_scenario_keep_its_arrays_unless_they_name_others(tmp_path, relu):
    np.savez(tmp_path / "t.npz", x=X + 1, y=Y)
    table = relu.replace({"data": {"kind": "table"}}).with_arrays({"data": {"x": X, "y": Y}})
    for copy in (
        table.model_copy(update={"seed": 3}),
        table.replace({"model.width": 3}),
        *table.members,
        *table.stages,
    ):
        np.testing.assert_array_equal(flowsim.build(copy).inputs, X)
    file = table.replace({"data.path": str(tmp_path / "t.npz")})
    np.testing.assert_array_equal(flowsim.build(file).inputs, X + 1)
    assert flowsim.build(table.replace({"data.kind": "xor"})).inputs.shape != X.shape


def test_the_digest_is_of_names_shapes_and_contents():
    digests = {
        Attached((), {"x": X}).sha256,
        Attached((), {"y": X}).sha256,
        Attached((), {"x": X.reshape(3, 4)}).sha256,
        Attached((), {"x": -X}).sha256,
    }
    assert len(digests) == 4
