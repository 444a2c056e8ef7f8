"""Every example of the documentation does what the page says: TOML, shell and Python run, page by page.

Comments `<!-- stated: {"2.2363": norm} -->` between the examples hold numbers that the page's words state against the
names of its Python, and `<!-- within: … -->` those that bound an error.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.plugins import shown_files
from support.stated import disagreeing, exceeded, unwritten

import flowsim
from flowsim.cli import main
from flowsim.kinds import plugins

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
PAGES = [page for page in PAGES if not {"generated", "_build"} & set(page.parts)]
BLOCK = re.compile(
    r"^```(toml|shell|sh|python)\n(.*?)^```$|^<!-- (stated|within): (.*?) -->$", re.MULTILINE | re.DOTALL
)
#: Scenarios that pages speak of without showing them.
SCENARIOS = {
    "mysweep": """
[data]
samples = 24
dimension = 8
[model]
width = 4
[flow]
until = { time = 20.0 }
[sweep.grid]
"data.noise.total" = [0.1, 0.2]
seed = [0, 1]
""",
    "mine": """
[data]
samples = 40
dimension = 10
[model]
width = 8
[flow]
method = "gradient_descent"
step = 0.05
iterations = 3000
""",
    "relu": """
[data]
samples = 24
dimension = 8
noise = { per_coordinate = 0.5 }
[model]
activation = "relu"
width = 6
[flow]
until = { time = 20.0 }
""",
    "run": """
[data]
dimension = 60
radius = "sqrt_dimension"
noise = { per_coordinate = 1.0 }
samples = 40
[model]
activation = "relu"
width = 4
output = "fixed"
output_weight = 0.5
[init]
scale = 1e-5
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 0.1 }
""",
}
#: Commands that say no: what the page speaks of then, an interrupted or unfinished run, is not there or is the point.
EXIT_CODES = {
    "flowsim run quickstart.toml --resume": 2,
    "flowsim run quickstart.toml -o part.nc --set flow.until.steps=20": 3,
}
#: Networks that are not run, and the sections that they need beside their own.
BUILT, BUILT_WITH = ("resnet",), {"loss": {"kind": "cross_entropy"}, "data.supervision": "cluster"}
#: Commands that no test of the examples runs.
ELSEWHERE = ("make ", "pip ", "git ", "python ", "cd ")


class Block(NamedTuple):
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*filter(None, found)) for found in BLOCK.findall(page.read_text(encoding="utf-8"))]


def words(page: Path) -> str:
    return BLOCK.sub(" ", page.read_text(encoding="utf-8"))


WITH_EXAMPLES = [page for page in PAGES if blocks(page)]


def test_there_are_pages_with_examples():
    if (ROOT / "docs").is_dir():  # a source distribution comes without them
        assert len(WITH_EXAMPLES) > 8


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that a page takes for granted: a scenario like the quickstart, its result, and SCENARIOS'.

    Pages that begin with `flowsim new quickstart` run the quickstart itself."""
    folder = tmp_path_factory.mktemp("examples")
    smaller = flowsim.load(ROOT / "scenarios/quickstart.toml", {"data.samples": 90, "model.width": 20})
    (folder / "quickstart.toml").write_text(smaller.to_toml())
    flowsim.run(flowsim.load(folder / "quickstart.toml"), folder / "quickstart.nc")
    for name, text in SCENARIOS.items():
        (folder / f"{name}.toml").write_text(text)
    flowsim.run(flowsim.load(folder / "run.toml"), folder / "run.nc")
    for name in ("a.nc", "b.nc", "flow.nc", "descent.nc", "prelu.nc", "relu.nc", "wide.nc"):
        (folder / name).write_bytes((folder / "run.nc").read_bytes())
    return folder


@pytest.fixture(autouse=True)
def no_plugin_is_left() -> Iterator[None]:
    yield
    plugins.hold(())


