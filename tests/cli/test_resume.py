"""A run that was cut short and resumed is the run that was not."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from flowsim.solve.plan import SOLVERS


def assert_same_trajectory(first: str, second: str) -> None:
    with xr.open_datatree(first) as one, xr.open_datatree(second) as other:
        assert set(one.children) == set(other.children)
        for path in ("/", "/phases", "/numerics"):
            left, right = one[path].to_dataset(inherit=False), other[path].to_dataset(inherit=False)
            assert set(left.variables) == set(right.variables)
            for name in left.variables:
                np.testing.assert_array_equal(left[name], right[name], err_msg=f"{path} {name}")


RUNS = {
    "usual": [],
    "every step kept": ['observe.spacing="solver"'],
    "three snapshots of many instants": ["observe.times=50", "observe.snapshots=3"],
    "cartesian, with a bias": ['flow.coordinates="cartesian"', "model.bias=true"],
    "dopri5, unbalanced, all weights": ['flow.solver="dopri5"', "init.balanced=false", 'observe.snapshots="all"'],
    "instants spaced logarithmically": ['observe.spacing="log"', 'observe.snapshots="all"'],
}
OWN_RUNS = {
    "tsit5, unbalanced, all weights": ['flow.solver="tsit5"', "init.balanced=false", 'observe.snapshots="all"'],
    "rkc2 on diffrax": ['flow.solver="rkc2"', 'flow.engine="diffrax"', 'observe.spacing="solver"'],
    "kvaerno5": ['flow.solver="kvaerno5"', "model.width=2"],
    "sliding": ['model.activation="relu"'],
    "sliding, cartesian, every step kept": [
        'model.activation="relu"',
        "data.noise.total=1.0",
        'flow.coordinates="cartesian"',
        'observe.spacing="solver"',
    ],
}


def assert_resuming_gives_the_uninterrupted_run(flowsim, overrides: list[str]) -> None:
    options = [word for override in overrides for word in ("--set", override)]
    assert flowsim("run", "a.toml", "-o", "whole.nc", *options).code == 0
    # cut twice: once early, once late
    for steps in ("4", "21"):
        resume = ["--resume"] if steps == "21" else []
        assert flowsim("run", "a.toml", *options, "--set", f"flow.until.steps={steps}", *resume).code == 3
    assert flowsim("run", "a.toml", *options, "--resume").code == 0
    assert_same_trajectory("a.nc", "whole.nc")


DESCENTS = {
    "descent": ['flow.method="gradient_descent"', 'observe.snapshots="all"'],
    "descent with kinks, every iteration kept": [
        'flow.method="gradient_descent"',
        'model.activation="relu"',
        'observe.spacing="solver"',
    ],
    "sgd": ['flow.method="sgd"', "flow.batch=7", "observe.times=31"],
    "sgd until a loss, spaced openly": ['flow.method="sgd"', "flow.batch=7", "flow.until.loss=1e-9"],
}


@pytest.mark.parametrize("overrides", DESCENTS.values(), ids=list(DESCENTS))
def test_resuming_descent_gives_exactly_the_uninterrupted_run(flowsim, overrides):
    assert_resuming_gives_the_uninterrupted_run(flowsim, [*overrides, "flow.step=0.5"])


@pytest.mark.parametrize("overrides", RUNS.values(), ids=list(RUNS))
@pytest.mark.parametrize("engine", SOLVERS)
def test_resuming_gives_exactly_the_uninterrupted_run(flowsim, engine, overrides):
    assert_resuming_gives_the_uninterrupted_run(flowsim, [*overrides, f'flow.engine="{engine}"'])


@pytest.mark.parametrize("kind", OWN_RUNS)
def test_resuming_what_one_engine_has_gives_exactly_the_uninterrupted_run(flowsim, kind):
    assert_resuming_gives_the_uninterrupted_run(flowsim, OWN_RUNS[kind])
    if "sliding" in kind:
        with xr.open_dataset("whole.nc") as run:
            assert (run["sliding_pairs"] > 0).any()


def test_resuming_with_an_open_end_gives_exactly_the_uninterrupted_run(flowsim):
    until = "flow.until={ loss = 0.3 }"
    assert flowsim("run", "a.toml", "-o", "whole.nc", "--set", until).code == 0
    assert flowsim("run", "a.toml", "--set", "flow.until={ loss = 0.3, steps = 12 }").code == 3
    assert flowsim("run", "a.toml", "--set", until, "--resume").code == 0
    assert_same_trajectory("a.nc", "whole.nc")


@pytest.mark.parametrize("engine", SOLVERS)
def test_resuming_before_and_after_the_loss_clock_takes_over_gives_exactly_the_uninterrupted_run(flowsim, engine):
    options = [f'flow.engine="{engine}"', 'loss.kind="exponential"', "flow.until={ loss = 1e-30 }"]
    options = [word for option in options for word in ("--set", option)]
    assert flowsim("run", "a.toml", "-o", "whole.nc", *options).code == 0
    for steps, resume in ((20, []), (100, ["--resume"])):
        assert flowsim("run", "a.toml", *options, "--set", f"flow.until.steps={steps}", *resume).code == 3
        with xr.open_dataset("a.nc") as run:
            assert ("loss_clock_from" in run.attrs) == bool(resume)
    assert flowsim("run", "a.toml", *options, "--resume").code == 0
    assert_same_trajectory("a.nc", "whole.nc")


def test_resuming_a_flow_on_its_way_to_rest_gives_exactly_the_uninterrupted_run(flowsim):
    options = ["--set", "flow.until={ loss = 1e-40 }", "--set", "data.noise.total=0.5"]
    assert flowsim("run", "a.toml", "-o", "whole.nc", *options).code == 3
    with xr.open_datatree("whole.nc") as whole:
        assert whole.attrs["status"] == "at_rest"
        steps = int(whole["numerics/steps"][-1])
    assert flowsim("run", "a.toml", *options, "--set", f"flow.until.steps={steps // 2}").code == 3
    assert flowsim("run", "a.toml", *options, "--resume").code == 3
    assert_same_trajectory("a.nc", "whole.nc")


def test_wall_time_adds_up_over_resumed_runs(flowsim):
    assert flowsim("run", "a.toml", "--set", "flow.until.steps=4").code == 3
    with xr.open_dataset("a.nc") as run:
        before = run.attrs["wall_time"]
    assert flowsim("run", "a.toml", "--resume").code == 0
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["wall_time"] > before > 0


def test_a_complete_run_has_nothing_to_resume(flowsim, files):
    assert flowsim("run", "a.toml").code == 0
    before = files()
    answer = flowsim("run", "a.toml", "--resume")
    assert answer.code == 2
    assert "nothing to resume" in answer.err
    assert files() == before


@pytest.mark.parametrize("override", ["seed=1", "flow.until.time=40.0", "model.width=7", "flow.rtol=1e-5"])
def test_another_scenario_is_not_resumed(flowsim, files, override):
    assert flowsim("run", "a.toml", "--set", "flow.until.steps=4").code == 3
    before = files()
    answer = flowsim("run", "a.toml", "--set", override, "--resume")
    assert answer.code == 2
    assert "was made by another scenario" in answer.err
    assert f": {override.partition('=')[0]} is " in answer.err
    assert files() == before


@pytest.mark.parametrize("features", [2, 3], ids=["of the same shape", "of another shape"])
def test_a_run_on_a_table_that_has_changed_since_is_not_resumed(flowsim, folder, files, features):
    np.savez(folder / "t.npz", x=np.eye(4, 2), y=np.ones(4))
    on_table = ["run", "a.toml", "--set", 'data={kind="table", path="t.npz"}']
    assert flowsim(*on_table, "--set", "flow.until.steps=4").code == 3
    np.savez(folder / "t.npz", x=2 * np.eye(4, features), y=np.ones(4))
    before = files()
    answer = flowsim(*on_table, "--resume")
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert files() == before


def test_without_a_file_there_is_nothing_to_resume(flowsim, files):
    before = files()
    answer = flowsim("run", "a.toml", "--resume")
    assert (answer.code, answer.err) == (2, "a.nc: no such file\n")
    assert files() == before


PRESS_CONTROL_C = """
import os, signal, sys, threading, time

usual = signal.getsignal(signal.SIGINT)

def press_once_the_run_listens():
    while signal.getsignal(signal.SIGINT) is usual:
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press_once_the_run_listens, daemon=True).start()
from flowsim.cli import main
sys.exit(main(["run", "a.toml", "--set", "flow.until.time=1e5"]))
"""


def test_control_c_leaves_a_file_that_can_be_resumed(flowsim):
    child = subprocess.run([sys.executable, "-c", PRESS_CONTROL_C], capture_output=True, text=True, check=False)
    assert child.returncode == 130, child.stderr
    assert "Traceback" not in child.stderr
    assert "--resume" in child.stderr
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["status"] == "interrupted"
        assert run["time"][-1] < 1e5
    longer = ("--set", "flow.until.time=1e5")  # so that it is still running when the key is pressed
    assert flowsim("run", "a.toml", *longer, "--resume").code == 0
    assert flowsim("run", "a.toml", *longer, "-o", "whole.nc").code == 0
    assert_same_trajectory("a.nc", "whole.nc")
