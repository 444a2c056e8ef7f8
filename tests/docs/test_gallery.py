"""The gallery has a card for each shipped scenario, made from its run; a new scenario has one at once."""

from __future__ import annotations

import re

import pytest
from support.scripts import DOCS, script

from flowsim.scenario.shipped import shipped

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs")

SMALL = """
title = "Sweeps: a small one"
[data]
samples = 8
dimension = 10
[model]
width = 4
[flow]
until = { time = 2.0 }
[observe]
times = 5
"""


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    """The command over one scenario, and a folder of its own for what it keeps."""
    command = script("gallery")
    page = __import__("_gallery")
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    for module in (command, page):
        monkeypatch.setattr(module, "shipped", lambda: {"sweeps/small": file})
    monkeypatch.setattr(command, "find", lambda name: file)
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(page, "FOLDER", tmp_path / "gallery")
    return command, page, file


def test_every_shipped_scenario_has_one_card():
    script("gallery")
    text = "\n".join(__import__("_gallery").cards())
    cards = re.findall(r"^`([^`]+)`$", text, re.MULTILINE)
    assert sorted(cards) == sorted(shipped())
    assert text.count("{grid-item-card}") == len(cards)


def test_every_folder_of_scenarios_has_a_heading_and_a_page_that_is_there():
    script("gallery")
    folders = __import__("_gallery").FOLDERS
    assert {name.rpartition("/")[0] for name in shipped()} == folders.keys()
    assert [page for _, page in folders.values() if page and not (DOCS / page).is_file()] == []


def test_pictures_are_small_and_of_scenarios():
    pictures = sorted((DOCS / "gallery").rglob("*.png"))
    assert len(pictures) > 20
    assert [file.name for file in pictures if file.stat().st_size > 15_000] == []
    names = {file.relative_to(DOCS / "gallery").with_suffix("").as_posix() for file in pictures}
    assert names <= shipped().keys()


def test_a_new_scenario_has_a_card_that_says_which_command_makes_it(gallery):
    _, page, _ = gallery
    text = "\n".join(page.cards())
    assert "{grid-item-card} A small one" not in text.partition("## Sweeps")[0]
    assert "`sweeps/small`" in text
    assert "`python docs/gallery.py sweeps/small`" in text
    assert ":img-top:" not in text


def test_a_card_is_made_from_a_run_until_its_scenario_changes(gallery, monkeypatch):
    command, page, file = gallery
    monkeypatch.setattr("sys.argv", ["gallery.py", "sweeps/small"])
    command.main()
    measured = page.kept("sweeps/small")["measured"]
    assert measured["status"] == "done"
    assert page.card("sweeps/small").with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    text = "\n".join(page.cards())
    assert ":img-top: gallery/sweeps/small.png" in text
    assert f"{measured['evaluations']:,} evaluations" in text
    assert f"loss {measured['final']['loss']:.3g}" in text
    file.write_text(SMALL.replace("width = 4", "width = 5"))
    assert page.kept("sweeps/small") == {}
    assert ":img-top:" not in "\n".join(page.cards())
