"""Sweeps in processes of their own, and what a kill without warning does to them: nothing that --resume cannot mend."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import xarray as xr
from support.sweeps import BASE

import flowsim
from flowsim.sweep import sweep

psutil = pytest.importorskip("psutil")

#: Enough points, each of which takes long enough, for a kill to come in the midst of them.
MANY = '[sweep]\ntrajectories = ["loss"]\n[sweep.grid]\nseed = { from = 0, to = 23, count = 24 }\n'
SLOWER = BASE.replace("samples = 24", "samples = 240").replace("width = 6", "width = 20").replace("30.0", "300.0")
POINTS = 24
#: Of any one thing that is waited for.
PATIENCE = 120.0
OWN = ("seconds", "cpu_seconds")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, client) -> xr.Dataset:
    """The dataset of the same sweep, with nothing in its way."""
    from contextlib import nullcontext

    from flowsim.sweep import run

    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "cluster", lambda workers, scheduler: nullcontext((client, "")))
        assert sweep(flowsim.loads(SLOWER + MANY), folder).exit_code == 0
    return flowsim.open_sweep(folder).load()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SLOWER + MANY)
    return tmp_path


@pytest.fixture
def spawn(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python with these words; whatever it has started is ended with the test."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        with (folder / f"err{len(begun)}").open("w") as said:
            command = [sys.executable, *words]
            begun.append(subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=said, text=True))
        return begun[-1]

    yield start
    for process in begun:
        try:
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            family = []
        for member in family:
            member.kill()
        process.wait()


def sweeping(*more: str) -> list[str]:
    return ["-m", "flowsim", "sweep", "s.toml", "-o", "out", *more]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def told(folder: Path) -> list[dict]:
    file = folder / "out" / "manifest.jsonl"
    whole = [line for line in file.read_text().splitlines(True) if line.endswith("\n")] if file.exists() else []
    return [json.loads(line) for line in whole]


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that fly; beside them Python has one that watches over resources."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


def assert_as_undisturbed(folder: Path, undisturbed: xr.Dataset) -> None:
    """The same dataset to the last bit, of points that each were done once."""
    assert set(Counter(line["sha256"] for line in told(folder) if line["exit_code"] == 0).values()) == {1}
    with flowsim.open_sweep(folder / "out") as found:
        assert set(found.variables) == set(undisturbed.variables)
        for name in set(found.variables) - set(OWN):
            np.testing.assert_array_equal(found[name], undisturbed[name], err_msg=str(name))


@pytest.mark.papers
def test_a_killed_command_is_resumed_and_a_killed_worker_has_its_points_run_by_others(folder, spawn, undisturbed):
    process = spawn(*sweeping("--workers", "1"))
    until(lambda: told(folder))
    process.kill()
    process.wait()
    before = told(folder)
    assert 0 < len(before) < POINTS
    process = spawn(*sweeping("--workers", "2", "--resume"))
    until(lambda: len(told(folder)) > len(before))
    os.kill(workers_of(process)[0], signal.SIGKILL)
    assert len(told(folder)) < POINTS
    assert process.wait(PATIENCE) == 0
    assert told(folder)[: len(before)] == before
    assert len(told(folder)) == POINTS
    assert_as_undisturbed(folder, undisturbed)


def test_a_scheduler_elsewhere_works_and_it_or_the_command_may_be_stopped(folder, spawn, within, undisturbed):
    address, scheduler = begin_cluster(folder, spawn)
    interrupted = spawn(*sweeping("--scheduler", address))
    until(lambda: told(folder))
    interrupted.send_signal(signal.SIGINT)
    assert interrupted.wait(PATIENCE) == 130
    said = (folder / "err2").read_text()
    assert "Traceback" not in said
    assert "--resume runs what is missing" in said
    first = told(folder)
    process = spawn(*sweeping("--scheduler", address, "--resume"))
    until(lambda: len(told(folder)) > len(first))
    scheduler.kill()
    assert process.wait(PATIENCE) == 4
    assert "the scheduler was lost; --resume runs what is missing" in (folder / "err3").read_text()
    second = told(folder)
    assert 0 < len(first) < len(second) < POINTS
    assert sweep(flowsim.load(folder / "s.toml"), folder / "out", resume=True).exit_code == 0
    assert told(folder)[: len(second)] == second
    assert_as_undisturbed(folder, undisturbed)


def begin_cluster(folder: Path, spawn: Callable[..., subprocess.Popen[str]]) -> tuple[str, subprocess.Popen[str]]:
    """The address of a scheduler with one worker, each a process of its own, and the scheduler."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = spawn("-m", "distributed.cli.dask_scheduler", *words)
    until(lambda: file.exists() and file.read_text().endswith("}"))
    address = json.loads(file.read_text())["address"]
    spawn("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "20")
    return address, scheduler


def test_no_scheduler_is_answered(folder, spawn, monkeypatch):
    monkeypatch.setattr("flowsim.sweep.execute.PATIENCE", 0.5)
    with pytest.raises(flowsim.UsageError, match="no Dask scheduler answers there"):
        sweep(flowsim.loads(SLOWER + MANY), folder / "out", scheduler="tcp://127.0.0.1:9")


def troubled(batch):
    """As usual, but the point of seed 3 kills its worker, and a worker gets no more than another GiB."""
    import resource

    from flowsim.sweep.worker import fly

    if any(flight.values["seed"] == 3 for flight in batch.flights):
        os.kill(os.getpid(), signal.SIGKILL)
    has = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (has + 2**30, resource.RLIM_INFINITY))
    return fly(batch)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are kept on Linux alone")
def test_points_that_no_worker_survives_or_has_the_memory_for_are_recorded_and_the_others_finish(tmp_path, monkeypatch):
    import cloudpickle

    monkeypatch.setattr("flowsim.sweep.execute.fly", troubled)
    monkeypatch.setattr("flowsim.sweep.execute.DEATHS", 0)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    table = '[sweep.zip]\nseed = [1, 2, 3, 4]\n"data.samples" = [24, 30_000_000, 24, 24]\n'  # 2.7 GiB
    try:
        result = sweep(flowsim.loads(BASE + table), tmp_path / "out", workers=1)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert (result.exit_code, result.done) == (4, 2)
    told = {point.partition(",")[0]: status for point, (status, _) in result.failed.items()}
    assert told == {"seed = 2": "refused", "seed = 3": "killed"}
    assert flowsim.open_sweep(result.folder)["status"].values.tolist() == ["done", "refused", "killed", "done"]


def test_a_script_that_its_workers_cannot_import_is_told_what_to_do(folder: Path) -> None:
    script = folder / "script.py"
    script.write_text(
        "import flowsim\nfrom flowsim.sweep import sweep\n\nsweep(flowsim.load('s.toml'), 'out', workers=1)\n"
    )
    ended = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 1
    assert "UsageError: the workers could not be started" in ended.stderr
    assert "if __name__ == '__main__'" in ended.stderr.splitlines()[-1]


def test_a_worker_that_is_killed_as_it_starts_is_started_again():
    from flowsim.sweep.execute import cluster

    killed = []

    def kill_the_first() -> None:
        end = time.monotonic() + PATIENCE
        while not killed and time.monotonic() < end:
            killed.extend(child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline()))
        killed[0].kill()

    killer = Thread(target=kill_the_first, daemon=True)
    killer.start()
    with cluster(1, None) as (client, _):
        killer.join()
        assert client.submit(os.getpid).result(timeout=PATIENCE) != killed[0].pid
