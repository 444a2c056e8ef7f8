"""When a run is checkpointed, and what becomes of a result that cannot be written."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.errors import NotWritten
from flowsim.run import output
from flowsim.run.output import EARLY, SHARE, Output
from flowsim.solve import advance


@pytest.fixture
def written(monkeypatch):
    """By a run of so many seconds, with checkpoints that take so long each: the seconds at which they were begun."""

    def make(seconds: int, cost: float, every: float | None = None) -> list[float]:
        now, begun = [0.0], []
        monkeypatch.setattr(output, "wall", SimpleNamespace(monotonic=lambda: now[0]))
        monkeypatch.setattr(output, "write", lambda tree, file: now.__setitem__(0, now[0] + cost))
        file = Output("run.nc", every, pytest.fail)

        def result() -> xr.DataTree:
            begun.append(now[0])
            return xr.DataTree()

        while now[0] < seconds:
            file.checkpoint_if_due(result)
            now[0] += 0.25
        return begun

    return make


@pytest.mark.parametrize("cost", [0.01, 0.1, 1.0, 10.0])
def test_the_first_checkpoint_comes_early_and_all_take_a_small_part_of_the_time(written, cost):
    begun = written(20_000, cost)
    assert begun[0] == EARLY
    assert len(begun) * cost <= SHARE * 20_000
    assert np.diff(begun).max() <= 2 * max(EARLY, cost / SHARE)


def test_checkpoints_come_as_often_as_they_are_asked_for(written):
    assert written(31, 0.0, every=10.0) == [EARLY, 15.0, 25.0]
    assert written(3, 0.0, every=1.0) == [1.0, 2.0]


def test_a_checkpoint_that_cannot_be_written_is_a_warning_once_and_is_tried_again(small, tmp_path, monkeypatch):
    told: list[str] = []
    tries: list[int] = []
    write = output.write

    def refused(tree: xr.DataTree, file: object) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise NotWritten("run.nc: could not be written: No space left on device")
        write(tree, file)

    monkeypatch.setattr(output, "write", refused)
    monkeypatch.setattr(advance, "MOST_ATTEMPTS", 1)
    scenario = small(flow__until={"time": 1.0})
    tree = flowsim.run(scenario, tmp_path / "run.nc", checkpoint_every=0.0, warn=told.append)
    assert len(tries) > 3
    assert told == [
        "run.nc: could not be written: No space left on device; the run goes on, and the next checkpoint is tried again"
    ]
    with flowsim.open(tmp_path / "run.nc") as written:
        assert written.attrs["status"] == tree.attrs["status"] == "done"


def full(monkeypatch: pytest.MonkeyPatch, *folders: object) -> None:
    """Nothing can be written to these folders."""
    write = output.write

    def refused(tree: xr.DataTree, file: object) -> None:
        if file.parent in folders:
            raise NotWritten(f"{file}: could not be written: No space left on device")
        write(tree, file)

    monkeypatch.setattr(output, "write", refused)


def test_a_result_that_cannot_be_written_goes_elsewhere_and_can_be_gone_on_with_there(small, tmp_path, monkeypatch):
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir(), here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    short = small(flow__until={"time": 30.0, "steps": 4})
    with monkeypatch.context() as patch:
        full(patch, here)
        with pytest.raises(
            flowsim.NotWritten, match=r"No space left on device; the whole of it is in .*/home/"
        ) as caught:
            flowsim.run(short, here / "run.nc")
    assert caught.value.elsewhere.parent == home
    assert caught.value.result.attrs["status"] == "step_limit"
    assert [*here.iterdir()] == []
    resumed = flowsim.run(small(), caught.value.elsewhere, resume=True)
    xr.testing.assert_equal(resumed.to_dataset(), flowsim.run(small()).to_dataset())


def test_where_there_is_no_room_anywhere_the_last_checkpoint_stays(small, tmp_path, monkeypatch):
    file = tmp_path / "run.nc"
    flowsim.run(small(flow__until={"time": 30.0, "steps": 4}), file)
    before = file.read_bytes()
    monkeypatch.setattr(output, "write", lambda tree, file: full_everywhere(file))
    with pytest.raises(
        flowsim.NotWritten, match=r"nor to any other folder; .* is as it was before; make room"
    ) as caught:
        flowsim.run(small(), file, resume=True)
    assert caught.value.elsewhere is None
    assert caught.value.result.attrs["status"] == "done"
    assert file.read_bytes() == before


def full_everywhere(file: object) -> None:
    raise NotWritten(f"{file}: could not be written: No space left on device")
