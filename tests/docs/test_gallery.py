"""The gallery has a card with a picture for each shipped scenario, made from its run or from a smaller one."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from support.scripts import DOCS, script

import flowsim
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
    monkeypatch.setattr(page, "shipped", lambda: {"sweeps/small": file})
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


def test_every_shipped_scenario_has_a_picture_and_what_its_card_says_or_the_command_that_makes_them():
    script("gallery")
    assert __import__("_gallery").out_of_date() == {}


def test_every_folder_of_scenarios_has_a_heading_and_a_page_that_is_there():
    script("gallery")
    folders = __import__("_gallery").FOLDERS
    assert {name.rpartition("/")[0] for name in shipped()} == folders.keys()
    assert [page for _, page in folders.values() if page and not (DOCS / page).is_file()] == []


def test_pictures_are_small_and_of_scenarios():
    pictures = sorted((DOCS / "gallery").rglob("*.png"))
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


def test_a_card_is_made_from_a_run_until_its_scenario_changes(gallery, capsys):
    command, page, file = gallery
    assert page.out_of_date() == {"sweeps/small": "has no card; python docs/gallery.py sweeps/small"}
    assert command.main(["sweeps/small"]) == 0
    measured = page.kept("sweeps/small")["measured"]
    assert measured["status"] == "done"
    assert page.card("sweeps/small").with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    text = "\n".join(page.cards())
    assert ":img-top: gallery/sweeps/small.png" in text
    assert f"{measured['evaluations']:,} evaluations" in text
    assert f"loss {measured['final']['loss']:.3g}" in text
    assert "smaller" not in text
    assert command.main(["--check"]) == 0
    file.write_text(SMALL.replace("width = 4", "width = 5"))
    assert page.kept("sweeps/small") == {}
    assert ":img-top:" not in "\n".join(page.cards())
    assert command.main(["--check"]) == 1
    assert "sweeps/small: has not run since it changed; python docs/gallery.py" in capsys.readouterr().out
    assert command.main(["--renew"]) == 0
    assert command.main(["--check"]) == 0


def test_a_card_of_a_smaller_run_says_so_and_how_it_was_made(gallery, monkeypatch):
    """And the run is made again as it was, without its being asked for."""
    command, page, file = gallery
    file.write_text(SMALL + '[evaluate]\nclaims = ["min_vidal_2025.theorem_1"]\n')
    assert command.main(["sweeps/small", "--set", "data.samples=4", "--unset", "evaluate.claims"]) == 0
    kept = page.kept("sweeps/small")
    assert kept["smaller"] == {"data.samples": 4, "evaluate.claims": None}
    assert "claims" not in kept["measured"]
    told = "*Picture and numbers are of a smaller run*, with `data.samples = 4`; without `evaluate.claims`."
    (card,) = "\n".join(page.cards()).split("::::{grid-item-card}")[1:]
    assert told in card
    assert "The smaller run: done" in card
    assert f"Full size: {kept['predicted']['evaluations']:,} evaluations, of the order of" in card
    page.card("sweeps/small").write_text(json.dumps({**kept, "sha256": ""}))
    assert command.main(["--renew"]) == 0
    assert page.kept("sweeps/small")["smaller"] == kept["smaller"]
    at_full_size = {"small": {"sha256": page.fingerprint(file), "claims": {"one": {"verdict": "holds"}}}}
    monkeypatch.setattr(page, "of_paper", lambda paper: at_full_size)
    assert "Claims at full size: 1 hold" in "\n".join(page.cards())
    assert command.main(["sweeps/small", "--whole"]) == 0
    assert "smaller" not in page.kept("sweeps/small")


def test_what_takes_longer_than_a_minute_is_made_smaller(gallery, monkeypatch):
    command, page, _ = gallery
    monkeypatch.setattr(command, "WHOLE", 0.0)
    monkeypatch.setattr(command, "SMALLER", 0.0)
    monkeypatch.setitem(__import__("_smaller").CAPS, "width", (3, 2))
    assert command.main(["sweeps/small"]) == 0
    assert page.kept("sweeps/small")["smaller"] == {"model.width": 2}


@pytest.mark.parametrize("most", [1e9, 0.0])
def test_every_shipped_scenario_can_be_made_smaller(most):
    script("gallery")
    module = __import__("_smaller")
    for name, file in shipped().items():
        keys = tomllib.loads(file.read_text())
        overrides = module.smaller(keys, lambda _: 1.0, most)
        scenario = flowsim.load(file, overrides)
        assert not scenario.evaluate.claims, name
        if "data.samples" in overrides:
            assert scenario.data.samples <= module.CAPS["samples"][1], name
