"""Results of flowsim 0.1.0, of a newer flowsim, and of other programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.cli import main
from flowsim.papers import evaluate
from flowsim.present.kinds import obstacles, plot
from flowsim.results.layouts import FORMAT

OLD = Path(__file__).parents[2] / "data" / "v0.1.0"
NAMES = sorted(file.stem for file in OLD.glob("*.nc"))


@pytest.fixture(params=NAMES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of 0.1.0, in a folder without the table that it was made from."""
    return Path(shutil.copy(OLD / f"{request.param}.nc", tmp_path))


def read(file: Path) -> xr.DataTree:
    """The whole file as it is, in memory."""
    with xr.open_datatree(file) as tree:
        return xr.DataTree.from_dict({node.path: node.to_dataset(inherit=False).load() for node in tree.subtree})


def seed_of(file: Path) -> int | None:
    return 0 if file.stem == "ensemble" else None


def test_what_is_written_says_its_layout(small):
    tree = flowsim.run(small(flow__until={"time": 1.0}))
    assert (tree.attrs["format_version"], tree.attrs["Conventions"]) == (FORMAT, f"flowsim-{FORMAT}")
    assert flowsim.reopen(tree).tree is tree


def test_an_old_file_is_opened_shown_drawn_reported_and_compared(old, tmp_path, capsys):
    with flowsim.open(old) as tree:
        assert tree.attrs["format_version"] == FORMAT
        free = [kind for kind, why in obstacles(tree).items() if not why]
        assert {"loss", "norms"} <= set(free)
        for kind in free:
            plot(tree, kind, interactive=False)
        xr.testing.assert_identical(tree.to_dataset(), read(old).to_dataset().assign_attrs(tree.attrs))
    assert main(["show", str(old)]) == 0
    assert "status" in capsys.readouterr().out
    flowsim.write_report(old, tmp_path / "page.html")
    found = flowsim.compare(old, old, seed=seed_of(old))
    if old.stem != "limit":  # whose linear times all lie close to each other
        assert not found["log_norm_difference"].any()


def test_an_old_file_is_reopened(old):
    with flowsim.reopen(old, seed=seed_of(old)) as case:
        last = case.trajectory["margin"].values[-1]
        outputs = case.network(case.problem.inputs)
        if case.problem.outputs == 1:
            np.testing.assert_allclose(case.problem.targets * outputs, last, rtol=1e-9)
        found = flowsim.robustness(case, {"radii": [0.1], "samples": 5, "attacks": ["fgm"]})
        assert found["robust_accuracy"].shape == (1, 1, 1)
        assert flowsim.limit(case).attrs["verdict"]
        assert "verdict" in evaluate(case, ["min_vidal_2025"])
        if case.problem.outputs == 1:
            assert flowsim.distance(case)["distance"] > 0


def test_evaluations_of_old_files_come_out_as_they_were():
    with flowsim.open(OLD / "single.nc") as tree:
        for name, again in (("robustness", flowsim.robustness), ("distance", flowsim.distance)):
            written, found = tree[name].to_dataset(inherit=False).load(), again(tree)
            xr.testing.assert_allclose(found, written, rtol=1e-6)
    with flowsim.open(OLD / "limit.nc") as tree:
        found = flowsim.limit(tree)
        assert found.attrs["found"] == tree["limit"].attrs["found"]
        np.testing.assert_allclose(found["margin"], tree["limit/margin"].to_numpy(), rtol=1e-6)


def test_a_copy_whose_text_says_another_seed_is_mended():
    text = read(OLD / "copy.nc").attrs["scenario"]
    assert flowsim.loads(text).seed == 0
    case = flowsim.reopen(OLD / "copy.nc")
    assert (case.seed, case.scenario.seed) == (5, 5)
    np.testing.assert_array_equal(case.problem.inputs, flowsim.build(flowsim.loads(text, overrides={"seed": 5})).inputs)
    assert "# a comment of the file" in case.tree.attrs["scenario"]


def test_a_copy_that_differs_in_more_than_its_seed_is_refused(tmp_path):
    loaded = read(OLD / "copy.nc")
    loaded.attrs["scenario"] = loaded.attrs["scenario"].replace("total = 0.2", "total = 0.3")
    loaded.to_netcdf(tmp_path / "copy.nc")
    with pytest.raises(flowsim.UsageError, match=r"flowsim 0\.1\.0 .* is not the one that ran") as caught:
        flowsim.robustness(tmp_path / "copy.nc", {"radii": [0.1]})
    assert "\n" not in str(caught.value)


