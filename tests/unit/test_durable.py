"""Files that are whole or not there, and outputs that one process at a time writes."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim import durable
from flowsim.durable import Holder, claimed, held, written_aside
from flowsim.results import write

resource = pytest.importorskip("resource")
MEGABYTE = xr.DataTree(xr.Dataset({"x": ("i", np.ones(2**17))}))


@pytest.fixture
def small_files() -> None:
    """As if the disk were full: no file may be larger than 100 kB."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, usual[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names open files")
def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_folder_afterwards(tmp_path, monkeypatch):
    done: list[str] = []
    fsync, rename = os.fsync, os.replace

    def synced(opened: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{opened}")).name)
        fsync(opened)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("renamed"), rename(*names)))
    with written_aside(tmp_path / "a.txt") as aside:
        aside.write_text("all of it")
    assert done == [aside.name, "renamed", tmp_path.name]
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("asked", [True, False], ids=["room is asked for", "HDF5 finds none"])
def test_a_result_without_room_is_a_message_and_leaves_nothing(tmp_path, monkeypatch, small_files, asked):
    if not asked:
        monkeypatch.setattr(durable, "_ask_for", lambda file, room: None)
    for _ in range(2):
        with pytest.raises(flowsim.NotWritten, match=r"run\.nc: could not be written: File too large") as caught:
            write(MEGABYTE, tmp_path / "run.nc")
        assert caught.value.exit_code == 5
        assert list(tmp_path.iterdir()) == []


def test_other_errors_of_who_writes_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(RuntimeError, match="a defect"), written_aside(tmp_path / "a.txt"):
        raise RuntimeError("a defect")


# --- locks

BESIDE = ".run.nc.lock"


def named(file: Path, holder: Holder, age: float = 0.0) -> None:
    """Leave a lock that names a holder, who gave a sign of life so many seconds ago."""
    lock = file.with_name(BESIDE)
    lock.write_text(json.dumps(asdict(holder)))
    os.utime(lock, (time.time() - age,) * 2)


def test_an_output_is_held_once_and_free_afterwards(tmp_path):
    file = tmp_path / "run.nc"
    said = rf"run\.nc: process {os.getpid()} on .* has been writing to it since .*; wait for it, or write elsewhere"
    for _ in range(2):
        with held(file), pytest.raises(flowsim.UsageError, match=said), held(file):
            pytest.fail("held twice")
        assert list(tmp_path.iterdir()) == []


def test_what_was_written_while_one_waited_is_not_overwritten(tmp_path, monkeypatch):
    file = tmp_path / "run.nc"
    taken = durable._taken
    monkeypatch.setattr(durable, "_taken", lambda *given: (file.write_text("mine"), taken(*given))[1])
    with pytest.raises(flowsim.UsageError, match="exists already"), claimed(file, overwrite=False):
        pytest.fail("claimed")


ME = Holder.of_this_process()
GONE = 2**22 + 1  # larger than any number of a process


@pytest.mark.parametrize(
    ("holder", "age", "stale"),
    [
        (replace(ME, process=GONE), 0.0, True),
        (replace(ME, started="another boot 1"), 0.0, True),
        (replace(ME, process=1, started=durable._started(1)), 1e6, False),
        (replace(ME, host="elsewhere"), 0.0, False),
        (replace(ME, host="elsewhere"), 2 * durable.QUIET, True),
    ],
    ids=["dead", "its number is another's now", "lives", "on another machine", "quiet on another machine"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process was started")
def test_the_lock_of_a_process_that_is_gone_does_not_count(tmp_path, holder, age, stale):
    file = tmp_path / "run.nc"
    named(file, holder, age)
    if stale:
        with held(file):
            assert Holder(**json.loads(file.with_name(BESIDE).read_text())).process == os.getpid()
        assert list(tmp_path.iterdir()) == []
    else:
        with pytest.raises(flowsim.UsageError, match=f"process {holder.process} on {holder.host} has been"), held(file):
            pytest.fail("held twice")
        assert file.with_name(BESIDE).exists()


def test_a_lock_that_says_nothing_is_taken_over(tmp_path):
    (tmp_path / BESIDE).write_text("")
    with held(tmp_path / "run.nc"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_who_holds_an_output_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "BEAT", 0.01)
    lock, end = tmp_path / BESIDE, time.monotonic() + 60
    with held(tmp_path / "run.nc"):
        os.utime(lock, (0, 0))
        while lock.stat().st_mtime == 0:
            assert time.monotonic() < end, "no sign of life"
            time.sleep(0.01)


def test_what_killed_processes_have_left_goes_and_nothing_else(tmp_path):
    kept = {"run.nc", ".run.nc.bak", ".run2.nc.17", "run.nc.17", ".other.nc.17"}
    for name in (*kept, ".run.nc.17", ".run.nc.4194304"):
        (tmp_path / name).write_text("")
    with held(tmp_path / "run.nc"):
        assert {file.name for file in tmp_path.iterdir()} == {*kept, BESIDE}
