"""The commands that run nothing, and the command line itself."""

from __future__ import annotations

import json

import pytest

import flowsim as package
from flowsim import machine
from flowsim.run import warming
from flowsim.scenario.schema import schema
from flowsim.scenario.shipped import shipped
from flowsim.solve.numba.kernel import Kernel


def test_version(flowsim):
    answer = flowsim("--version")
    assert (answer.code, answer.out) == (0, f"flowsim {package.__version__}\n")


def test_help_names_every_command(flowsim):
    answer = flowsim("--help")
    assert answer.code == 0
    for command in ("run", "check", "list", "new", "show", "report", "compare", "transfer", "warm", "schema"):
        assert f"\n    {command} " in answer.out
    assert flowsim() == answer


@pytest.mark.parametrize(
    "words",
    [
        ["rum", "a.toml"],
        ["run"],
        ["run", "a.toml", "b.toml"],
        ["run", "a.toml", "--overwite"],
        ["run", "a.toml", "--over"],
        ["run", "a.toml", "--set"],
        ["check"],
        ["show"],
        ["report"],
        ["report", "a.nc", "--seed", "x"],
        ["new"],
        ["list", "quickstart"],
        ["schema", "--json"],
        ["--json"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_and_says_how_it_is_used(flowsim, files, words):
    before = files()
    answer = flowsim(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("usage: flowsim")
    assert files() == before


def test_check_says_what_would_run_and_writes_nothing(flowsim, files):
    before = files()
    answer = flowsim("check", "a.toml", "--set", "data.dimension=60", "--set", "data.noise.total=0.0")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("a.toml: valid\n")
    assert "24 samples, 60 features, 4 clusters, 6 neurons" in answer.out
    assert "4 x 5: 20 equal samples merged; neurons moved into the span of the data" in answer.out
    assert "solver " in answer.out
    assert files() == before


def test_check_is_readable_by_machines(flowsim):
    facts = json.loads(flowsim("check", "a.toml", "--json").out)
    assert (facts["samples"], facts["features"], facts["clusters"], facts["neurons"]) == (24, 12, 4, 6)
    assert (facts["reduced_samples"], facts["merged"], facts["projected"]) == (24, 0, False)
    assert (facts["engine"], facts["solver"], facts["coordinates"]) == ("numba", "dopri5", "polar")


def test_list_has_every_shipped_scenario_with_its_title(flowsim):
    lines = flowsim("list").out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(shipped())
    titles = json.loads(flowsim("list", "--json").out)["scenarios"]
    assert set(titles) == set(shipped())
    assert all(title and any(title in line for line in lines) for title in titles.values())


@pytest.mark.parametrize("name", shipped())
def test_new_copies_a_scenario_that_says_the_same_with_its_schema_beside_it(flowsim, folder, name):
    assert flowsim("new", name, "-o", "mine.toml").code == 0
    copy = (folder / "mine.toml").read_text()
    assert copy.startswith("#:schema ./flowsim.schema.json\n")
    assert package.loads(copy).model_dump() == package.load(shipped()[name]).model_dump()
    assert json.loads((folder / "flowsim.schema.json").read_text()) == schema()


def test_new_takes_the_scenario_s_own_name(flowsim, files):
    assert flowsim("new", "min_vidal_2025/fig5_random_init").code == 0
    assert set(files()) == {"a.toml", "fig5_random_init.toml", "flowsim.schema.json"}


def test_new_never_overwrites(flowsim, folder, files):
    (folder / "quickstart.toml").write_text("mine")
    before = files()
    answer = flowsim("new", "quickstart")
    assert answer.code == 2
    assert "exists already" in answer.err
    assert files() == before


def test_new_keeps_a_schema_that_is_there(flowsim, folder):
    (folder / "flowsim.schema.json").write_text("mine")
    assert flowsim("new", "quickstart").code == 0
    assert (folder / "flowsim.schema.json").read_text() == "mine"


@pytest.mark.parametrize("output", ["missing/b.toml", "a.toml/b.toml"])
def test_new_says_where_it_cannot_write(flowsim, files, output):
    before = files()
    answer = flowsim("new", "quickstart", "-o", output)
    assert answer.code == 2
    assert answer.err.startswith(f"{output}: cannot be written: ")
    assert files() == before


def test_new_knows_the_nearest_name(flowsim):
    answer = flowsim("new", "quikstart")
    assert answer.code == 2
    assert 'did you mean "quickstart"?' in answer.err


def test_show_is_the_page_that_run_printed(flowsim):
    page = flowsim("run", "a.toml").err.removesuffix("a.nc\n")
    answer = flowsim("show", "a.nc")
    assert (answer.code, answer.out, answer.err) == (0, page, "")
    for word in ("status", "phases", "alignment", "over time", "log10_loss", "numerics"):
        assert word in page


def test_show_is_readable_by_machines_as_run_is(flowsim):
    run = json.loads(flowsim("run", "a.toml", "--json").out)
    assert {"output": "a.nc", **json.loads(flowsim("show", "a.nc", "--json").out)} == run


def test_show_says_that_a_run_was_cut_short(flowsim):
    flowsim("run", "a.toml", "--set", "flow.until.steps=4")
    answer = flowsim("show", "a.nc")
    assert answer.code == 0
    assert "status       step_limit: used its 4 steps" in answer.out
    assert "remedy       raise flow.until.steps" in answer.out


@pytest.mark.parametrize("name", ["missing.nc", "a.toml", "."])
def test_show_refuses_what_is_no_result(flowsim, name):
    answer = flowsim("show", name)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"{name}: ")


def test_schema_is_the_schema(flowsim):
    assert json.loads(flowsim("schema").out) == schema()


@pytest.mark.parametrize("engine", ["numba", "diffrax"])
def test_check_says_when_a_run_will_end(engine, flowsim, monkeypatch):
    asked = ("check", "a.toml", "--set", f"flow.engine={engine}")
    monkeypatch.setattr(Kernel, "missing", lambda kernel, arguments: kernel._expected)
    before = json.loads(flowsim(*asked, "--json").out)
    (line,) = [line for line in flowsim(*asked).out.splitlines() if line.startswith("time ")]
    assert before["compile_seconds"] > 0
    assert before["run_seconds"] > 0
    (program,) = before["compile"]
    assert program == {"numba": "flow smooth", "diffrax": "diffrax"}[engine]
    assert f"about {before['compile_seconds']:.0f} s to compile {program}" in line
    assert ("once on this machine" in line) == (engine == "numba")
    assert "reckoned with 1500 evaluations" in line


def test_once_a_kernel_is_there_check_says_so(flowsim):
    flowsim("run", "a.toml", "--set", "flow.engine=numba", "-o", "run.nc")
    answer = flowsim("check", "a.toml", "--set", "flow.engine=numba")
    assert "nothing to compile; then of the order of" in answer.out


def test_warm_compiles_what_is_not_there(flowsim, monkeypatch, tmp_path):
    monkeypatch.setattr(warming, "USUAL", {"descend smooth": {}})
    assert flowsim("warm").code == 0
    answer = flowsim("warm", "--json")
    assert json.loads(answer.out) == {"folder": str(machine.folder()), "seconds": {"descend smooth": 0.0}}
    assert flowsim("warm").out == f"descend smooth                   was there\n{machine.folder()}\n"
    monkeypatch.setenv("FLOWSIM_CACHE", "/dev/null/nothing")
    refused = flowsim("warm")
    assert (refused.code, refused.out) == (2, "")
    assert "/dev/null/nothing: cannot be written to; FLOWSIM_CACHE names another folder" in refused.err
