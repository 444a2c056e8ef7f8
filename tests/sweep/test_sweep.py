"""A sweep within this process: what it gives, what becomes of points that fail, and how it goes on."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import xarray as xr
from support.sweeps import BASE, GRID

import flowsim
from flowsim.sweep import open_point
from flowsim.sweep.store import lines

OWN = ["seconds", "cpu_seconds"]
SEVERAL = '[sweep.grid]\n"data.noise.total" = [0.1, 0.3]\n"model.width" = [4, 6]\n'


def alone(**overrides) -> xr.DataTree:
    return flowsim.run(flowsim.loads(BASE, overrides={key.replace("__", "."): v for key, v in overrides.items()}))


@pytest.mark.parametrize("seeds", [range(9), range(8, -1, -1)], ids=["in order", "in another"])
def test_a_point_is_bitwise_what_it_is_alone(swept, seeds):
    result = swept(GRID.replace("[0, 1, 2]", str(list(seeds))))
    assert (result.exit_code, result.done, result.points, result.ran) == (0, 18, 18, 18)
    assert any(line.record.member == 2 for line in lines(result.folder))
    dataset = flowsim.open_sweep(result.folder)
    for noise in (0.1, 0.3):
        for seed in (0, 4, 8):
            run = alone(data__noise__total=noise, seed=seed)
            point = dataset.sel({"data.noise.total": noise, "seed": seed})
            assert point["final_loss"] == run["loss"][-1]
            assert point["evaluations"] == run["numerics/evaluations"][-1]
            kept = run["phases/instant"].to_dataset(name="x")["x"]
            np.testing.assert_array_equal(point["phase_instant"].sel(phase=kept["phase"]), kept)
            whole = open_point(result.folder, point["sha256"].item()).to_dataset()
            assert whole.sizes["seed"] == 1
            for name in ("cosine", "log_norm", "direction", "margin"):
                np.testing.assert_array_equal(whole[name].squeeze("seed"), run[name], err_msg=name)


def test_points_of_different_sizes_share_a_dataset(swept):
    result = swept(f'[sweep]\ntrajectories = ["log_norm"]\n{SEVERAL}')
    dataset = flowsim.open_sweep(result.folder)
    assert dataset["log_norm"].sizes == {"data.noise.total": 2, "model.width": 2, "time": 11, "neuron": 6}
    run = alone(model__width=4, data__noise__total=0.3)
    point = dataset["log_norm"].sel({"data.noise.total": 0.3, "model.width": 4})
    np.testing.assert_array_equal(point[:, :4], run["log_norm"])
    assert np.isnan(point[:, 4:]).all()
    assert open_point(result.folder, dataset["sha256"].values[0, 0])["log_norm"].shape == (11, 4)


def test_trajectories_of_different_lengths_share_a_grid_of_times(swept):
    result = swept('[sweep]\ntrajectories = ["loss"]\ninstants = 61\n[sweep.grid]\n"flow.until.time" = [15.0, 30.0]')
    dataset = flowsim.open_sweep(result.folder)
    np.testing.assert_array_equal(dataset["time"], np.linspace(0, 30, 61))
    for end in (15.0, 30.0):
        run, curve = alone(flow__until__time=end), dataset["loss"].sel({"flow.until.time": end})
        inside = dataset["time"].values <= end
        expected = np.interp(dataset["time"][inside], run["time"], run["loss"])
        np.testing.assert_allclose(curve[inside], expected, rtol=1e-14)
        assert np.isnan(curve[~inside]).all()


def test_a_zip_has_one_dimension_with_a_coordinate_for_each_key(swept):
    result = swept('[sweep.zip]\nseed = [0, 1]\n"init.shape" = ["gaussian", "sphere"]\n')
    dataset = flowsim.open_sweep(result.folder)
    assert dataset["final_loss"].dims == ("point",)
    assert dataset["init.shape"].values.tolist() == ["gaussian", "sphere"]
    assert dataset["final_loss"][1] == alone(seed=1, init__shape="sphere")["loss"][-1]


def test_what_was_evaluated_is_in_the_dataset(swept):
    # a claim that applies to one of both networks
    base = BASE.replace("[model]", '[model]\nactivation = "relu"')
    table = '[evaluate]\nclaims = ["li_2025.lemma_5_5"]\n[sweep.grid]\nseed = [0, 1]\n'
    dataset = flowsim.open_sweep(swept(table, base=base).folder)
    assert dataset["claim_measured"].dims == ("seed", "claim")
    run = flowsim.run(flowsim.loads(base + table.partition("[sweep")[0], overrides={"seed": 1}))
    np.testing.assert_array_equal(dataset["claim_measured"].sel(seed=1), run["claims/measured"])


def test_other_groups_are_taken_whatever_they_are(monkeypatch, swept):
    from flowsim.sweep import worker

    def with_groups(scenario, **options):
        tree = flowsim.run(scenario, **options)
        radii = (0.1, 0.2) if scenario.seed == 0 else (0.2, 0.4)
        values = xr.DataArray(
            [scenario.seed + radius for radius in radii], coords={"radius": list(radii)}, dims="radius"
        )
        withstood = xr.DataArray([[0.3, 0.1, 0.5 + scenario.seed]], dims=("classifier", "test_sample"))
        tree["robustness"] = xr.DataTree(xr.Dataset({"robust_accuracy": values, "attacked_radius": withstood}))
        tree["distance"] = xr.DataTree(xr.Dataset({"distance": 2.0 * scenario.seed}))
        return tree

    monkeypatch.setattr(worker, "run", with_groups)
    monkeypatch.setattr("flowsim.sweep.batches._can_be_ensemble", lambda values: False)
    dataset = flowsim.open_sweep(swept("[sweep.grid]\nseed = [0, 1]").folder)
    assert dataset["distance"].values.tolist() == [0.0, 2.0]
    table = dataset["robust_accuracy"].sortby("radius")
    np.testing.assert_array_equal(table, [[0.1, 0.2, np.nan], [np.nan, 1.2, 1.4]])
    np.testing.assert_array_equal(dataset["median_attacked_radius"], [[0.3], [0.3]])


def test_a_worker_asks_no_scheduler_to_lock_the_files_that_it_writes(swept, monkeypatch):
    """Some 200 questions a point, which took longer than small points do."""
    asked = []
    monkeypatch.setattr("distributed.Lock.acquire", lambda *words, **options: asked.append(words))
    assert swept().exit_code == 0
    assert not asked


def test_a_finished_sweep_is_left_as_it_is(swept, contents, tmp_path):
    swept()
    before = contents(tmp_path)
    scenario = tmp_path / "out" / "sweep.toml"
    assert str(scenario) in before
    result = swept(resume=True)
    assert (result.ran, result.exit_code) == (0, 0)
    after = contents(tmp_path)
    assert {name: told for name, told in after.items() if name != str(scenario)} == {
        name: told for name, told in before.items() if name != str(scenario)
    }
    assert after[str(scenario)][0] == before[str(scenario)][0]


def test_points_that_are_added_are_all_that_runs(swept):
    swept("[sweep.grid]\nseed = [0, 1]")
    result = swept("[sweep.grid]\nseed = [0, 1, 2]", resume=True)
    assert (result.ran, result.done) == (1, 3)
    assert flowsim.open_sweep(result.folder)["final_loss"].sizes == {"seed": 3}


def test_a_folder_with_something_in_it_is_refused(swept, tmp_path, contents):
    swept()
    before = contents(tmp_path)
    with pytest.raises(flowsim.UsageError, match="is not empty"):
        swept()
    with pytest.raises(flowsim.UsageError, match="another base scenario"):
        swept(resume=True, model__width=5)
    assert contents(tmp_path) == before
    assert swept(overwrite=True, model__width=5).ran == 6


def test_a_folder_of_something_else_is_neither_resumed_nor_emptied(swept, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("all of it")
    with pytest.raises(flowsim.UsageError, match="no sweep to go on with"):
        swept(resume=True)
    swept(overwrite=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "all of it"


def test_a_table_that_has_changed_is_another_sweep(swept, tmp_path):
    base = '[data]\nkind = "table"\npath = "t.npz"\n[model]\nwidth = 3\n[flow]\nuntil = { time = 3.0 }\n'
    np.savez(tmp_path / "t.npz", x=np.eye(3), y=np.ones(3))
    swept("[sweep.grid]\nseed = [0, 1]", base=base)
    np.savez(tmp_path / "t.npz", x=2 * np.eye(3), y=np.ones(3))
    with pytest.raises(flowsim.UsageError, match="files have changed"):
        swept("[sweep.grid]\nseed = [0, 1, 2]", base=base, resume=True)


DIVERGES = BASE.replace("until = { time = 30.0 }", 'method = "gradient_descent"\niterations = 500\nstep = 0.1')


def test_a_point_that_diverges_is_recorded_and_the_others_finish(swept):
    result = swept('[sweep.grid]\n"flow.step" = [0.1, 1e3]\nseed = [0, 1]', base=DIVERGES, init__scale=1.0)
    assert (result.exit_code, result.done) == (4, 2)
    assert {status for status, _ in result.failed.values()} == {"non_finite"}
    assert all("smaller flow.step" not in point and "flow.step = 1000" in point for point in result.failed)
    status = flowsim.open_sweep(result.folder)["status"]
    assert status.values.tolist() == [["done"] * 2, ["non_finite"] * 2]


def test_a_point_that_raises_or_has_no_memory_is_recorded_and_others_of_its_family_finish(swept, monkeypatch):
    from flowsim.sweep import worker

    def trouble(scenario, **options):
        if 1 in scenario.seeds:
            raise ZeroDivisionError("one is too many")
        if 4 in scenario.seeds:
            raise MemoryError
        return flowsim.run(scenario, **options)

    monkeypatch.setattr(worker, "run", trouble)
    table = "[sweep.grid]\nseed = { from = 0, to = 31, count = 32 }"
    result = swept(table, data__samples=8)
    assert result.done == 30
    assert result.failed["seed = 1"][0] == "raised"
    assert result.failed["seed = 1"][1].startswith("ZeroDivisionError: one is too many (test_sweep.py:")
    assert result.failed["seed = 4"] == ("out_of_memory", "there was not enough memory")
    monkeypatch.undo()


def test_what_failed_runs_again_and_what_is_done_does_not(swept, monkeypatch):
    from flowsim.sweep import worker

    usual = worker.run
    monkeypatch.setattr(
        worker, "run", lambda scenario, **options: usual(scenario, **options) if scenario.seed else 1 / 0
    )
    first = swept("[sweep.grid]\nseed = [0, 1]")
    assert list(first.failed) == ["seed = 0"]
    monkeypatch.setattr(worker, "run", usual)
    again = swept("[sweep.grid]\nseed = [0, 1]", resume=True)
    assert (again.exit_code, again.ran, again.failed) == (0, 1, {})
    found = [line.record.status for line in lines(again.folder)]
    assert sorted(found) == ["done", "done", "raised"]
    assert flowsim.open_sweep(again.folder)["final_loss"][0] == alone(seed=0)["loss"][-1]


def test_a_point_that_runs_again_leaves_the_others_of_its_batch_where_they_are(swept):
    together = f'[sweep]\ntrajectories = ["loss"]\n[sweep.grid]\n"flow.until.steps" = {[3, *range(1000, 1009)]}\n'
    first = swept(together)
    of_batch = [line for line in lines(first.folder) if line.file == next(lines(first.folder)).file]
    assert [line.record.status for line in of_batch[:2]] == ["step_limit", "done"]
    before = open_point(first.folder, {"flow.until.steps": 1000})
    again = swept(together, resume=True)
    assert (again.ran, again.exit_code) == (1, 4)
    xr.testing.assert_identical(open_point(first.folder, {"flow.until.steps": 1000}), before)
    assert open_point(first.folder, {"flow.until.steps": 3}).attrs["status"] == "step_limit"


def damaged(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("harm", [damaged, lambda file: file.unlink()], ids=["damaged", "gone"])
def test_points_whose_results_are_no_more_what_they_were_run_again(swept, harm):
    table = f'[sweep]\ntrajectories = ["loss"]\n{SEVERAL}'
    first = swept(table)
    before = flowsim.open_sweep(first.folder).load().drop_vars(OWN)
    line = next(lines(first.folder))
    harm(first.folder / "runs" / line.file)
    with pytest.raises(flowsim.UsageError, match=rf"{line.file}: .*--resume runs its points again"):
        open_point(first.folder, line.point)
    (first.folder / "runs" / f"{'0' * 64}.nc").write_bytes(b"a kill came before its lines")
    with pytest.warns(UserWarning, match=rf"{line.file}: .*; its points .1. run again"):
        again = swept(table, resume=True)
    assert (again.ran, again.exit_code) == (1, 0)
    xr.testing.assert_equal(flowsim.open_sweep(first.folder).drop_vars(OWN), before)
    latest = {line.record.sha256: line.file for line in lines(first.folder)}
    assert {file.name for file in (first.folder / "runs").iterdir()} == set(latest.values())


def test_a_torn_manifest_is_mended(swept):
    result = swept()
    manifest = result.folder / "manifest.jsonl"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[: len(whole) - 40])
    again = swept(resume=True)
    assert (again.ran, again.exit_code) == (1, 0)
    assert [json.loads(line)["exit_code"] for line in manifest.read_text().splitlines()] == [0] * 6


def test_a_line_that_is_none_is_named(swept):
    result = swept()
    with (result.folder / "manifest.jsonl").open("a") as manifest:
        manifest.write("{}\n")
    with pytest.raises(flowsim.UsageError, match=r"manifest.jsonl:7"):
        swept(resume=True)


def test_two_sweeps_do_not_write_to_one_folder(swept, tmp_path):
    from flowsim.durable import held

    result = swept()
    before = {file: file.read_bytes() for file in result.folder.rglob("*.*")}
    for more in ({"resume": True}, {"overwrite": True}):
        with (
            held(result.folder),
            pytest.raises(flowsim.UsageError, match=rf"process {os.getpid()} on .* has been writing"),
        ):
            swept(**more)
    assert {file: file.read_bytes() for file in result.folder.rglob("*.*")} == before


def test_what_is_no_sweep_is_not_opened_as_one(tmp_path):
    flowsim.run(flowsim.loads(BASE), tmp_path / "run.nc")
    with pytest.raises(flowsim.UsageError, match="not the dataset of a sweep"):
        flowsim.open_sweep(tmp_path / "run.nc")
    with pytest.raises(flowsim.UsageError, match="no such file"):
        flowsim.open_sweep(tmp_path)


def test_a_dataset_is_read_when_it_is_used(swept):
    dataset = flowsim.open_sweep(swept(f'[sweep]\ntrajectories = ["loss"]\n{GRID}').folder)
    assert dataset["loss"].chunks is not None
    assert not dataset["final_loss"].variable._in_memory
