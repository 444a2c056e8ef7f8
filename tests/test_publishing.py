"""What is published beside the code says the same as the code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

import flowsim

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(name: str):
    return yaml.safe_load((ROOT / name).read_text())


def plain(requirement: str) -> str:
    """Without spaces and capitals, in which conda and pip differ."""
    return requirement.replace(" ", "").lower()


def test_the_conda_recipe_is_of_this_version_and_needs_what_the_project_needs():
    recipe = read("packaging/conda.yaml")
    assert recipe["context"]["version"] == flowsim.__version__
    needed = {f"python{PROJECT['requires-python']}", *map(plain, PROJECT["dependencies"])}
    assert {plain(one) for one in recipe["requirements"]["run"]} == needed
    assert recipe["build"]["python"]["entry_points"] == [f"flowsim = {PROJECT['scripts']['flowsim']}"]


def test_the_citation_is_of_this_version():
    citation = read("CITATION.cff")
    assert (citation["version"], citation["license"]) == (flowsim.__version__, PROJECT["license"])
    assert citation["authors"] == PROJECT["authors"]


def test_hosted_services_use_what_is_there():
    pages = read(".readthedocs.yaml")
    assert (ROOT / pages["sphinx"]["configuration"]).is_file()
    jobs = read(".github/workflows/ci.yml")["jobs"]
    assert any(step.get("run") == "bash .ci/run" for step in jobs["all"]["steps"])
    pythons = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one}
    named = {jobs["all"]["steps"][1]["with"]["python-version"], *jobs["suite"]["strategy"]["matrix"]["python"]}
    assert named == pythons
