"""Kinds from outside of flowsim: how they come in, what results say of them, and what is said where they are missing."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.plugins import LAB

import flowsim
from flowsim.cli import main
from flowsim.kinds import plugins, registry
from flowsim.observe import OBSERVABLES, Instant

GIVEN = ["--plugin", "my_lab.py"]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_plugin_s_kinds_are_used_by_their_names(lab):
    found = flowsim.plugin("my_lab.py")
    assert (found.name, found.version, found.sha256) == ("my_lab", "1.2", digest(lab / "my_lab.py"))
    tree = flowsim.run("scenario.toml")
    case = flowsim.reopen(tree)
    square = Instant(case.setting, case.weights[-1]).direction ** 2
    expected = square.sum(axis=1) ** 2 / (square**2).sum(axis=1)
    assert tree["participation"].dims == ("time", "neuron")
    np.testing.assert_allclose(tree["participation"].values[-1], expected, rtol=1e-12)
    assert tree["participation"].attrs["long_name"] == "participation ratio of the weights"
    assert float(tree["claims/measured"][0]) == pytest.approx(expected.mean())
    assert tree["claims/verdict"].values.tolist() == ["holds"]


def test_a_result_names_the_plugins_whose_kinds_it_takes(lab):
    assert main(["run", "scenario.toml", *GIVEN, "-o", "run.nc"]) == 0
    with flowsim.open("run.nc") as tree:
        told = json.loads(tree.attrs["plugins"])
    kinds = {"observable": ["participation"], "claim": ["my_lab.participates"]}
    assert told == [{"name": "my_lab", "version": "1.2", "sha256": digest(lab / "my_lab.py"), "kinds": kinds}]
    named = ["--set", 'observe.variables=["loss"]', "--unset", "evaluate.claims"]
    assert main(["run", "scenario.toml", *GIVEN, *named, "-o", "without.nc"]) == 0
    with flowsim.open("without.nc") as tree:
        assert "plugins" not in tree.attrs


GROWN = """[data]
samples = 8
dimension = 10
[model]
activation = "relu"
width = 5
"""
FLOWS = {
    "numba": '[flow]\nengine = "numba"\nuntil = { time = 50.0, norm = 0.5 }\n',
    "descent": '[flow]\nmethod = "gradient_descent"\nstep = 0.05\nuntil = { time = 50.0, norm = 0.5 }\n',
    "alone": '[flow]\nengine = "numba"\nuntil = { norm = 0.5 }\n',
    "stages": """[[stage]]
