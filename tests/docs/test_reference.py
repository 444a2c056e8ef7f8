"""What the reference has to name: public functions, plots, shipped scenarios, and pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path
from pydoc import locate

import pytest
from support.scripts import script

import flowsim
from flowsim.present.kinds import KINDS
from flowsim.scenario.shipped import shipped
from flowsim.solve import status

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("**/*.md")) if not {"generated", "_build"} & set(page.parts)]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")


def test_every_public_name_is_documented():
    documented = set(re.findall(r"^   (flowsim\.\S+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert {f"flowsim.{name}" for name in flowsim.__all__ if not name.startswith("_")} <= documented


def test_what_a_class_page_shows_is_a_page_of_the_reference_and_there():
    listed, members = (DOCS / "api.md").read_text(encoding="utf-8"), script("_generate").MEMBERS
    for name, shown in members.items():
        assert f"   {name}\n" in listed
        assert [word for word in filter(None, shown.split(", ")) if not hasattr(locate(name), word)] == []


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
    for file in DOCS.glob("*picture*.py"):
        assert f"docs/{file.name}" in text, file.name


def test_every_status_stands_in_the_table_of_troubles():
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    told = {word for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)}
    named = set(re.findall(r'Status\(\s*"(\w+)"', Path(status.__file__).read_text(encoding="utf-8")))
    assert {"done", "at_rest"} < named <= told


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("momentum", "descent"),
        ("learning rate", "descent"),
        ("GPU", "numerics"),
        ("PyTorch", "python"),
        ("Hessian", "observables"),
        ("NTK", "observables"),
        ("BibTeX", "cite"),
    ],
)
def test_a_word_that_users_bring_is_in_the_index_and_on_its_page(word, page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    entries = re.findall(r"^```\{index\} (.*)\n```$", text, re.MULTILINE)
    rest = re.sub(r"^```\{index\}.*$", "", text, flags=re.MULTILINE)
    assert word in ", ".join(entries).split(", ")
    assert word.lower() in rest.lower()
