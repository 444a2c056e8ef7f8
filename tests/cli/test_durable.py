"""Commands whose output cannot be written, whose reader goes away, or that somebody else's run is in the way of."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import flowsim.evaluate.kkt.follow  # noqa: F401  its module, beside the function of that name
from flowsim import durable
from flowsim.evaluate import requested

FULL = Path("/dev/full")
EVALUATE = ("--set", 'evaluate={claims=["min_vidal_2025.assumption_2"], distance={to="ideal"}}')
#: Of any one thing that is waited for.
PATIENCE = 120.0
#: flowsim, ended by the end of its terminal also where the tests run under nohup.
HANGS_UP = (
    "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); from flowsim.cli import main; sys.exit(main())"
)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell in which `flowsim` is this one."""
    words = f'flowsim() {{ "{sys.executable}" -m flowsim "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.skipif(not FULL.exists(), reason="the system has no device that is always full")
def test_a_page_without_room_is_a_message_and_a_closed_pipe_is_silence(folder):
    found = shell("flowsim list --kinds > /dev/full; echo $?; flowsim list --kinds | true; echo ${PIPESTATUS[0]}")
    assert found.stdout.split() == ["5", "0"]
    assert found.stderr == "standard output: No space left on device\n"


def test_a_second_run_with_the_same_output_is_refused(flowsim, folder, files):
    with durable.held(folder / "a.nc"):
        for words in (["run", "a.toml"], ["run", "a.toml", "--overwrite"], ["run", "a.toml", "--resume"]):
            answer = flowsim(*words)
            assert answer.code == 2
            assert f"process {os.getpid()} on" in answer.err
    assert set(files()) == {"a.toml"}


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_seconds_between_checkpoints_are_a_number(flowsim, seconds):
    answer = flowsim("run", "a.toml", "--checkpoint-every", seconds)
    assert answer.code == 2
    assert f'"{seconds}" is not a number of seconds, 0 or more' in answer.err


# --- the evaluation


def assert_same(one: str, other: str) -> None:
    with xr.open_datatree(one) as left, xr.open_datatree(other) as right:
        assert set(left.groups) == set(right.groups)
        for path in left.groups:
            xr.testing.assert_equal(left[path].to_dataset(), right[path].to_dataset())
            own = {"created_at", "wall_time", "compile_time"}
            for name in (left[path].attrs.keys() | right[path].attrs.keys()) - own:
                np.testing.assert_array_equal(left[path].attrs[name], right[path].attrs[name])


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_an_evaluation_that_was_cut_short_goes_on(flowsim, monkeypatch, how):
    def end(*_: object) -> xr.Dataset:
        if how == "killed":
            raise Killed
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("goes on")

    assert flowsim("run", "a.toml", *EVALUATE, "-o", "whole.nc").code == 0
    with monkeypatch.context() as patch:
        patch.setitem(requested.EVALUATIONS, "distance", end)
        if how == "killed":
            with pytest.raises(Killed):
                flowsim("run", "a.toml", *EVALUATE)
        else:
            answer = flowsim("run", "a.toml", *EVALUATE)
            assert answer.code == 130
            assert "interrupted in the evaluation (distance); the flow reached time 30" in answer.err
    with xr.open_datatree("a.nc") as left:
        assert left.attrs["status"] == {"killed": "evaluating", "interrupted": "interrupted"}[how]
        assert ("claims" in left, "distance" in left) == (True, False)
    flown: list[int] = []
    monkeypatch.setitem(requested.EVALUATIONS, "claims", lambda *_: flown.append(1))
    assert flowsim("show", "a.nc").code == 0
    assert flowsim("run", "a.toml", *EVALUATE, "--resume").code == 0
    assert_same("a.nc", "whole.nc")
    assert not flown
    assert "nothing to resume" in flowsim("run", "a.toml", *EVALUATE, "--resume").err


LIMIT = (
    *("--set", 'loss.kind="exponential"', "--set", "evaluate={limit=true}", "--set", "init.scale=0.1"),
    *("--set", "flow.until={log10_loss=-20, steps=20000}"),
)


def test_control_c_in_the_search_for_a_limit_is_heard_at_once_and_resume_begins_it_again(flowsim, monkeypatch):
    following = sys.modules["flowsim.evaluate.kkt.follow"]
    step, taken = following.step, []

    def pressed(*words: object) -> object:
        taken.append(1)
        if len(taken) == 3:
            signal.raise_signal(signal.SIGINT)
            pytest.fail("goes on")
        return step(*words)

    assert flowsim("run", "a.toml", *LIMIT, "-o", "whole.nc").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(following, "step", pressed)
        answer = flowsim("run", "a.toml", *LIMIT)
    assert answer.code == 130
    assert "interrupted in the evaluation (limit)" in answer.err
    assert len(taken) == 3
    with xr.open_datatree("a.nc") as left:
        assert left.attrs["status"] == "interrupted"
        assert "limit" not in left
    assert flowsim("run", "a.toml", *LIMIT, "--resume").code == 0
    with xr.open_datatree("a.nc") as found:
        assert found["limit"].attrs["found"] == 1
    assert_same("a.nc", "whole.nc")


# --- a terminal that goes away


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """(ours, theirs): two ends of one."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


@pytest.mark.skipif(sys.platform != "linux", reason="terminals are Linux's")
def test_a_run_whose_terminal_goes_away_leaves_a_file_that_can_be_resumed(flowsim, folder, terminal):
    ours, theirs = terminal
    longer = ("--set", "flow.until.time=3e3", "--set", 'observe.spacing="solver"')  # a checkpoint at every step
    words = ["run", "a.toml", *longer, "--checkpoint-every", "0"]
    child = subprocess.Popen(
        [sys.executable, "-c", HANGS_UP, *words], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    until((folder / "a.nc").exists)
    os.close(ours)
    child.send_signal(signal.SIGHUP)
    assert child.wait(PATIENCE) == 130
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["status"] == "interrupted"
    assert {file.name for file in folder.iterdir()} == {"a.toml", "a.nc"}
    assert flowsim("run", "a.toml", *longer, "--resume").code == 0


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
