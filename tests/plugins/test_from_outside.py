"""Kinds of every sort from files in an empty folder: those of the page that shows how to write them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.plugins import shown_files

import flowsim
from flowsim.cli import main
from flowsim.kinds import plugins

PAGE = Path(flowsim.__file__).parents[1] / "docs" / "extending.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="a source distribution comes without the docs")

#: sort -> the plugin's file and the kind that it registers
KINDS = {
    "activation": ("silu", "silu"),
    "loss": ("huber", "huber"),
    "data": ("teacher", "teacher"),
    "init": ("orthogonal", "orthogonal"),
    "network": ("quadratic", "quadratic"),
    "observable": ("participation", "participation"),
    "stop condition": ("grown", "norm"),
    "claim": ("my_lab", "my_lab.descent"),
}
GIVEN = [word for file, _ in KINDS.values() for word in ("--plugin", f"{file}.py")]

NEURONS = """[data]
kind = "teacher"
samples = 30
dimension = 6
test = { samples = 20 }
[model]
activation = "silu"
beta = 2.0
width = 4
[init]
shape = "orthogonal"
scale = 0.1
[loss]
kind = "huber"
delta = 0.5
[flow]
until = { time = 30.0, norm = 0.4 }
[observe]
times = 10
variables = ["loss", "test_loss", "participation"]
[evaluate]
claims = ["my_lab"]
"""
ORDINARY = """[data]
kind = "teacher"
samples = 30
dimension = 6
[model]
kind = "quadratic"
width = 3
[init]
shape = "orthogonal"
scale = 0.1
[loss]
kind = "huber"
delta = 0.5
[flow]
until = { time = 30.0 }
[observe]
times = 10
variables = ["loss"]
[evaluate]
claims = ["my_lab"]
"""
SCENARIOS = {"neurons": NEURONS, "ordinary": ORDINARY}
#: What each of them takes from plugins.
TAKEN = {
    "neurons": {"activation", "loss", "data", "init", "observable", "stop condition", "claim"},
    "ordinary": {"network", "loss", "data", "init", "claim"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with a plugin's file for each sort, and the scenarios."""
    for name, text in shown_files(PAGE).items():
        if name.removesuffix(".py") in {file for file, _ in KINDS.values()}:
            (tmp_path / name).write_text(text)
    for name, text in SCENARIOS.items():
        (tmp_path / f"{name}.toml").write_text(text)
    assert len(list(tmp_path.glob("*.py"))) == len(KINDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(one: str, other: str) -> bool:
    with flowsim.open(one) as mine, flowsim.open(other) as theirs:
        return bool(mine.to_dataset().equals(theirs.to_dataset()))


@pytest.mark.parametrize("name", SCENARIOS)
def test_kinds_of_every_sort_are_checked_run_shown_reported_and_resumed(folder, name, capsys):
    file = f"{name}.toml"
    assert main(["check", file]) == 2
    assert main(["check", file, *GIVEN]) == 0
    assert main(["run", file, *GIVEN]) == 0
    with flowsim.open(f"{name}.nc") as tree:
        told = json.loads(tree.attrs["plugins"])
    assert {sort for plugin in told for sort in plugin["kinds"]} == TAKEN[name]
    plugins.hold(())
    assert main(["show", f"{name}.nc"]) == 0
    assert main(["plot", f"{name}.nc", "loss"]) == 0
    assert main(["report", f"{name}.nc"]) == 0
    assert "not loaded here" in (folder / f"{name}.html").read_text()
    assert main(["run", file, *GIVEN, "-o", "part.nc", "--set", "flow.until.steps=4"]) == 3
    assert main(["run", file, *GIVEN, "-o", "part.nc", "--resume"]) == 0
    assert same("part.nc", f"{name}.nc")


def test_what_they_compute_is_what_their_formulas_say(folder):
    for file, _ in KINDS.values():
        flowsim.plugin(f"{file}.py")
    tree = flowsim.run("neurons.toml")
    case = flowsim.reopen(tree)
    x, y = case.problem.inputs, case.problem.targets
    weights = flowsim.weights(tree)
    z = x @ weights.hidden.T
    off = np.abs((z / (1 + np.exp(-2 * z))) @ weights.output - y)
    huber = np.where(off < 0.5, off**2 / 2, 0.5 * (off - 0.25)).mean()
    assert float(tree["loss"][-1]) == pytest.approx(huber, rel=1e-10)
    assert np.allclose(case.problem.hidden @ case.problem.hidden.T, 0.01 * np.eye(4))
    assert case.problem.test is not None
    assert "reached norm 0.4 at time" in tree.attrs["status_cause"]
    assert np.linalg.norm(weights.hidden) >= 0.4
    assert tree["claims/verdict"].values.tolist() == ["holds"]
    scenario = flowsim.Scenario(flowsim.loads(NEURONS).to_dict())
    assert flowsim.run(scenario).to_dataset().equals(tree.to_dataset())
    ordinary = flowsim.run("ordinary.toml")
    w = ordinary["w"].values[-1]
    x, y = (flowsim.build(flowsim.load("ordinary.toml")).samples.inputs, flowsim.reopen(ordinary).problem.targets)
    off = np.abs(((x @ w.T) ** 2).sum(axis=1) / 3 - y)
    assert float(ordinary["loss"][-1]) == pytest.approx(
        np.where(off < 0.5, off**2 / 2, 0.5 * (off - 0.25)).mean(), rel=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.papers) if name == "ordinary" else name for name in SCENARIOS]
)
def test_they_are_swept_in_other_processes(folder, name):
    pytest.importorskip("distributed")
    with (folder / f"{name}.toml").open("a") as file:
        file.write('[sweep]\ngrid = { "loss.delta" = [0.5, 5.0] }\n')
    # a stop at a kept instant hangs on the steps, and these on rounding, which other threads in another process may change
    until = ["--unset", "flow.until.norm"] if name == "neurons" else []
    assert main(["sweep", f"{name}.toml", *GIVEN, *until, "-o", "points", "--workers", "1"]) == 0
    with flowsim.open_sweep("points") as dataset:
        assert len(set(dataset["final_loss"].values.tolist())) == 2
    alone = flowsim.run(flowsim.load(f"{name}.toml", {"loss.delta": 0.5}, unset=["sweep", *until[1:]]))
    with flowsim.open_sweep("points") as dataset:
        assert float(dataset["final_loss"][0]) == pytest.approx(float(alone["loss"][-1]), rel=20 * 1e-6)


