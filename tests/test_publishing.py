"""What is published beside the code says the same as the code."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import flowsim

ROOT = Path(__file__).parents[1]
EXAMPLE = """
repository = "https://example.org/lab/flowsim"
documentation = "https://example.org/docs/"
page = "https://example.org/lab/flowsim/blob/v{version}/{path}"
file = "https://example.org/lab/flowsim/raw/v{version}/{path}"
"""
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


@pytest.fixture
def packaging(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "packaging"), *sys.path])
    return __import__("addresses")


def test_what_names_an_address_names_that_of_the_one_file(packaging):
    known = packaging.addresses(ROOT)
    citation, about = read("CITATION.cff"), read("packaging/conda.yaml")["about"]
    assert citation.get("repository-code") == about.get("repository") == known.get("repository")
    assert citation.get("url") == about.get("documentation") == known.get("documentation")
    assert {"readme", "urls"} <= {*PROJECT["dynamic"]}


def test_with_an_address_the_readme_shows_its_pictures_everywhere(packaging, tmp_path):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "addresses.toml").write_text(EXAMPLE)
    known, text = packaging.addresses(tmp_path), (ROOT / "README.md").read_text()
    assert packaging.version(ROOT) == flowsim.__version__
    paths = [link["path"] for link in packaging.RELATIVE.finditer(text)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    shown = packaging.readme(text, known, "1.2.3")
    targets = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(targets) > len(paths) > 3
    assert [target for target in targets if not target.startswith("https://")] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", shown)
    assert pictures == [f"https://example.org/lab/flowsim/raw/v1.2.3/{paths[0]}"]
    assert packaging.urls(known, "1.2.3") == {
        "Repository": "https://example.org/lab/flowsim",
        "Documentation": "https://example.org/docs/",
        "Changelog": "https://example.org/lab/flowsim/blob/v1.2.3/CHANGELOG.md",
    }


def test_without_an_address_nothing_is_made_up(packaging):
    text = (ROOT / "README.md").read_text()
    assert (packaging.readme(text, {}, "1.2.3"), packaging.urls({}, "1.2.3")) == (text, {})


def test_a_key_that_is_no_address_is_refused(packaging, tmp_path):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "addresses.toml").write_text('repositry = "https://example.org"')
    with pytest.raises(ValueError, match="repositry: allowed are repository, documentation"):
        packaging.addresses(tmp_path)
