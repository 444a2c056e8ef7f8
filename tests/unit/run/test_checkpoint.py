"""A run that dies without warning has left a file from which it goes on as if nothing had happened."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.checkpoints import at_every_chance

import flowsim
from flowsim.solve import advance


class Killed(Exception):
    """Stands for the end of the process: nothing of the run is carried on past it."""


@pytest.mark.parametrize("snapshots", ["ends", "all", 3])
@pytest.mark.parametrize(("engine", "activation"), [("diffrax", "prelu"), ("numba", "prelu"), ("numba", "relu")])
def test_a_killed_run_goes_on_from_its_last_checkpoint(small, tmp_path, monkeypatch, engine, activation, snapshots):
    model = {"activation": activation, "width": 6}
    scenario = small(model=model, flow__engine=engine, observe={"times": 21, "snapshots": snapshots})
    output = tmp_path / "run.nc"

    def kill(standing):
        if standing.report.time > 12:
            raise Killed
        if standing.report.time > 8:
            at_every_chance(monkeypatch)

    monkeypatch.setattr(advance, "MOST_ATTEMPTS", 1)
    with pytest.raises(Killed):
        flowsim.run(scenario, output, progress=kill)
    monkeypatch.undo()
    with flowsim.open(output) as left:
        assert left.attrs["status"] == "running"
        assert 8 < left["time"].values[-1] <= 12
        assert activation != "relu" or left["sliding_pairs"][-1] > 0
    resumed = flowsim.run(scenario, output, resume=True)
    undisturbed = flowsim.run(scenario)
    assert resumed.attrs["status"] == "done"
    xr.testing.assert_equal(resumed.to_dataset(), undisturbed.to_dataset())
    xr.testing.assert_equal(resumed["numerics"].to_dataset(), undisturbed["numerics"].to_dataset())
    assert "checkpoint" not in resumed.children


def test_a_run_is_checkpointed_again_and_again(small, tmp_path, monkeypatch):
    at_every_chance(monkeypatch)
    monkeypatch.setattr(advance, "MOST_ATTEMPTS", 1)
    output, reached = tmp_path / "run.nc", []

    def look(standing):
        if output.exists():
            with flowsim.open(output) as tree:
                reached.append(float(tree["time"].values[-1]))

    flowsim.run(small(observe__times=5, flow__until={"time": 5.0}), output, progress=look)
    assert len(set(reached)) > 3
    assert np.all(np.diff(reached) >= 0)


def test_the_run_of_a_copied_scenario_goes_on(small, tmp_path):
    copied = small().model_copy(update={"seed": 5})
    short = copied.replace({"flow.until.steps": 4})
    assert flowsim.run(short, tmp_path / "run.nc").attrs["status"] == "step_limit"
    resumed = flowsim.run(copied, tmp_path / "run.nc", resume=True)
    xr.testing.assert_equal(resumed.to_dataset(), flowsim.run(small(seed=5)).to_dataset())


def test_what_differs_from_the_scenario_of_a_run_is_named(small, tmp_path):
    short = small(init__scale=0.001, flow__until={"time": 30.0, "steps": 4})
    flowsim.run(short, tmp_path / "run.nc")
    other = short.model_copy(update={"init": short.init.model_copy(update={"scale": 0.002}), "title": "another"})
    with pytest.raises(flowsim.UsageError) as caught:
        flowsim.run(other, tmp_path / "run.nc", resume=True)
    assert str(caught.value) == (
        f"{tmp_path / 'run.nc'}: was made by another scenario: init.scale is 0.001 there and 0.002 here; "
        "only flow.wall_time and flow.until.steps may differ"
    )


@pytest.mark.parametrize("stages", [False, True])
def test_what_another_version_has_left_is_refused_and_kept(small, tmp_path, stages):
    model, until = {"kind": "mlp", "activation": "tanh", "widths": [4]}, {"time": 9.0, "steps": 3}
    flow = {"stage": [{"name": "first", "until": until}], "flow": None} if stages else {"flow__until": until}
    scenario, output = small(model=model, init__scale=0.5, **flow), tmp_path / "run.nc"
    assert flowsim.run(scenario, output).attrs["status"] == "step_limit"
    with netCDF4.Dataset(output, "a") as file:  # the names of version 0.1.0
        now, then = ("began_leaf_0", "began_upper_0") if stages else ("leaf_0", "layer_2")
        file["checkpoint"].renameVariable(now, then)
    before = output.read_bytes()
    with pytest.raises(flowsim.UsageError, match="another version of flowsim"):
        flowsim.run(scenario, output, resume=True)
    assert output.read_bytes() == before
