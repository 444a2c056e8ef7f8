"""Results at addresses, in a file system that fsspec has in memory."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
import xarray as xr
from support.made import made
from support.sweeps import BASE

import flowsim
from flowsim.cli import main
from flowsim.errors import NotWritten
from flowsim.results import write

pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def address() -> str:
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    return "memory://bucket/run.nc"


@pytest.fixture
def put(monkeypatch):
    """Let nothing be sent."""
    from fsspec.implementations.memory import MemoryFileSystem

    def refused(*_, **__):
        raise PermissionError("the bucket is somebody else's")

    monkeypatch.setattr(MemoryFileSystem, "put_file", refused)


def test_what_is_written_to_an_address_is_read_from_it(address, tmp_path):
    write(made(), address)
    write(made(), tmp_path / "run.nc")
    with flowsim.open(tmp_path / "run.nc") as here:
        xr.testing.assert_identical(flowsim.open(address), here.load())
    case = flowsim.open(address)
    np.testing.assert_array_equal(case.flow.phases["instant"], made()["phases/instant"])


def test_a_run_at_an_address_is_refused_replaced_and_resumed_as_one_in_a_file_is(address):
    scenario = flowsim.loads(BASE, overrides={"flow.until": {"time": 30.0, "steps": 20}})
    flowsim.run(scenario, address)
    assert flowsim.open(address).attrs["status"] == "step_limit"
    with pytest.raises(flowsim.UsageError, match="exists already; use --overwrite"):
        flowsim.run(scenario, address)
    again = scenario.replace({"flow.until": {"time": 30.0}})
    whole = flowsim.run(again, address, resume=True)
    assert flowsim.open(address).attrs["status"] == "done"
    np.testing.assert_array_equal(flowsim.open(address)["cosine"], whole["cosine"])
    np.testing.assert_array_equal(flowsim.run(again, address, overwrite=True)["cosine"], whole["cosine"])


def test_commands_take_an_address_for_a_file(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(BASE)
    assert main(["run", "s.toml", "-o", address, "-q"]) == 0
    assert main(["show", address]) == 0
    assert "status       done" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
    pytest.importorskip("plotly")
    assert main(["report", address]) == 0
    assert Path("run.html").exists()


def test_the_address_of_a_file_is_the_file(tmp_path):
    file = tmp_path / "a run.nc"
    write(made(), f"file://{quote(str(file))}")
    with flowsim.open(f"file://{quote(str(file))}") as opened:
        assert opened.encoding["source"] == str(file)


def test_what_is_damaged_is_told_with_its_address(address):
    from fsspec import filesystem

    filesystem("memory").pipe_file("/bucket/run.nc", b"not a result")
    with pytest.raises(flowsim.UsageError, match=r"^memory://bucket/run\.nc: not a NetCDF file") as raised:
        flowsim.open(address)
    assert "tmp" not in str(raised.value)


def test_no_more_is_fetched_than_there_is_room_for(address, monkeypatch):
    write(made(), address)
    monkeypatch.setenv("FLOWSIM_LIMITS", "disk=1KiB")
    with pytest.raises(flowsim.UsageError, match="of disk is there; --limit disk=1MiB reads it"):
        flowsim.open(address)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("memory://bucket/none.nc", "no such file"),
        ("memory://bucket/run.zarr", "a Zarr store has many files"),
        ("nowhere://bucket/run.nc", "nowhere"),
    ],
)
def test_an_address_that_leads_nowhere_is_answered(address, place, said):
    with pytest.raises(flowsim.UsageError, match=f"^{place}: .*{said}"):
        flowsim.open(place)


def test_a_protocol_that_is_not_known_is_answered_before_anything_runs():
    with pytest.raises(flowsim.UsageError, match=r"^nowhere://bucket/run\.nc: "):
        flowsim.run(flowsim.loads(BASE), "nowhere://bucket/run.nc")


def test_what_could_not_be_sent_is_kept_elsewhere(address, put, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(NotWritten, match="the bucket is somebody else's; the whole of it is in") as raised:
        flowsim.run(flowsim.loads(BASE), address)
    assert raised.value.elsewhere is not None
    assert raised.value.elsewhere.parent == tmp_path
    with flowsim.open(raised.value.elsewhere) as kept:
        assert kept.attrs["status"] == "done"
