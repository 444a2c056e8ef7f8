"""A run by two processes with two devices each is the run of one, and ends with any of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import flowsim

FLAGS = "--xla_force_host_platform_device_count=2"
PATIENCE = 240
#: What takes far longer than any test waits.
ENDLESS = ("--set", "flow.until.time=1e9", "--set", "flow.rtol=1e-12", "--checkpoint-every", "0.5")

pytestmark = pytest.mark.papers


@pytest.fixture
def started(folder: Path) -> Iterator[Callable[..., list[subprocess.Popen[str]]]]:
    """Start two processes of `flowsim run a.toml`, each with more arguments."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    running: list[subprocess.Popen[str]] = []

    def start(*more: str, place: int | None = None) -> list[subprocess.Popen[str]]:
        program = [sys.executable, "-m", "flowsim", "run", "a.toml", "--distributed", "-o", "a.nc"]
        named = {"JAX_COORDINATOR_ADDRESS": address, "FLOWSIM_PROCESSES": "2", "XLA_FLAGS": FLAGS}
        for which in range(2):
            environment = {**os.environ, **named, "FLOWSIM_PROCESS": str(which)}
            own = more if place in (None, which) else more[:-2]
            running.append(
                subprocess.Popen([*program, *own], env=environment, text=True, stdout=-1, stderr=subprocess.STDOUT)
            )
        return running

    yield start
    for process in running:
        with process:
            process.kill()


#: The first steps of a pair of order 8 have errors of the size of rounding, by which it chooses the next.
SOLVER = "dopri5"
SHARED = ("--set", 'flow.engine="diffrax"', "--set", 'flow.devices="all"', "--set", f'flow.solver="{SOLVER}"')


def ends(processes: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    told = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    return [process.returncode for process in processes], told


def test_two_processes_give_the_run_of_one(started, folder):
    codes, told = ends(started(*SHARED))
    assert codes == [0, 0], told
    assert "done" in told[0]
    assert "a.nc" not in told[1], "the first process alone speaks"
    one = flowsim.run(flowsim.load(folder / "a.toml").replace({"flow.engine": "diffrax", "flow.solver": SOLVER}))
    both = flowsim.open(folder / "a.nc")
    assert sorted(file.name for file in folder.iterdir()) == ["a.nc", "a.toml"]
    assert both.attrs["devices"] == 4
    rounding = 1e-9  # in sums over samples, which the flow amplifies
    for name in ("log_norm", "cosine", "loss", "margin"):
        np.testing.assert_allclose(both[name], one[name], rtol=rounding, atol=rounding)


def test_what_one_process_cannot_begin_none_does(started, folder):
    (folder / "a.nc").write_text("mine")
    codes, told = ends(started(*SHARED))
    assert codes == [2, 2], told
    assert "exists already" in told[0]
    assert "another process of this run could not begin" in told[1]
    assert (folder / "a.nc").read_text() == "mine"


def test_processes_of_different_problems_do_not_run_together(started):
    codes, told = ends(started(*SHARED, "--set", "seed=1", place=0))
    assert codes == [2, 2], told
    assert all("the processes have not the same problem" in text for text in told)


def under_way(folder: Path) -> None:
    """Wait until a checkpoint is there."""
    until = time.monotonic() + PATIENCE
    while not (folder / "a.nc").exists():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_signal_to_one_process_interrupts_all(started, folder):
    processes = started(*SHARED, *ENDLESS)
    under_way(folder)
    processes[1].send_signal(signal.SIGINT)
    codes, told = ends(processes)
    assert codes == [130, 130], told
    assert flowsim.open(folder / "a.nc").attrs["status"] == "interrupted"


def test_no_process_goes_on_without_another(started, folder):
    processes = started(*SHARED, *ENDLESS)
    under_way(folder)
    processes[1].kill()
    told = processes[0].communicate(timeout=PATIENCE)[0]
    # it ends by itself where a sum over the processes fails; where that waits on, JAX notices first, and aborts it
    assert processes[0].returncode in (3, -signal.SIGABRT), told
    assert processes[0].returncode != 3 or "another process of this run has ended" in told
    assert flowsim.open(folder / "a.nc").attrs["status"] == "running", "the last checkpoint is left"
