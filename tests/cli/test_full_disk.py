"""A disk of 300 kB: whatever meets its end ends in a message, and what was reached is somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import xarray as xr

import flowsim as fs

#: A result of more than 300 kB.
LARGE = ("--set", "observe.times=2000", "--set", 'observe.snapshots="all"')
SWEEP = """
[sweep.grid]
seed = { from = 0, to = 7, count = 8 }
"flow.until.time" = [20.0, 30.0]
"""


@pytest.fixture
def small_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One without room for much, and a home folder beside it that has room. Nothing is refused before it is tried."""
    disk = folder / "disk"
    for place in (disk, folder / "home"):
        place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a disk")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("FLOWSIM_LIMITS", "disk=1e9")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)  # HDF5 may keep a file open that it could not write


def test_a_run_and_its_checkpoints(flowsim, small_disk, monkeypatch):
    monkeypatch.setattr("flowsim.solve.advance.MOST_ATTEMPTS", 4)  # a checkpoint after so many steps
    answer = flowsim("run", "a.toml", *LARGE, "-o", "disk/a.nc", "--checkpoint-every", "0")
    assert answer.code == 5
    went_on, ended = answer.err.splitlines()[-2:]
    assert went_on.endswith("No space left on device; the run goes on, and the next checkpoint is tried again")
    found = re.fullmatch(
        r"disk/a\.nc: could not be written: No space left on device; the whole of it is in (.*)", ended
    )
    assert {*os.listdir(small_disk)} <= {"a.nc"}  # an earlier checkpoint
    with xr.open_dataset(found[1]) as run:
        assert (run.attrs["status"], run.sizes["time"]) == ("done", 2000)


def test_a_report(flowsim, small_disk):
    assert flowsim("run", "a.toml").code == 0
    answer = flowsim("report", "a.nc", "-o", "disk/a.html")
    assert (answer.code, answer.err) == (5, "disk/a.html: could not be written: No space left on device\n")
    assert os.listdir(small_disk) == []


def test_a_sweep(flowsim, folder, small_disk, monkeypatch):
    pytest.importorskip("distributed")
    from support.answers import alone

    (folder / "s.toml").write_text((folder / "a.toml").read_text() + SWEEP)
    with alone():
        answer = flowsim("sweep", "s.toml", "-o", "disk/s")
        assert answer.code == 5
        done = re.search(
            r"No space left on device; what it was to hold is in (.*); (\d+) of 16 points are done", answer.err
        )
        assert Path(done[1]).is_file()
        assert 0 < int(done[2]) < 16
        shutil.copytree(small_disk / "s", "larger")
        assert flowsim("sweep", "s.toml", "-o", "larger", "--resume", "--json").code == 0
    with fs.open_sweep("larger") as swept:
        assert (swept["status"] == "done").all()
