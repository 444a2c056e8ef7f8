"""What the reference has to name: public functions, plots, shipped scenarios, and pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flowsim
from flowsim.present.kinds import KINDS
from flowsim.scenario.shipped import shipped
from flowsim.solve import status

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("**/*.md")) if not {"generated", "_build"} & set(page.parts)]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")


def test_every_public_name_is_documented():
    documented = set(re.findall(r"^\.\. auto\w+:: (\S+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert {f"flowsim.{name}" for name in flowsim.__all__ if not name.startswith("_")} <= documented


def test_every_kind_of_plot_has_a_line_and_a_picture():
    text = (DOCS / "plots.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert f"| `{kind}` |" in text
        assert f"images/plots/{kind}.png" in text


def test_every_paper_with_scenarios_has_a_page_with_a_picture():
    pages = {page.stem: page.read_text(encoding="utf-8") for page in PAGES if page.parent.name == "papers"}
    papers = {name.partition("/")[0] for name in shipped() if "/" in name} - {"images", "limits", "sweeps", "theory"}
    assert papers == pages.keys()
    for text in pages.values():
        assert "../images/" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_picture_of_a_page_is_there_and_every_picture_has_words(page):
    text = page.read_text(encoding="utf-8")
    for words, image in re.findall(r"!\[([^\]]*)\]\(([^)\s]+\.(?:png|svg))\)", text):
        assert (page.parent / image).is_file(), image
        assert len(words) > 20, image


def test_every_script_of_a_picture_is_named_where_its_picture_is_shown():
    text = "".join(page.read_text(encoding="utf-8") for page in (*PAGES, DOCS.parent / "README.md"))
    for script in DOCS.glob("*picture*.py"):
        assert f"docs/{script.name}" in text, script.name


def test_every_status_stands_in_the_table_of_troubles():
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    told = {word for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)}
    named = set(re.findall(r'Status\(\s*"(\w+)"', Path(status.__file__).read_text(encoding="utf-8")))
    assert {"done", "at_rest"} < named <= told
