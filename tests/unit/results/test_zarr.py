"""Results in Zarr stores: what comes back, that no part is ever seen, and what is refused before any array is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from support.made import ensemble, made, on_loss_clock
from support.sweeps import BASE

import flowsim
from flowsim import durable
from flowsim.cli import main
from flowsim.durable import held
from flowsim.errors import NotWritten
from flowsim.results import in_memory, write

zarr = pytest.importorskip("zarr", reason="Zarr is not installed")

RESULTS = {"run": made, "ensemble": ensemble, "loss clock": on_loss_clock}


def as_file(tree: xr.DataTree, folder: Path) -> xr.DataTree:
    """The same by way of NetCDF."""
    write(tree, folder / "same.nc")
    with flowsim.open(folder / "same.nc") as opened:
        return in_memory(opened)


@pytest.fixture
def store(tmp_path) -> Path:
    write(made(), tmp_path / "run.zarr")
    return tmp_path / "run.zarr"


@pytest.mark.parametrize("kind", RESULTS)
def test_a_store_gives_back_what_a_file_does(kind, tmp_path):
    tree = RESULTS[kind]()
    write(tree, tmp_path / "run.zarr")
    with flowsim.open(tmp_path / "run.zarr") as opened:
        found, expected = in_memory(opened), as_file(tree, tmp_path)
    assert {node.path for node in found.subtree} == {node.path for node in expected.subtree}
    for node in expected.subtree:
        there, here = (one[node.path].to_dataset(inherit=False) for one in (found, expected))
        xr.testing.assert_equal(there, here)
        assert {name: of.dtype for name, of in there.variables.items()} == {
            name: of.dtype for name, of in here.variables.items()
        }
        assert set(there.xindexes) == set(here.xindexes)
        assert set(there.attrs) == set(here.attrs)
        assert all(np.array_equal(there.attrs[name], value) for name, value in here.attrs.items())


def test_xarray_opens_a_store_by_itself_and_says_nothing(store):
    trajectory = xr.open_dataset(store)  # a warning would be an error
    xr.testing.assert_allclose(
        trajectory["loss"].drop_vars("log10_time", errors="ignore"), made()["loss"].to_dataset()["loss"]
    )
    np.testing.assert_array_equal(trajectory.flow.phases["instant"], made()["phases/instant"])


def test_writing_leaves_nothing_but_the_store_and_replaces_what_was_there(store):
    write(made(seed=1), store)
    assert [path.name for path in store.parent.iterdir()] == ["run.zarr"]
    with flowsim.open(store) as opened:
        np.testing.assert_array_equal(opened["cosine"], made(seed=1)["cosine"])


def test_a_write_that_fails_half_way_leaves_the_old_store_whole(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable, "_bring_to_disk", full)
    with pytest.raises(NotWritten, match=r"run\.zarr: could not be written: No space left on device"):
        write(made(seed=1), store)
    assert [path.name for path in store.parent.iterdir()] == ["run.zarr"]
    with flowsim.open(store) as opened:
        np.testing.assert_array_equal(opened["cosine"], made()["cosine"])


def test_a_store_that_a_kill_has_left_moved_away_is_moved_back(store, monkeypatch):
    rename, calls = os.rename, []

    def killed(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", killed)
    monkeypatch.setattr(durable.shutil, "rmtree", lambda *_, **__: None)  # a kill cleans up nothing
    with pytest.raises(KeyboardInterrupt):
        write(made(seed=1), store)
    monkeypatch.undo()
    assert not store.exists()
    assert len([*store.parent.iterdir()]) == 2
    with held(store):
        pass
    assert [path.name for path in store.parent.iterdir()] == ["run.zarr"]
    with flowsim.open(store) as opened:
        np.testing.assert_array_equal(opened["cosine"], made()["cosine"])


def test_a_folder_that_is_no_store_is_never_replaced(tmp_path):
    (tmp_path / "run.zarr").mkdir()
    (tmp_path / "run.zarr" / "thesis.tex").write_text("years of work")
    scenario = flowsim.loads(BASE, overrides={"flow.until": {"steps": 2}})
    with pytest.raises(flowsim.UsageError, match="is a folder"):
        flowsim.run(scenario, tmp_path / "run.zarr", overwrite=True)
    assert (tmp_path / "run.zarr" / "thesis.tex").exists()


def test_a_run_that_was_stopped_goes_on_in_its_store_to_the_last_bit(tmp_path):
    scenario = flowsim.loads(BASE, overrides={"flow.until": {"time": 30.0, "steps": 20}})
    assert flowsim.run(scenario, tmp_path / "run.zarr").attrs["status"] == "step_limit"
    again = scenario.replace({"flow.until": {"time": 30.0}})
    flowsim.run(again, tmp_path / "run.zarr", resume=True)
    whole = flowsim.run(again)
    with flowsim.open(tmp_path / "run.zarr") as opened:
        assert opened.attrs["status"] == "done"
        for name in ("cosine", "log_norm", "loss"):
            np.testing.assert_array_equal(opened[name], whole[name])
    with pytest.raises(flowsim.UsageError, match="exists already"):
        flowsim.run(again, tmp_path / "run.zarr")


def test_without_the_package_nothing_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr("flowsim.results.zarr.find_spec", lambda name: None)
    with pytest.raises(flowsim.UsageError, match=r"pip install 'flowsim\[zarr\]'"):
        flowsim.run(flowsim.loads(BASE), tmp_path / "run.zarr")
    assert [*tmp_path.iterdir()] == []


def header(store: Path, array: str = "loss", **changes: object) -> None:
    """Change the header of an array."""
    file = store / array / "zarr.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def one_of_format_2(store: Path) -> None:
    (store / "loss" / ".zarray").write_text("{}")


def pickled(store: Path) -> None:
    header(store, codecs=[{"name": "numcodecs.pickle", "configuration": {}}])


def compressed(store: Path) -> None:
    header(store, codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}])


def objects(store: Path) -> None:
    header(store, data_type={"name": "object", "configuration": {}})


def huge(store: Path) -> None:
    header(store, shape=[10**15])


def large_for_its_files(store: Path) -> None:
    header(store, shape=[10**8])


def of_negative_length(store: Path) -> None:
    header(store, shape=[-1])


def transformed(store: Path) -> None:
    header(store, storage_transformers=[{"name": "sharding"}])


def linked(store: Path) -> None:
    (store / "loss" / "c" / "0").unlink()
    (store / "loss" / "c" / "0").symlink_to("/dev/zero")


def nested(store: Path) -> None:
    (store / "loss" / "zarr.json").write_text("[" * 10**5)


def without_a_header(store: Path) -> None:
    (store / "zarr.json").unlink()


def test_a_store_of_something_else_is_no_result(store):
    group = json.loads((store / "zarr.json").read_text())
    del group["attributes"]["flowsim_version"]
    (store / "zarr.json").write_text(json.dumps(group))
    with pytest.raises(flowsim.UsageError, match="not a result of flowsim"):
        flowsim.open(store)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (one_of_format_2, "format 2"),
        (pickled, "is stored by numcodecs.pickle"),
        (compressed, "is stored by bytes, zstd"),
        (objects, "and not numbers or texts"),
        (huge, "memory is available"),
        (large_for_its_files, "times its file"),
        (of_negative_length, "its shape is no list of lengths"),
        (transformed, "is stored by transformers"),
        (linked, "is a link, a pipe or a device"),
        (nested, "is no JSON"),
        (without_a_header, "not a Zarr store"),
    ],
)
def test_a_store_that_is_not_as_flowsim_writes_it_is_refused_before_an_array_is_read(store, damage, said, monkeypatch):
    damage(store)
    read = []
    monkeypatch.setattr("zarr.Array.__getitem__", lambda *_: read.append(1))
    with pytest.raises(flowsim.UsageError, match=said):
        flowsim.open(store)
    assert not read


def test_a_chunk_that_was_changed_is_told_by_its_checksum(store):
    chunk = store / "loss" / "c" / "0"
    content = bytearray(chunk.read_bytes())
    content[3] ^= 1
    chunk.write_bytes(content)
    with flowsim.open(store) as opened, pytest.raises(ValueError, match="checksum"):
        opened["loss"].load()


def test_commands_take_a_store_for_a_file(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(made(), "same.nc")
    shown = []
    for name in ("run.zarr", "same.nc"):
        assert main(["show", name]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert main(["compare", "run.zarr", "same.nc"]) == 0
    assert "differ" in capsys.readouterr().out
    pytest.importorskip("matplotlib")
    # in a process of its own, where flowsim leaves out what xarray would import
    words = [sys.executable, "-m", "flowsim", "plot", "run.zarr", "loss"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "run-loss.png\n")
