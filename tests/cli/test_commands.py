"""The commands that run nothing, and the command line itself."""

from __future__ import annotations

import json
import re
import subprocess
from io import StringIO

import pytest

import flowsim as package
from flowsim import machine
from flowsim.cli import COMMANDS, terminal
from flowsim.markup import visible
from flowsim.run import compile_ahead
from flowsim.scenario.schema import schema
from flowsim.scenario.shipped import shipped, title
from flowsim.solve.numba.kernel import Kernel


def test_version(flowsim):
    answer = flowsim("--version")
    assert (answer.code, answer.out) == (0, f"flowsim {package.__version__}\n")


def test_help_names_every_command(flowsim):
    answer = flowsim("--help")
    assert answer.code == 0
    for command in COMMANDS:
        assert f"\n    {command}" in answer.out
    for code in (0, 2, 3, 4, 5, 130):
        assert f"\n  {code}  " in answer.out
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
        ["run", "a.toml", "-q", "-v"],
        ["completion", "ksh"],
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


def test_list_finds_by_words(flowsim):
    names = [line.split("  ")[0] for line in flowsim("list", "XOR", "flow").out.splitlines()]
    titles = {name: title(file).lower() for name, file in shipped().items()}
    assert names == [name for name, line in titles.items() if all(word in name + line for word in ("xor", "flow"))]
    assert 0 < len(names) < len(titles)
    kinds = json.loads(flowsim("list", "--kinds", "clarke", "--json").out)
    assert not any(kinds.values())
    assert [*json.loads(flowsim("list", "--kinds", "leaky", "--json").out)["activation"]] == ["leaky_relu"]
    for words in (["list", "no such thing"], ["list", "--kinds", "no such thing"]):
        assert flowsim(*words).code == 2


def test_a_scenario_that_ships_is_run_by_its_name(flowsim, files):
    few = ("--set", "flow.until.time=1", "--set", "data.samples=30", "--set", "model.width=6")
    answer = flowsim("run", "quickstart", *few)
    assert answer.code == 0
    assert answer.err.startswith("quickstart: the scenario that ships with flowsim; flowsim new quickstart copies it")
    assert flowsim("check", "quickstart", *few).code == 0
    for name, hint in (
        ("quickstart.toml", "flowsim new quickstart makes it"),
        ("quikstart", 'did you mean "quickstart"?'),
    ):
        wrong = flowsim("run", name)
        assert (wrong.code, wrong.out) == (2, "")
        assert wrong.err.startswith(f"{name}: no such file; {hint}")
    assert set(files()) == {"a.toml", "quickstart.nc"}


def test_how_much_a_run_says(flowsim):
    quiet = flowsim("run", "a.toml", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    told = flowsim("run", "a.toml", "-v", "--overwrite")
    assert told.err.startswith(flowsim("check", "a.toml").out.partition("\n")[2].partition("\nvariables")[0])
    assert "status       done" in told.err


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    text = "status       done: reached\n  paper.theorem: fails; 3\nremedy       none\na.toml:3: data.x: done \x1b[1m"
    seen = terminal.shown(text, Terminal())
    bold = "\x1b[1ma.toml:3: data.x\x1b[0m: done \\x1b[1m"
    for painted in ("\x1b[32mdone\x1b[0m: r", "\x1b[31mfails\x1b[0m", "\x1b[33mremedy\x1b[0m", bold):
        assert painted in seen
    assert re.sub("\x1b.*?m", "", seen) == terminal.shown(text, StringIO()) == visible(text)
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert terminal.shown(text, Terminal()) == visible(text)


def test_bash_completes_commands_names_and_options(flowsim, folder):
    (folder / "complete.bash").write_text(flowsim("completion", "bash").out)

    def completed(*words: str) -> list[str]:
        line = (
            f"source complete.bash; COMP_WORDS=(flowsim {' '.join(words)}); COMP_CWORD={len(words)}; _shtab_flowsim; "
        )
        found = subprocess.run(
            ["bash", "-c", line + 'echo "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
        )
        return found.stdout.split()

    assert completed("che") == ["check"]
    assert completed("new", "quick") == ["quickstart"]
    assert "a.toml" in completed("run", "a")
    assert completed("run", "a.toml", "--res") == ["--resume"]


@pytest.mark.parametrize("name", shipped())
def test_new_copies_a_scenario_that_says_the_same(flowsim, folder, name):
    (folder / "flowsim.schema.json").touch()
    assert flowsim("new", name, "-o", "mine.toml").code == 0
    copy = (folder / "mine.toml").read_text()
    assert copy.startswith("#:schema ./flowsim.schema.json\n")
    assert package.loads(copy).model_dump() == package.load(shipped()[name]).model_dump()


def test_new_writes_the_schema_beside_a_scenario(flowsim, folder):
    assert flowsim("new", "quickstart").code == 0
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
    monkeypatch.setattr(compile_ahead, "USUAL", {"descend smooth": {}})
    assert flowsim("warm").code == 0
    answer = flowsim("warm", "--json")
    assert json.loads(answer.out) == {"folder": str(machine.folder()), "seconds": {"descend smooth": 0.0}}
    assert flowsim("warm").out == f"descend smooth                   was there\n{machine.folder()}\n"
    monkeypatch.setenv("FLOWSIM_CACHE", "/dev/null/nothing")
    refused = flowsim("warm")
    assert (refused.code, refused.out) == (2, "")
    assert "/dev/null/nothing: cannot be written to; FLOWSIM_CACHE names another folder" in refused.err