name = "clean"
engine = "numba"
until = { norm = 0.2 }
[[stage]]
name = "more"
method = "gradient_descent"
step = 0.05
until = { norm = 0.5, time = 100.0 }
""",
}


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_stop_condition_ends_a_run_at_the_first_kept_instant_that_meets_it(lab, flow):
    flowsim.plugin("my_lab.py")
    text = f'{GROWN}{flow}[observe]\ntimes = 100\nvariables = ["log_norm"]\n'
    tree = flowsim.run(flowsim.loads(text))
    assert tree.attrs["status"] == "done"
    assert "reached norm 0.5 at time" in tree.attrs["status_cause"]
    norms = np.sqrt(np.exp(2 * tree["log_norm"].values).sum(axis=1))
    # the run may have gone on to the end of a chunk, which is then kept, too
    assert norms[-3] < 0.5 <= norms[-1]
    assert json.loads(tree.attrs["plugins"])[0]["kinds"] == {"stop condition": ["norm"]}


def test_check_names_a_stop_condition_and_misspelt_ones_are_answered_by_line(lab, capsys):
    (lab / "s.toml").write_text(GROWN + FLOWS["numba"])
    assert main(["check", "s.toml", *GIVEN]) == 0
    told = capsys.readouterr().out
    assert "until        time 50; or norm 0.5, at an instant that is kept" in told
    assert f'plugin       my_lab 1.2 (SHA-256 {digest(lab / "my_lab.py")[:12]}): stop condition "norm"' in told
    assert main(["check", "s.toml", *GIVEN, "--set", "seed=[0, 1]"]) == 2
    assert "s.toml:9: flow.until.norm: is for a run of a single seed, not an ensemble" in capsys.readouterr().err
    (lab / "s.toml").write_text(GROWN + FLOWS["numba"].replace("norm", "nrm"))
    assert main(["check", "s.toml", *GIVEN]) == 2
    assert 's.toml:9: flow.until.nrm: unknown key; did you mean "norm"? allowed: ' in capsys.readouterr().err
    (lab / "s.toml").write_text(GROWN + FLOWS["numba"].replace("0.5", '"much"'))
    assert main(["check", "s.toml", *GIVEN]) == 2
    assert 's.toml:9: flow.until.norm: "much" is not allowed; it should be a valid number' in capsys.readouterr().err


def test_a_key_that_is_gone_with_its_plugin_is_unknown_again(lab):
    before = flowsim.loads("")
    flowsim.plugin("my_lab.py")
    assert flowsim.loads("[flow]\nuntil = { norm = 2.0 }").flow.until.goals == {"norm": 2.0}
    assert flowsim.loads("") == before
    assert flowsim.loads("[flow]\nuntil = { time = 1000.0 }") == before
    assert before.to_dict() == flowsim.loads("").to_dict()
    plugins.hold(())
    with pytest.raises(flowsim.ScenarioError, match="norm: unknown key"):
        flowsim.loads("[flow]\nuntil = { norm = 2.0 }")


def flowsim_in_a_process(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flowsim", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_the_plugin_a_result_opens_shows_and_plots_and_says_what_is_missing(lab):
    assert main(["run", "scenario.toml", *GIVEN, "-o", "run.nc"]) == 0
    plugins.hold(())
    shown = flowsim_in_a_process("show", "run.nc")
    bring = "give the file by --plugin, or flowsim.plugin(path) in Python"
    missing = 'observable "participation", claim "my_lab.participates"'
    assert shown.returncode == 0
    assert " ".join(shown.stdout.split()).count(f"{missing}; not loaded here: {bring}") == 1
    for command in (["plot", "run.nc", "loss"], ["report", "run.nc"]):
        assert main(command) == 0
    assert f"not loaded here: {bring}" in (lab / "run.html").read_text()
    with flowsim.reopen("run.nc") as case:
        assert case.trajectory["participation"].shape == (4, 5)
        with pytest.raises(flowsim.UsageError) as error:
            _ = case.scenario
    assert f"{missing} of the plugin my_lab 1.2 (SHA-256 {digest(lab / 'my_lab.py')[:12]}); {bring}" in str(error.value)
    flowsim.plugin("my_lab.py")
    with flowsim.reopen("run.nc") as case:
        assert case.scenario.observe.variables == ("loss", "participation")


def test_a_scenario_brings_no_plugin_by_itself(lab, capsys):
    assert main(["check", "scenario.toml"]) == 2
    told = capsys.readouterr().err
    assert told.startswith('scenario.toml:12: observe.variables[1]: "participation" is not allowed; ')
    assert 'scenario.toml:14: evaluate.claims[0]: "my_lab.participates" is not allowed; ' in told
    assert told.count("; or what a plugin registers, given by --plugin") == 2
    (lab / "s.toml").write_text("[flow]\nuntil = { norm = 1.0 }\n")
    assert main(["check", "s.toml"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("; or what a plugin registers, given by --plugin")


def test_a_misspelt_name_is_answered_with_the_plugin_s_nearest_one(lab, capsys):
    text = (lab / "scenario.toml").read_text()
    (lab / "scenario.toml").write_text(text.replace('"participation"', '"partcipation"').replace("pates", "pate"))
    assert main(["check", "scenario.toml", *GIVEN]) == 2
    told = capsys.readouterr().err
    assert (
        'scenario.toml:12: observe.variables[1]: "partcipation" is not allowed; did you mean "participation"?' in told
    )
    assert 'scenario.toml:14: evaluate.claims[0]: "my_lab.participate" is not allowed; did you mean "my_lab' in told


BROKEN = {
    "syntax": ("def f(:\n", "bad.py:1: invalid syntax"),
    "raises": ("x = 1\n1 / 0\n", "bad.py:2: ZeroDivisionError: division by zero"),
    "name": (
        'import flowsim\nflowsim.register.observable("loss")(lambda instant: 0.0)\n',
        'bad.py:2: the observable "loss" is registered already, by flowsim; choose another name',
    ),
    "dims": (
        'import flowsim\nflowsim.register.observable("y", dims=("neurone",))(lambda instant: 0.0)\n',
        'bad.py:2: the observable "y" has dims neurone; allowed: neuron, cluster, sample, ',
    ),
    "claim": (
        'import flowsim\nflowsim.register.claim("y", where="", statement="", bound=1.0)\n',
        'bad.py:2: the claim "y" needs a name such as "paper.theorem"',
    ),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_a_plugin_is_told_by_its_line(lab, capsys, content, message):
    (lab / "bad.py").write_text(content)
    before = {name: tuple(found) for name, found in registry.REGISTRIES.items()}
    assert main(["check", "scenario.toml", "--plugin", "bad.py"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith(message)
    assert {name: tuple(found) for name, found in registry.REGISTRIES.items()} == before


RAISING = {
    "division": (
        "return 1 / 0",
        'my_lab.py:10: ZeroDivisionError: division by zero (in the observable "participation")',
    ),
    "shape": ("return instant.loss", "my_lab.py:10: AttributeError: "),
    "scalar": (
        "return 0.0",
        'the observable "participation" gave an array of shape (); it should be (5,) for its dims (neuron)',
    ),
    "words": ('return "many"', 'the observable "participation" gave str, which is no array of numbers'),
}


@pytest.mark.parametrize(("body", "message"), RAISING.values(), ids=RAISING)
def test_what_a_plugin_s_function_raises_is_told_by_its_line(lab, capsys, body, message):
    (lab / "my_lab.py").write_text(LAB.replace("    square = instant.direction**2", f"    {body}"))
    assert main(["run", "scenario.toml", *GIVEN, "-o", "run.nc"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


def test_a_changed_file_takes_the_place_of_what_it_was_and_a_file_that_fails_leaves_nothing(lab):
    first = flowsim.plugin("my_lab.py")
    assert flowsim.plugin("my_lab.py") == first
    (lab / "my_lab.py").write_text(LAB.replace('"participation"', '"ratio"'))
    second = flowsim.plugin("my_lab.py")
    assert second.sha256 != first.sha256
    assert "ratio" in OBSERVABLES
    assert "participation" not in OBSERVABLES
    (lab / "my_lab.py").write_text(LAB + "1 / 0\n")
    with pytest.raises(flowsim.UsageError, match=r"my_lab\.py:29: ZeroDivisionError"):
        flowsim.plugin("my_lab.py")
    assert not {"ratio", "participation"} & OBSERVABLES.keys()


def test_two_files_of_one_name_are_refused(lab):
    (lab / "other").mkdir()
    (lab / "other" / "my_lab.py").write_text(LAB + "\n")
    flowsim.plugin("my_lab.py")
    with pytest.raises(flowsim.UsageError, match="plugins need different names"):
        flowsim.plugin("other/my_lab.py")


def test_python_registers_without_a_file_and_may_register_again(lab):
    def value(instant):
        return 1.0

    try:
        flowsim.register.observable("unit")(value)
        flowsim.register.observable("unit")(value)
        scenario = flowsim.load("scenario.toml", {"observe.variables": ["unit"], "evaluate.claims": []})
        tree = flowsim.run(scenario)
        assert tree["unit"].values.tolist() == [1.0] * 4
        (told,) = json.loads(tree.attrs["plugins"])
        assert (told["name"], told["kinds"]) == (__name__, {"observable": ["unit"]})
    finally:
        OBSERVABLES.forget(OBSERVABLES.origin("unit"))


def test_resume_refuses_a_plugin_of_other_content(lab, capsys):
    short = ["--set", "flow.until.steps=2"]
    assert main(["run", "scenario.toml", *GIVEN, *short, "-o", "run.nc"]) == 3
    changed = LAB.replace("** 2 /", "** 2.0 /")
    (lab / "my_lab.py").write_text(changed)
    assert main(["run", "scenario.toml", *GIVEN, "-o", "run.nc", "--resume"]) == 2
    assert "run.nc: was begun with another plugin: the plugin my_lab 1.2 (SHA-256" in capsys.readouterr().err
    plugins.hold(())
    assert main(["run", "scenario.toml", "-o", "run.nc", "--resume"]) == 2
    (lab / "my_lab.py").write_text(LAB)
    assert main(["run", "scenario.toml", *GIVEN, "-o", "run.nc", "--resume"]) == 0
    assert main(["run", "scenario.toml", *GIVEN, "-o", "whole.nc"]) == 0
    with flowsim.open("run.nc") as resumed, flowsim.open("whole.nc") as whole:
        assert resumed.to_dataset().equals(whole.to_dataset())


@pytest.mark.slow
def test_a_sweep_hands_plugins_to_the_processes_of_dask(lab, capsys):
    pytest.importorskip("distributed")
    with (lab / "scenario.toml").open("a") as file:
        file.write('[sweep]\ngrid = { seed = [0, 1] }\ntrajectories = ["participation"]\n')
    command = ["sweep", "scenario.toml", *GIVEN, "-o", "points", "--workers", "1"]
    assert main(command) == 0
    with flowsim.open_sweep("points") as dataset:
        assert dataset["participation"].sizes["seed"] == 2
        assert np.isfinite(dataset["participation"].values).all()
        assert json.loads(dataset.attrs["plugins"])[0]["name"] == "my_lab"
    (lab / "my_lab.py").write_text(LAB + "\n")
    assert main(["show", "points"]) == 0
    assert "plugin       my_lab 1.2" in capsys.readouterr().out
    assert main([*command, "--resume"]) == 2
    assert "its files have changed, or its plugins" in capsys.readouterr().err


def test_a_sweep_of_what_a_notebook_has_registered_is_refused_with_a_remedy(lab):
    with (lab / "scenario.toml").open("a") as file:
        file.write("[sweep]\ngrid = { seed = [0, 1] }\n")
    code = f"""
