"""The tutorials run, cell by cell and without a kernel, and every number that their words state is what comes out.

A cell, usually a hidden one, binds `stated`: the number as the words write it -> the value. They agree where the value,
rounded to as many digits as are written, is the number. Cells may assert, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from support.scripts import DOCS
from support.stated import disagreeing, exceeded, unwritten

PAGES = sorted((DOCS / "tutorials").glob("*.md"))
#: They train networks of other shapes, or what a theorem speaks of.
LONG = ("own_data", "theorem")
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::tags: \[([^\]]*)\]\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What is not words: front matter, code and formulas, and addresses of links.
NOT_WORDS = re.compile(r"\A---.*?^---$|^```.*?^```$|`[^`]*`|\$\$.*?\$\$|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
#: A number with a point or a power of ten. Whole numbers may be names, such as a year.
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e-?\d+|(?<![\w.])\d+\.\d+")

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")


class Cell(NamedTuple):
    tags: str
    code: str


def cells(text: str) -> list[Cell]:
    return [Cell(tags or "", code) for tags, code in CELL.findall(text)]


def words(text: str) -> str:
    return NOT_WORDS.sub(" ", text)


def test_there_are_tutorials():
    assert len(PAGES) >= 6
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES if f"\ntutorials/{page.stem}\n" not in index] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.papers] * (page.stem in LONG)) for page in PAGES]
)
def test_a_tutorial_runs_and_says_what_comes_out(page, tmp_path, monkeypatch, request):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    text, names, told = page.read_text(encoding="utf-8"), {"__name__": page.stem}, {}
    if "fs.sweep(" in text:
        request.getfixturevalue("within")
    with matplotlib.rc_context():
        for cell in cells(text):
            exec(compile(cell.code, page.name, "exec"), names)
            told |= names.pop("stated", {})
    matplotlib.pyplot.close("all")
    said = words(text)
    assert unwritten(told, said) == []
    assert [*disagreeing(told)] == []
    settings = set(NUMBER.findall("".join(cell.code for cell in cells(text))))
    assert sorted(set(NUMBER.findall(said)) - told.keys() - settings) == []


def test_a_number_that_did_not_come_out_is_noticed():
    assert [*disagreeing({"97.5": 97.54, "46": 46, "1.2e-3": 0.00124, "1e-13": 1.3e-13})] == []
    assert [*disagreeing({"97.5": 97.7})] == ["97.5 is stated, 97.7 came out"]
    assert len([*disagreeing({"46": 47, "1.2e-3": 0.0013, "0.5": float("nan")})]) == 3
    assert [*exceeded({"4e-6": 5e-6, "0.1": -0.1})] == []
    assert len([*exceeded({"4e-6": 7e-6, "0.1": -0.2, "1": float("nan")})]) == 3
    assert unwritten({"0.5": 0, "1": 1, "2.2": 2}, "from 0.5, 0.51 to 1.5 and 12.2") == ["1", "2.2"]


def test_words_are_what_stands_outside_of_code_and_formulas():
    text = "---\na: 1.5\n---\nIt is 2.5 of `3.5`.\n\n```{code-cell}\n:tags: [remove-cell]\n\nx = 4.5\n```\n$$5.5$$\n"
    assert NUMBER.findall(words(text)) == ["2.5"]
    assert cells(text) == [Cell("remove-cell", "\nx = 4.5\n")]
