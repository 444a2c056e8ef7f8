"""The file of a run, as the contract describes it."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.observe import NUMERICS, OBSERVABLES, Setting, Trajectory
from flowsim.observe.observable import SIZES
from flowsim.results import layout
from flowsim.solve import Passed

DIMENSIONS = {
    "cosine": ("time", "neuron", "cluster"),
    "log_norm": ("time", "neuron"),
    "output_weight": ("time", "neuron"),
    "loss": ("time",),
    "log10_loss": ("time",),
    "accuracy": ("time",),
    "margin": ("time", "sample"),
    "loss_derivative": ("time", "sample"),
    "cluster_mass": ("time", "cluster"),
    "void_mass": ("time",),
    "active_fraction": ("time", "neuron", "cluster"),
    "balance_drift": ("time",),
    "direction": ("snapshot", "neuron", "feature"),
}
COORDINATES = {
    "time": ("time",),
    "neuron_sign": ("neuron",),
    "target_cluster": ("neuron",),
    "cluster_label": ("cluster",),
    "label": ("sample",),
    "sample_cluster": ("sample",),
    "snapshot": ("snapshot",),
}


@pytest.fixture
def tree(result):
    with flowsim.open(result) as opened:
        yield opened


def test_the_root_is_the_trajectory_with_the_dimensions_of_the_contract(result):
    with xr.open_dataset(result) as run:
        assert {name: variable.dims for name, variable in run.data_vars.items()} == DIMENSIONS
        assert {name: variable.dims for name, variable in run.coords.items()} == COORDINATES


def test_every_variable_and_coordinate_says_what_it_is(tree):
    for node in tree.subtree:
        for name, variable in node.to_dataset(inherit=False).variables.items():
            assert variable.attrs.get("long_name"), f"{node.path}: {name}"
            assert variable.attrs.get("units") == "1", f"{node.path}: {name}"


def test_groups_are_those_of_the_contract(tree):
    assert set(tree.children) == {"phases", "numerics"}
    numerics = tree["numerics"].to_dataset()
    assert set(numerics.data_vars) == {"steps", "rejections", "evaluations", "updates", "events", "step_size"}
    assert all(variable.dims == ("time",) for variable in numerics.data_vars.values())
    assert (tree["numerics"].attrs["status"], tree["numerics"].attrs["exit_code"]) == ("done", 0)
    for name in ("steps", "rejections", "evaluations", "updates", "events"):
        assert (np.diff(numerics[name]) >= 0).all()


def test_the_attributes_say_where_the_result_comes_from(tree, small):
    scenario = small(observe__snapshots="all", title="a run")
    attributes = tree.attrs
    assert attributes["scenario"] == scenario.to_toml()
    assert attributes["scenario_sha256"] == scenario.sha256
    assert attributes["scenario_source"] == scenario.source.text
    assert flowsim.loads(attributes["scenario"]) == scenario
    assert attributes["flowsim_version"] == flowsim.__version__
    for library in ("numpy", "numba", "jax", "diffrax", "xarray"):
        assert attributes[f"{library}_version"] == importlib.metadata.version(library)
    assert (attributes["title"], attributes["seed"], attributes["precision"]) == ("a run", 0, "float64")
    assert (attributes["status"], attributes["engine"]) == ("done", "numba")
    assert attributes["solver"] != "auto" != attributes["flow_coordinates"]
    assert attributes["wall_time"] > 0


def root_of(trajectory: Trajectory, setting: Setting) -> xr.Dataset:
    return layout.root(trajectory, layout.coordinates(setting), setting.problem)


def test_snapshots_are_instants(tree):
    np.testing.assert_array_equal(tree["snapshot"], tree["time"])
    assert (tree["time"][0], tree["time"][-1]) == (0, 30)


def test_the_file_holds_what_run_returns(result, small):
    returned = flowsim.run(small(observe__snapshots="all", title="a run"))
    with flowsim.open(result) as read:
        xr.testing.assert_equal(read.load(), returned)


def test_a_trajectory_is_read_back_from_its_layout(small, setting_of):
    setting = setting_of(small(model__bias=True))
    draw = np.random.default_rng(0).random
    sizes = {dim: size(setting) for dim, size in SIZES.items()} | {"sample": 24}
    trajectory = Trajectory(
        time=np.array([0.0, 1.0, 3.0]),
        variables={name: draw((3, *(sizes[dim] for dim in item.dims))) for name, item in OBSERVABLES.items()},
        numerics={name: np.arange(3) for name in NUMERICS},
        kept_weights=np.array([0, 2]),
        direction=draw((2, 6, 12)),
        bias=draw((2, 6)),
    )
    groups = layout.groups(small(model__bias=True), setting.problem, trajectory, layout.coordinates(setting))
    tree = xr.DataTree.from_dict(groups)
    again = layout.trajectory_of(tree)
    for field in ("time", "kept_weights", "direction", "bias"):
        np.testing.assert_array_equal(getattr(again, field), getattr(trajectory, field))
    for field in ("variables", "numerics"):
        before, after = getattr(trajectory, field), getattr(again, field)
        assert after.keys() == before.keys()
        for name in before:
            np.testing.assert_array_equal(after[name], before[name])


def test_quantiles_have_their_own_dimension(small, recorder_of, moved, report_at, monkeypatch):
    monkeypatch.setattr("flowsim.observe.recorder.PER_SAMPLE_LIMIT", 0)
    recording = recorder_of(small())
    recording.keep(Passed.of([(moved(recording.setting, 0.0), report_at(0.0))]))
    run = root_of(recording.trajectory(complete=True), recording.setting)
    assert run["margin_quantile"].dims == ("time", "cluster", "quantile")
    assert (run["quantile"][0], run["quantile"][-1]) == (0, 1)
    assert "sample" not in run.dims
    assert all(variable.attrs["long_name"] for variable in run.variables.values())


def test_data_from_a_file_are_kept_with_the_result(on_table):
    table = {"x": np.arange(6.0).reshape(3, 2), "y": np.array([1.0, -1.0, 1.0]), "cluster": np.array([0, 1, 0])}
    data = layout.data(on_table(table), flowsim.build(on_table(table)))
    assert data is not None
    for name, values in table.items():
        np.testing.assert_array_equal(data[name], values)
    assert data["centers"].shape == (2, 2)
    assert all(variable.attrs["long_name"] and variable.attrs["units"] for variable in data.variables.values())


def test_a_table_s_labels_are_kept_with_the_result_where_its_clusters_are_trained_on(on_table):
    table = {"x": np.eye(3), "y": np.array([1.0, -1.0, 1.0]), "cluster": np.array([0, 1, 2])}
    scenario = on_table(table, data__supervision="cluster", loss__kind="cross_entropy", model__width=6)
    data = layout.data(scenario, flowsim.build(scenario))
    assert data is not None
    np.testing.assert_array_equal(data["y"], table["y"])
    np.testing.assert_array_equal(data["cluster"], table["cluster"])


def test_a_copy_is_stored_as_what_it_is(small, tmp_path):
    copied = small(observe__variables=["loss"]).model_copy(update={"seed": 5})
    flowsim.run(copied, tmp_path / "run.nc")
    with flowsim.open(tmp_path / "run.nc") as tree:
        assert (tree.attrs["seed"], flowsim.loads(tree.attrs["scenario"]).seed) == (5, 5)
        assert tree.attrs["scenario_sha256"] == small(observe__variables=["loss"], seed=5).sha256
        assert "scenario_source" not in tree.attrs


def test_every_road_to_a_scenario_stores_the_same_text(small):
    scenario = small(seed=5)
    roads = [
        scenario,
        small().model_copy(update={"seed": 5}),
        small().replace({"seed": 5}),
        small(seed=[5]).members[0],
        flowsim.Scenario(scenario.to_dict()),
        flowsim.loads(scenario.to_toml()),
    ]
    stored = {(tree.attrs["scenario"], tree.attrs["scenario_sha256"]) for tree in map(flowsim.run, roads)}
    assert stored == {(scenario.to_toml(), scenario.sha256)}