def of_a_paper(page: Path) -> list[pytest.MarkDecorator]:
    """Pages about papers and theories run what these did."""
    return [pytest.mark.papers] if {"papers", "theory", "purification_images.md"} & set(page.parts) else []


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.relative_to(ROOT).as_posix(), marks=of_a_paper(page)) for page in WITH_EXAMPLES],
)
def test_the_examples_of_a_page_run(page, files, tmp_path, monkeypatch, request):
    if any(line.startswith("flowsim sweep") for _, text in blocks(page) for line in text.splitlines()):
        request.getfixturevalue("within")  # tests/sweep runs the command itself, in processes
    for file in files.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name, text in shown_files(page).items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, text in blocks(page):
        if language == "toml":
            run_smaller(flowsim.loads(text, name=page.name, folder=tmp_path))
        elif language == "python":
            exec(compile(text, f"{page.name}", "exec"), names)
        elif language in ("stated", "within"):
            stated = eval(text, names)
            assert unwritten(stated, words(page)) == []
            assert [*(disagreeing if language == "stated" else exceeded)(stated)] == []
        else:
            for line in text.replace("\\\n", "").splitlines():
                run_command(line, at_full_size="papers" in page.parts)


def run_smaller(scenario: flowsim.Scenario) -> None:
    """Run what a page shows with few samples and for a short time. Deep networks of images are built alone: to compile them
    takes longer than all else."""
    keys, changes = scenario.to_dict(), {}
    least = {"data.samples": 12, "data.test.samples": 12, "model.widths": [8, 6], "evaluate.robustness.samples": 4}
    for key, value in least.items():
        *sections, last = key.split(".")
        section: Any = keys
        for name in sections:
            section = section.get(name) if isinstance(section, dict) else None
        if isinstance(section, dict) and last in section:
            changes[key] = value
    if keys["model"]["kind"] in BUILT:
        flowsim.build(scenario.replace({**changes, "data": {"kind": "cifar10", "samples": 12}, **BUILT_WITH}))
        return
    stages = keys.get("stage")
    if stages:
        changes["stage"] = [{**stage, **shorter(stage)} for stage in stages]
    else:
        changes |= {f"flow.{key}": value for key, value in shorter(keys["flow"]).items()}
    tree = flowsim.run(scenario.replace({**changes, "observe.times": 3}), warn=lambda reason: None)
    assert tree.attrs["status"] in ("done", "not_separated")


def shorter(flow: dict[str, Any]) -> dict[str, Any]:
    """Fewer iterations, or less time."""
    if "iterations" in flow:
        return {"iterations": 4} | ({"batch": 12} if "batch" in flow else {})
    return {"until": {"time": min(0.2, flow["until"].get("time", 0.2))}}


def run_command(line: str, at_full_size: bool) -> None:
    """at_full_size: whether runs are those of papers, which have tests of their own; they are only checked here."""
    if line.startswith(ELSEWHERE) or not line.strip():
        return
    words = shlex.split(line, comments=True)
    assert words[0] == "flowsim", f"do not know how to try: {line}"
    if at_full_size and words[1] not in ("list", "new"):
        if words[1] == "run":
            output = words.index("-o") if "-o" in words else len(words)
            assert main(["check", *words[2:output], *words[output + 2 :]]) == 0, line
        return
    if words[1] == "new" and Path(f"{words[2]}.toml").exists():
        Path(f"{words[2]}.toml").unlink()
    if words[1] == "run" and "--resume" not in words:
        output = words[words.index("-o") + 1] if "-o" in words else Path(words[2]).with_suffix(".nc").name
        Path(output).unlink(missing_ok=True)
    assert main(words[1:]) == EXIT_CODES.get(line.strip(), 0), line


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="a source distribution comes without the docs")
def test_the_readme_has_the_tables_that_the_benchmark_wrote():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = [file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs/benchmarks").glob("peers_*.md"))]
    assert len(tables) == 2
    assert all(table in readme for table in tables)
