"""Runs on samples and from weights in memory: the numbers of a file's, and all of it in the result."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.sweep.plan import plan

GENERATOR = np.random.default_rng(1)
X = GENERATOR.standard_normal((12, 5))
Y = np.where(np.arange(12) < 6, 1.0, -1.0)
CLUSTER = np.arange(12) // 3
DATA = flowsim.Data(X, Y, cluster=CLUSTER)
HIDDEN = 0.01 * GENERATOR.standard_normal((4, 5))
OUTPUT = np.linalg.norm(HIDDEN, axis=1) * [1, -1, 1, -1]
WEIGHTS = flowsim.Weights(HIDDEN, OUTPUT)
SHORT = {"flow": {"until": {"time": 3.0}}, "observe": {"times": 4}, "model": {"activation": "relu"}}
BY_CLUSTER = {"data": {"kind": "table", "supervision": "cluster"}, "loss": {"kind": "cross_entropy"}}
MLP = {"model": {"kind": "mlp", "activation": "tanh", "widths": [4, 3], "bias": True}}
LAYERS = flowsim.Weights(
    20 * HIDDEN,
    hidden_bias=[0.1, 0, -0.1, 0.2],
    upper=[GENERATOR.standard_normal((3, 5)), GENERATOR.standard_normal((1, 4))],
)


def scenario(**sections: Any) -> flowsim.Scenario:
    return flowsim.Scenario({**SHORT, **sections})


def same_numbers(one: xr.DataTree, other: xr.DataTree) -> None:
    """Trajectories to the last bit."""
    xr.testing.assert_equal(one.to_dataset(inherit=False), other.to_dataset(inherit=False))


def test_a_run_in_memory_is_that_of_files(tmp_path):
    np.savez(tmp_path / "t.npz", x=X, y=Y, cluster=CLUSTER)
    np.savez(tmp_path / "w.npz", hidden=HIDDEN, output=OUTPUT)
    data, init = {"kind": "table", "path": "t.npz"}, {"shape": "given", "path": "w.npz"}
    source = scenario(model={"activation": "relu", "width": 4}).to_dict() | {"data": data, "init": init}
    file = flowsim.run(flowsim.loads(flowsim.scenario.toml.dumps(source), folder=tmp_path))
    memory = flowsim.run(scenario(), data=DATA, init=WEIGHTS)
    same_numbers(file, memory)
    for group in ("data", "init"):
        xr.testing.assert_equal(file[group].to_dataset(inherit=False), memory[group].to_dataset(inherit=False))


@pytest.mark.parametrize(
    ("sections", "init"),
    [({}, WEIGHTS), ({}, None), (BY_CLUSTER, WEIGHTS), (MLP, LAYERS)],
    ids=["two_layer", "drawn", "cross_entropy", "mlp"],
)
def test_a_result_is_reopened_anywhere_and_runs_again(tmp_path, sections, init):
    asked = scenario(**sections)
    built = flowsim.build(asked, data=DATA, init=init)
    (tmp_path / "here").mkdir()
    tree = flowsim.run(asked, tmp_path / "here" / "run.nc", data=DATA, init=init)
    shutil.move(tmp_path / "here", tmp_path / "there")
    with flowsim.reopen(tmp_path / "there" / "run.nc") as case:
        for name in ("inputs", "targets", "centers", "hidden_direction", "hidden_log_norm", "output", "hidden_bias"):
            np.testing.assert_array_equal(getattr(case.problem, name), getattr(built, name))
        for layer, expected in zip(case.problem.leaves, built.leaves, strict=True):
            np.testing.assert_array_equal(layer, expected)
        assert case.problem.balanced == built.balanced
        assert case.scenario.sha256 == tree.attrs["scenario_sha256"]
        same_numbers(flowsim.run(case.scenario), tree)
        assert case.network(X).shape[0] == len(X)


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "linear"},
        *({"kind": k, "threshold": 0.1, "smoothing": 0.5} for k in ("symmetric_relu", "ntk_features")),
    ],
)
def test_networks_without_output_weights_of_their_own_start_from_given_ones(model):
    asked = scenario(model=model)
    tree = flowsim.run(asked, data=DATA, init=flowsim.Weights(HIDDEN[:1] if model["kind"] == "linear" else HIDDEN))
    case = flowsim.reopen(tree)
    same_numbers(flowsim.run(case.scenario), tree)
    assert case.scenario.sha256 == tree.attrs["scenario_sha256"]
    on = flowsim.run(asked, data=DATA, init=flowsim.weights(tree))
    np.testing.assert_allclose(on["margin"].values[0], tree["margin"].values[-1], rtol=1e-10)


def test_what_is_evaluated_is_what_ran():
    tree = flowsim.run(scenario(), data=DATA, init=WEIGHTS)
    case = flowsim.reopen(tree)
    assert (np.sign(case.network(X)) == np.sign(Y)).mean() == tree["accuracy"].values[-1]
    found = flowsim.robustness(tree, {"radii": [0.0], "attacks": ["fgm"]})
    assert float(found["robust_accuracy"].values.ravel()[0]) == tree["accuracy"].values[-1]
    assert flowsim.distance(tree)["distance"] > 0


def test_weights_of_a_result_start_another_run(tmp_path):
    asked = scenario()
    first = flowsim.run(asked, tmp_path / "first.nc", data=DATA, init=WEIGHTS)
    weights = flowsim.weights(first)
    second = flowsim.run(asked, data=DATA, init=weights)
    for name in ("log_norm", "output_weight", "margin", "loss"):
        np.testing.assert_allclose(second[name].values[0], first[name].values[-1], rtol=1e-12)
    assert flowsim.build(asked, data=DATA, init=weights).balanced
    # the file itself, saved weights and the case say the same
    weights.save(tmp_path / "w.npz")
    for path in ("first.nc", "w.npz"):
        keys = {"init": {"shape": "given", "path": str(tmp_path / path)}, "model.width": 4}
        same_numbers(flowsim.run(asked.replace(keys), data=DATA), second)
    again = flowsim.weights(tmp_path / "first.nc").arrays()
    for name, array in flowsim.weights(flowsim.reopen(first)).arrays().items():
        np.testing.assert_array_equal(array, again[name])


def test_a_result_without_weights_or_of_an_ensemble_starts_no_run(tmp_path):
    asked = scenario(observe={"times": 4, "snapshots": "none"})
    flowsim.run(asked, tmp_path / "none.nc", data=DATA, init=WEIGHTS)
    flowsim.run(scenario(seed=[0, 1]), tmp_path / "two.nc", data=DATA)
    for name, wrong in (("none.nc", "the weights were not kept"), ("two.nc", "is an ensemble")):
        with pytest.raises(flowsim.ScenarioError, match=f"init.path: {name}: {wrong}"):
            flowsim.run(asked.replace({"init": {"shape": "given", "path": str(tmp_path / name)}}))
        with pytest.raises(flowsim.UsageError):
            flowsim.weights(tmp_path / name)


def test_the_first_weights_of_a_result_are_those_that_it_started_from():
    asked = flowsim.Scenario({**SHORT, "init": {"scale": 1e-300}, "data": {"dimension": 6, "samples": 8}})
    tree = flowsim.run(asked)
    start = flowsim.weights(tree, at=0)
    same_numbers(flowsim.run(asked.replace({"model.width": 50}), init=start), tree)
    with pytest.raises(flowsim.UsageError, match="at: 2; weights were kept 2 times"):
        flowsim.weights(tree, at=2)


def test_weights_of_layers_and_of_a_member_are_taken_from_results():
    deep = flowsim.run(scenario(**MLP), data=DATA, init=LAYERS)
    on = flowsim.run(scenario(**MLP), data=DATA, init=flowsim.weights(deep))
    np.testing.assert_allclose(on["margin"].values[0], deep["margin"].values[-1], rtol=1e-10)
    ensemble = flowsim.run(scenario(seed=[0, 1], model={"activation": "relu", "width": 4}), data=DATA)
    member = flowsim.run(scenario(), data=DATA, init=flowsim.weights(ensemble, seed=1))
    last = ensemble["margin"].sel(seed=1).values[-1]
    np.testing.assert_allclose(member["margin"].values[0], last, rtol=1e-10)


def test_a_run_that_was_cut_goes_on_with_the_same_arrays(tmp_path):
    whole = flowsim.run(scenario(), data=DATA, init=WEIGHTS)
    asked = scenario(flow={"until": {"time": 3.0, "steps": 5}})
    file = tmp_path / "run.nc"
    cut = flowsim.run(asked, file, data=DATA, init=WEIGHTS)
    assert cut.attrs["status"] == "step_limit"
    more = scenario(flow={"until": {"time": 3.0, "steps": 100000}})
    for others, named in (
        (
            {"data": flowsim.Data(X + 1e-12, Y, cluster=CLUSTER), "init": WEIGHTS},
            "Data in memory has changed.*: centers, x",
        ),
        ({"data": DATA, "init": flowsim.Weights(HIDDEN, -OUTPUT)}, "Weights in memory has changed.*: output_sign"),
    ):
        with pytest.raises(flowsim.UsageError, match=named):
            flowsim.run(more, file, resume=True, **others)
    gone_on = flowsim.run(more, file, resume=True, data=DATA, init=WEIGHTS)
    assert gone_on.attrs["status"] == "done"
    np.testing.assert_array_equal(gone_on["margin"].values, whole["margin"].values)


def test_members_of_an_ensemble_differ_in_what_is_drawn():
    with pytest.raises(flowsim.ScenarioError, match="would be one and the same"):
        flowsim.run(scenario(seed=[0, 1]), data=DATA, init=WEIGHTS)
    drawn = {"dimension": 5, "samples": 12}
    tree = flowsim.run(scenario(seed=[0, 1], data=drawn), init=WEIGHTS)
    assert (tree["log_norm"].values[0, 0] == tree["log_norm"].values[1, 0]).all()
    assert (tree["margin"].values[0, -1] != tree["margin"].values[1, -1]).any()
    np.testing.assert_array_equal(flowsim.reopen(tree, seed=1).problem.hidden, WEIGHTS.hidden)


def test_a_sweep_is_of_files(tmp_path):
    held = scenario(sweep={"grid": {"seed": [0, 1]}}, data={"kind": "table"}).with_arrays({"data": DATA.arrays()})
    with pytest.raises(flowsim.UsageError, match=r"cannot be swept: write them to files, by numpy.savez"):
        plan(held)


def test_claims_of_the_size_of_initial_weights_do_not_speak_of_given_ones():
    keys = {"evaluate": {"claims": ["min_vidal_2025.lemma_7"]}, "init": {"shape": "nudged"}}
    asked = flowsim.Scenario({**keys, "flow": {"until": {"time": 1.0}}})
    drawn = flowsim.run(asked)
    given = flowsim.run(asked, init=flowsim.weights(drawn, at=0))
    assert "init.scale, and these were given" not in str(drawn["claims"]["note"].values)
    assert "init.scale, and these were given" in str(given["claims"]["note"].values)


def test_held_out_samples_in_memory_are_those_of_a_file(tmp_path):
    test = (X[:4] + 0.1, Y[:4], CLUSTER[:4])
    np.savez(tmp_path / "test.npz", x=test[0], y=test[1], cluster=test[2])
    file = scenario(data={"kind": "table", "test": {"path": str(tmp_path / "test.npz")}})
    of_file = flowsim.run(file, data=DATA, init=WEIGHTS)
    data = flowsim.Data(X, Y, cluster=CLUSTER, test=test)
    memory = flowsim.run(scenario(), data=data, init=WEIGHTS)
    assert "test_loss" in memory
    same_numbers(of_file, memory)
    xr.testing.assert_equal(of_file["data"].to_dataset(inherit=False), memory["data"].to_dataset(inherit=False))
    case = flowsim.reopen(memory)
    np.testing.assert_array_equal(case.problem.test.inputs, test[0])
    assert case.scenario.sha256 == memory.attrs["scenario_sha256"]
    same_numbers(flowsim.run(case.scenario), memory)
    with pytest.raises(flowsim.ScenarioError, match=r"^Data: test: x has 4 features, the training data have 5"):
        flowsim.run(scenario(), data=flowsim.Data(X, Y, test=(X[:, :4], Y)), init=WEIGHTS)