import flowsim
{LAB}
try:
    flowsim.sweep("scenario.toml", "points", workers=1)
except flowsim.UsageError as error:
    print(error)
"""
    found = python(code, lab)
    assert found.stderr == ""
    assert found.stdout.startswith(
        'observable "participation", claim "my_lab.participates": registered in this session, '
    )
    assert "flowsim.plugin(path)" in found.stdout


def installed(folder: Path, name: str, content: str) -> None:
    """Write a package with an entry point, as pip would."""
    (folder / f"{name}.py").write_text(content)
    info = folder / f"{name}-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.1\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {name}\n")


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = [str(folder), str(Path(flowsim.__file__).parents[1])]
    lines = f"import sys\nsys.path[:0] = {path!r}\n{code}"
    return subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)


def test_installed_packages_are_loaded_when_a_name_is_looked_for_and_not_before(lab):
    installed(lab, "their_lab", LAB.replace("my_lab", "their_lab"))
    code = """
import flowsim
flowsim.loads("")
assert "their_lab" not in sys.modules
scenario = flowsim.loads('[observe]\\nvariables = ["participation"]')
assert "their_lab" in sys.modules
scenario = flowsim.loads('[flow]\\nuntil = { norm = 1.0 }')
from flowsim.observe import OBSERVABLES
print(OBSERVABLES.origin("participation"))
"""
    found = python(code, lab)
    assert found.stderr == ""
    digest_here = hashlib.sha256((lab / "their_lab.py").read_bytes()).hexdigest()
    assert found.stdout.strip() == f"their_lab 3.1 (SHA-256 {digest_here[:12]})"


SILU = """
@flowsim.register.activation("silu")
def silu(z, xp, *, beta: float = 1.0):
    return z / (1 + xp.exp(-beta * z))