#: What is written in place of what, and the answer.
MISTYPED = {
    "activation": ('"silu"', '"sillu"', 'model.activation: "sillu" is not allowed; did you mean "silu"?'),
    "key of the activation": ("beta", "betta", 'model.betta: unknown key; did you mean "beta"?'),
    "value of the activation": (
        "beta = 2.0",
        'beta = "2"',
        'model.beta: "2" is not allowed; it should be a valid number',
    ),
    "loss": ('"huber"', '"hubr"', 'loss.kind: "hubr" is not allowed; did you mean "huber"?'),
    "key of the loss": ("delta", "dlta", 'loss.dlta: unknown key; did you mean "delta"?'),
    "data": ('"teacher"', '"teachr"', 'data.kind: "teachr" is not allowed; did you mean "teacher"?'),
    "key of the data": ("dimension", "dimensions", 'data.dimensions: unknown key; did you mean "dimension"?'),
    "init": ('"orthogonal"', '"ortogonal"', 'init.shape: "ortogonal" is not allowed; did you mean "orthogonal"?'),
    "key of the init": ("scale", "flp", 'init.flp: unknown key; did you mean "flip"?'),
    "observable": (
        '"participation"',
        '"participaton"',
        'observe.variables[2]: "participaton" is not allowed; did you mean "participation"?',
    ),
    "stop condition": ("norm =", "nrm =", 'flow.until.nrm: unknown key; did you mean "norm"?'),
    "claim": ('"my_lab"', '"my_lb"', 'evaluate.claims[0]: "my_lb" is not allowed; did you mean "my_lab"?'),
}


@pytest.mark.parametrize(("right", "wrong", "message"), MISTYPED.values(), ids=MISTYPED)
def test_what_is_mistyped_is_answered_with_its_line(folder, capsys, right, wrong, message):
    text = NEURONS.replace(right, wrong, 1)
    (line,) = (number for number, one in enumerate(text.splitlines(), start=1) if wrong in one)
    (folder / "neurons.toml").write_text(text)
    assert main(["check", "neurons.toml", *GIVEN]) == 2
    told = capsys.readouterr().err
    assert f"neurons.toml:{line}: {message}" in told
    assert not re.search("Traceback", told)


def test_a_network_s_mistyped_key_is_answered_with_its_line(folder, capsys):
    (folder / "ordinary.toml").write_text(ORDINARY.replace("width", "widht"))
    assert main(["check", "ordinary.toml", *GIVEN]) == 2
    assert 'ordinary.toml:7: model.widht: unknown key; did you mean "width"?' in capsys.readouterr().err