def test_an_old_run_that_was_stopped_goes_on(tmp_path):
    file = Path(shutil.copy(OLD / "stopped.nc", tmp_path))
    with flowsim.open(file) as tree:
        text, reached = tree.attrs["scenario"], float(tree["time"][-1])
    scenario = flowsim.loads(text, overrides={"flow.until.steps": 60})
    done = flowsim.run(scenario, file, resume=True)
    assert float(done["time"][-1]) > reached
    afresh = flowsim.run(scenario)
    np.testing.assert_allclose(done["log_norm"][-1], afresh["log_norm"][-1], rtol=1e-9)


def test_an_old_sweep_opens_and_so_does_its_point():
    with flowsim.open_sweep(OLD / "sweep") as dataset:
        assert dataset["final_loss"].shape == (2, 2)
    case = flowsim.reopen(OLD / "sweep", point={"data.noise.total": 0.1, "seed": 0})
    assert case.tree.attrs["format_version"] == FORMAT
    assert case.problem.inputs.shape == (12, 8)
    assert flowsim.reopen(OLD / "sweep" / "runs" / "912d67fe205d17ed.nc").seed == 0
    with pytest.raises(flowsim.UsageError, match="is the dataset of a sweep"):
        flowsim.reopen(OLD / "sweep" / "sweep.nc")
    with pytest.raises(flowsim.UsageError, match="no such file"):
        flowsim.reopen(OLD / "sweep", point={"data.noise.total": 0.3, "seed": 0})


def test_a_file_of_several_points_says_how_to_choose_one(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "manifest.jsonl").write_text("")
    several = {f"/{name}": read(OLD / "single.nc").to_dataset() for name in "01"}
    xr.DataTree.from_dict(several).to_netcdf(tmp_path / "runs" / "batch.nc")
    with pytest.raises(flowsim.UsageError, match=r"not a result of flowsim but of several; flowsim\.reopen"):
        flowsim.reopen(tmp_path / "runs" / "batch.nc")


def test_a_newer_layout_is_refused_in_one_line(tmp_path, capsys):
    newer = read(OLD / "single.nc")
    newer.attrs.update(format_version=FORMAT + 1, flowsim_version="9.0")
    newer.to_netcdf(tmp_path / "new.nc")
    words = f"has layout {FORMAT + 1}, of flowsim 9.0; this flowsim reads layouts up to {FORMAT}, so update flowsim"
    for way in (flowsim.open, flowsim.reopen, flowsim.limit):
        with pytest.raises(flowsim.UsageError, match=words.replace(".", r"\.")):
            way(tmp_path / "new.nc")
    with pytest.raises(flowsim.UsageError, match="has layout"):
        flowsim.limit(xr.DataTree(newer.to_dataset()))
    for command in (["show"], ["plot"], ["report"]):
        assert main([*command, str(tmp_path / "new.nc"), *(["loss"] if command == ["plot"] else [])]) == 2
        assert capsys.readouterr().err == f"{tmp_path / 'new.nc'}: {words}\n"
    sweep = xr.load_dataset(OLD / "sweep" / "sweep.nc").assign_attrs(format_version=FORMAT + 1)
    sweep.to_netcdf(tmp_path / "sweep.nc")
    with pytest.raises(flowsim.UsageError, match="has layout"):
        flowsim.open_sweep(tmp_path / "sweep.nc")


def test_a_scenario_with_a_key_that_is_gone_is_shown_drawn_and_compared(tmp_path, capsys):
    loaded = read(OLD / "single.nc")
    loaded.attrs["scenario"] = loaded.attrs["scenario"].replace("scale = ", "gone = 1\nscale = ")
    loaded.to_netcdf(tmp_path / "run.nc")
    assert main(["show", str(tmp_path / "run.nc")]) == 0
    assert main(["plot", str(tmp_path / "run.nc"), "alignment", "-o", str(tmp_path / "run.png")]) == 0
    assert main(["report", str(tmp_path / "run.nc"), "-o", str(tmp_path / "run.html")]) == 0
    assert main(["compare", str(tmp_path / "run.nc"), str(OLD / "single.nc")]) == 0
    of_data = read(OLD / "single.nc")
    of_data.attrs["scenario"] = of_data.attrs["scenario"].replace("samples = 12", "gone = 1\nsamples = 12")
    assert not flowsim.compare(of_data, of_data)["cosine_difference"].any()
    capsys.readouterr()
    assert main(["transfer", str(tmp_path / "run.nc"), str(OLD / "single.nc"), "--radii", "0.1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"{tmp_path / 'run.nc'}: this version of flowsim cannot read the scenario of flowsim 0.1.0: init.gone"
    )
    assert said.count("\n") == 1
