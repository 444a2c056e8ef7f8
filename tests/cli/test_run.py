"""flowsim run"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xarray as xr


def test_a_run_writes_its_file_and_a_page_to_standard_error(flowsim, files):
    answer = flowsim("run", "a.toml")
    assert answer.code == 0
    assert answer.out == ""
    assert "a small run\nstatus       done: reached time 30\n" in answer.err
    assert set(files()) == {"a.toml", "a.nc"}
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["status"] == "done"
        assert run.sizes["time"] == 11


def test_json_goes_to_standard_output_and_nothing_else_does(flowsim):
    answer = flowsim("run", "a.toml", "-o", "other.nc", "--json")
    facts = json.loads(answer.out, parse_constant=pytest.fail)
    assert (facts["output"], facts["status"], facts["exit_code"], facts["time"]) == ("other.nc", "done", 0, 30)
    assert {"phases", "final", "steps", "wall_time", "title"} <= set(facts)
    assert "status" not in answer.err


def test_overrides_are_part_of_what_was_run(flowsim):
    assert flowsim("run", "a.toml", "--set", "seed=7", "--set", "title=another").code == 0
    with xr.open_dataset("a.nc") as run:
        assert (run.attrs["seed"], run.attrs["title"]) == (7, "another")
        assert "seed = 7" in run.attrs["scenario"]


def test_another_kind_drops_the_keys_of_the_old_one(flowsim):
    assert flowsim("run", "a.toml", "--set", "model.degree=2", "--set", "model.activation=prelu").code == 0
    options = ["--set", "model.activation=relu", "--unset", "observe.times", "--unset", "flow.until", "--overwrite"]
    assert flowsim("run", "a.toml", *options, "--set", "flow.until.time=2.0").code == 0
    with xr.open_dataset("a.nc") as run:
        assert "degree" not in run.attrs["scenario"]
        assert run.sizes["time"] == 200


def test_a_key_that_cannot_be_unset_is_placed_at_the_command_line(flowsim, folder):
    answer = flowsim("check", "a.toml", "--unset", "model.widht")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith('--unset: model.widht: unknown key; did you mean "width"?')
    (folder / "b.toml").write_text('[data]\ncenters = "equicorrelated"\ncosine = 0.1\n')
    answer = flowsim("check", "b.toml", "--unset", "data.cosine")
    assert answer.err.startswith("--unset: data.cosine: required with")


def test_an_existing_file_is_left_as_it_is_unless_asked_otherwise(flowsim, files):
    with open("a.nc", "wb") as file:
        file.write(b"years of work")
    before = files()
    answer = flowsim("run", "a.toml")
    assert answer.code == 2
    assert answer.err == "a.nc: exists already; use --overwrite to replace it, or -o to write elsewhere\n"
    assert files() == before
    assert flowsim("run", "a.toml", "--overwrite").code == 0
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["status"] == "done"


@pytest.mark.parametrize("output", ["missing/run.nc", "a.toml/run.nc", ".", "x" * 300 + ".nc"])
def test_where_no_file_can_be_nothing_is_run(flowsim, files, monkeypatch, output):
    # not even the data are drawn
    monkeypatch.setattr("flowsim.run.prepare.build", lambda *_: pytest.fail("the run was started"))
    before = files()
    answer = flowsim("run", "a.toml", "-o", output)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert files() == before


BAD = {
    "a misspelt key": ("[data]\nsampels = 3\n", [r'b\.toml:2: data\.sampels: unknown key; did you mean "samples"\?.*']),
    "many problems": (
        "sed = 1\n[init]\nscale = -1\n[data]\nsamples = 2\n",
        [r"b\.toml:1: sed: .*", r"b\.toml:3: init\.scale: .*", r"b\.toml:5: data\.samples: .*"],
    ),
    "no TOML": ("[data\n", [r"b\.toml:1: not valid TOML: .*"]),
    "a missing table": ('[data]\nkind = "table"\npath = "t.csv"\n', [r"b\.toml:3: data\.path: no such file: .*"]),
    "an unknown variable": ('[observe]\nvariables = ["los"]\n', [r'b\.toml:2: observe\.variables\[0\]: .*"loss"\?.*']),
    "a nudge with no centres": (
        '[data]\nkind = "table"\npath = "given.csv"\n[init]\nshape = "nudged"\n',
        [r"b\.toml:5: init\.shape: .*"],
    ),
    "a solver for small problems": (
        '[flow]\nsolver = "kvaerno5"\n[model]\nwidth = 500\n',
        [r"b\.toml:2: flow\.solver: kvaerno5 .*"],
    ),
    "an alignment that no neuron can reach": (
        '[data]\npositive = 0\n[init]\nsigns = "half"\n[model]\nwidth = 1\n[flow]\nuntil = { alignment = 0.9 }\n',
        [r"b\.toml:8: flow\.until\.alignment: .*"],
    ),
    "more samples than fit": ("[data]\nsamples = 4000000000000000\n", [r"b\.toml:2: data\.samples: needs .* GiB.*"]),
    "more samples than can be counted": (
        "[data]\nsamples = 40000000000000000000\n",
        [r"b\.toml:2: data\.samples: an integer of 66 bits is not allowed; .*"],
    ),
    "more neurons than fit": ("[model]\nwidth = 4000000000000\n", [r"b\.toml:2: model\.width: needs .* GiB.*"]),
    "too much to keep": (
        "[observe]\ntimes = 1000000000\n",
        [r"b\.toml:2: observe\.times: this run would keep .* GiB.*"],
    ),
}


@pytest.mark.parametrize(("text", "lines"), BAD.values(), ids=list(BAD))
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_bad_scenario_is_answered_with_one_line_per_problem_and_nothing_is_written(
    flowsim, folder, files, command, text, lines
):
    (folder / "b.toml").write_text(text)
    (folder / "given.csv").write_text("a,y\n1,1\n2,-1\n")
    before = files()
    answer = flowsim(command, "b.toml")
    assert (answer.code, answer.out) == (2, "")
    found = answer.err.splitlines()
    assert len(found) == len(lines), answer.err
    for line, pattern in zip(found, lines, strict=True):
        assert re.fullmatch(pattern, line), line
    assert files() == before


def test_a_scenario_that_is_not_there_is_named(flowsim):
    assert flowsim("run", "missing.toml").err == "missing.toml: no such file\n"
    assert flowsim("run", "missing.toml").code == 2


def test_a_bad_override_is_placed_at_the_command_line(flowsim, files):
    before = files()
    for assignment in ("data.sampels=3", "data.samples=many", "data.samples", "seed.x=1"):
        answer = flowsim("run", "a.toml", "--set", assignment)
        assert answer.code == 2
        assert answer.err.startswith("--set: ")
        assert len(answer.err.splitlines()) == 1
    assert files() == before


def test_a_budget_that_does_not_suffice_exits_3_and_keeps_what_was_reached(flowsim):
    answer = flowsim("run", "a.toml", "--set", "flow.until.steps=5", "--json")
    assert answer.code == 3
    facts = json.loads(answer.out)
    assert (facts["exit_code"], facts["status"], facts["steps"]) == (3, "step_limit", 5)
    with xr.open_dataset("a.nc") as run:
        assert run.attrs["status"] == "step_limit"
        assert run.attrs["status_remedy"].startswith("raise flow.until.steps")
        assert 0 < run["time"][-1] < 30
        assert run["time"][-1] == facts["time"]
        assert np.isfinite(run["log_norm"]).all()


@pytest.mark.parametrize("seed", [2**32, 2**63, 2**64, 2**100])
def test_any_seed_that_is_accepted_ends_in_a_file(flowsim, files, seed):
    answer = flowsim("run", "a.toml", "--set", f"seed={seed}", "--set", "flow.until.time=1.0")
    assert answer.code == (0 if "a.nc" in files() else 2)


@pytest.mark.parametrize(("engine", "wary"), [("auto", False), ("numba", False), ("diffrax", True)])
def test_a_kink_is_warned_of_and_remembered_where_it_is_not_followed(flowsim, engine, wary):
    options = ['model.activation="relu"', f'flow.engine="{engine}"', "flow.until.time=1.0"]
    answer = flowsim("run", "a.toml", *(word for option in options for word in ("--set", option)))
    assert ("relu has a kink" in answer.err) == wary
    with xr.open_dataset("a.nc") as run:
        assert ("relu has a kink" in run.attrs["warnings"]) == wary
        assert ("sliding_pairs" in run) != wary
