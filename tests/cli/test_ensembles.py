"""Ensembles on the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import flowsim as package
from flowsim.results.gathered import NOT_RUN, Outcome
from flowsim.run.progress import ProgressBar, Standing

SEEDS = ["--set", "seed=[0, 1, 2]"]


def test_a_seed_list_runs_an_ensemble_into_one_file(flowsim, files):
    answer = flowsim("run", "a.toml", *SEEDS)
    assert (answer.code, answer.out) == (0, "")
    assert set(files()) == {"a.toml", "a.nc"}
    with xr.open_dataset("a.nc") as run:
        assert run["seed"].values.tolist() == [0, 1, 2]
        assert run["loss"].dims == ("seed", "time")
    assert "status       done: all 3 members are done\n" in answer.err
    assert flowsim("show", "a.nc").out.strip() in answer.err


def test_the_page_has_quartiles_over_the_members_and_how_many_reached_each_phase(flowsim):
    page = flowsim("run", "a.toml", *SEEDS).err
    with xr.open_datatree("a.nc") as tree:
        instants, loss = tree["phases/instant"].load(), tree["final/loss"].values
    for phase, instant in zip(instants["phase"].values, instants.values, strict=True):
        (line,) = (line for line in page.splitlines() if line[2:].startswith(f"{phase} "))
        assert f"{(~np.isnan(instant)).sum()} of 3" in line
    lower, median, upper = (f"{value:.6g}" for value in np.quantile(loss, [0.25, 0.5, 0.75]))
    (line,) = (line for line in page.splitlines() if line.startswith("  loss "))
    assert line.split()[1:] == [median, f"[{lower},", f"{upper}]"]


def test_json_has_the_same(flowsim):
    facts = json.loads(flowsim("run", "a.toml", *SEEDS, "--json").out, parse_constant=pytest.fail)
    assert (facts["members"], facts["done"], facts["status"], facts["exit_code"]) == (3, 3, "done", 0)
    with xr.open_datatree("a.nc") as tree:
        assert facts["final"]["loss"]["median"] == np.median(tree["final/loss"])
        assert facts["steps"]["upper_quartile"] == np.quantile(tree["final/steps"], 0.75)
        for phase, spread in facts["phases"].items():
            instants = tree["phases/instant"].sel(phase=phase).values
            assert spread["reached"] == (~np.isnan(instants)).sum()
            if spread["reached"]:
                assert spread["lower_quartile"] == np.nanquantile(instants, 0.25)
            else:
                assert spread["median"] is None
    assert json.loads(flowsim("show", "a.nc", "--json").out) == {k: v for k, v in facts.items() if k != "output"}


def test_where_no_member_has_run_there_is_a_page_all_the_same(flowsim, monkeypatch):
    monkeypatch.setattr("flowsim.run.members.Members._run_one", lambda *_: Outcome(NOT_RUN))
    answer = flowsim("run", "a.toml", *SEEDS, "--json")
    assert answer.code == 3
    facts = json.loads(answer.out, parse_constant=pytest.fail)
    assert (facts["done"], facts["final"]["loss"]["median"]) == (0, None)
    assert "3 of 3 members: not_run (seeds 0, 1, 2)" in flowsim("show", "a.nc").out


def test_check_says_that_it_is_an_ensemble_and_counts_all_members(flowsim):
    answer = flowsim("check", "a.toml", *SEEDS)
    assert answer.code == 0
    assert "ensemble     3 members; sizes are those of seed 0, others may differ" in answer.out
    facts, alone = (json.loads(flowsim("check", "a.toml", *seeds, "--json").out) for seeds in (SEEDS, []))
    assert (facts["members"], alone["members"]) == (3, None)
    assert facts["kept_bytes"] > 3 * alone["kept_bytes"]
    assert facts["data_bytes"] == alone["data_bytes"]


@pytest.mark.parametrize(
    ("seeds", "place"),
    [
        ("[]", "b.toml:1: seed: "),
        ("[1,\n-1]", "b.toml:2: seed[1]: "),
        ("[1,\n2,\n1]", "b.toml:3: seed[2]: 1 is named twice"),
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_bad_seeds_are_answered_with_their_line(flowsim, folder, files, command, seeds, place):
    (folder / "b.toml").write_text(f"seed = {seeds}\n")
    before = files()
    answer = flowsim(command, "b.toml")
    assert answer.code == 2
    assert answer.err.startswith(place)
    assert len(answer.err.splitlines()) == 1
    assert files() == before


PRESS_CONTROL_C_ONCE_A_MEMBER_IS_DONE = """
import os, signal, sys
from flowsim.run.progress import ProgressBar
from flowsim.cli import main

pressed = []

def show(bar, standing):
    if standing.ended and not pressed:
        pressed.append(True)
        os.kill(os.getpid(), signal.SIGINT)

ProgressBar.listener = show
sys.exit(main(["run", "a.toml", "--set", "seed=[0, 1, 2, 3]", "--set", "flow.until.time=1e5"]))
"""


def test_control_c_leaves_the_members_that_are_done_and_resume_runs_the_others(flowsim):
    code = PRESS_CONTROL_C_ONCE_A_MEMBER_IS_DONE
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode == 130, child.stderr
    assert "Traceback" not in child.stderr
    assert "--resume" in child.stderr
    with xr.open_datatree("a.nc") as tree:
        assert tree.attrs["status"] == "interrupted"
        assert 1 <= (tree["numerics/exit_code"] == 0).sum() < 4
    options = ["--set", "seed=[0, 1, 2, 3]", "--set", "flow.until.time=1e5"]
    assert flowsim("run", "a.toml", *options, "--resume").code == 0
    assert flowsim("run", "a.toml", *options, "-o", "whole.nc").code == 0
    with xr.open_datatree("a.nc") as one, xr.open_datatree("whole.nc") as other:
        for node in one.subtree:
            xr.testing.assert_equal(node.to_dataset(), other[node.path].to_dataset())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "told"), [(Terminal(), True), (io.StringIO(), False)], ids=["terminal", "pipe"])
def test_the_bar_counts_members(monkeypatch, stream, told):
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(package.loads("seed = [0, 1, 2, 3]")) as bar:
        bar.show(Standing(4, 1, 2))
    assert ("25%" in stream.getvalue() and "1 of 4 members, 2 running" in stream.getvalue()) == told