"""


@pytest.mark.parametrize(
    "text", ["[flow]\nuntil = { norm = 1.0 }", '[model]\nactivation = "silu"\nbeta = 2.0'], ids=["until", "activation"]
)
def test_so_they_are_for_keys_and_kinds_of_sections(lab, text):
    installed(lab, "their_lab", LAB + SILU)
    found = python(f"import flowsim\nprint(flowsim.loads({text!r}).sha256[:0])", lab)
    assert (found.stdout, found.stderr) == ("\n", "")


def test_a_broken_installed_package_is_warned_of_by_name_and_left_out(lab):
    installed(lab, "broken_lab", "1 / 0\n")
    installed(lab, "their_lab", LAB.replace("my_lab", "their_lab"))
    found = python(
        """
import flowsim
flowsim.loads('[observe]\\nvariables = ["participation"]')
""",
        lab,
    )
    assert found.returncode == 0
    assert 'the installed plugin "broken_lab" cannot be loaded: ZeroDivisionError: division by zero' in found.stderr


def test_importing_flowsim_or_reading_a_result_s_text_runs_no_plugin(lab):
    (lab / "my_lab.py").write_text("raise SystemExit('ran')\n")
    found = python("import flowsim\nflowsim.loads('title = \"my_lab.py\"')\nprint('fine')", lab)
    assert (found.stdout, found.stderr) == ("fine\n", "")
