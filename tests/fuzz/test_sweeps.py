"""Whatever a [sweep] or the folder of a sweep holds, `flowsim sweep` and the commands that show it answer in words."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from support import hostile, hostile_sweeps
from support.answers import alone, answer, apart
from support.hostile import SMALL

import flowsim
from flowsim.scenario import toml

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")
SWEPT = {**SMALL, "sweep": {"grid": {"seed": [0, 1], "init.scale": [1e-3, 1.0]}, "trajectories": ["loss"]}}
MADE_ANEW = ("gone", "sweep.nc", None)
RESUME = ("sweep", "swept.toml", "-o", "damaged", "--resume")


@pytest.fixture(scope="module")
def swept(folder) -> Path:
    """A sweep of four points in two ensembles, and its scenario beside it."""
    (folder / "swept.toml").write_text(toml.dumps(SWEPT), encoding="utf-8")
    with alone():  # unwatched: it may compile
        assert flowsim.sweep("swept.toml", "whole").exit_code == 0
    return folder / "whole"


def copied(swept: Path) -> Path:
    damaged = swept.with_name("damaged")
    shutil.rmtree(damaged, ignore_errors=True)
    return Path(shutil.copytree(swept, damaged))


def test_every_sweep_is_answered_at_its_lines(folder, swept, many):
    file = folder / "s.toml"

    @many(0.5)
    @given(text=hostile_sweeps.sweeps())
    @example(text=toml.dumps({**SMALL, "sweep": {"grid": {"": [1]}}}).encode())
    def ask(text):
        file.write_bytes(text)
        found = answer("sweep", "s.toml", "-o", "out", "--overwrite")
        assert found.is_clean(), found
        for line in found.err.splitlines() if found.code == 2 else ():
            assert re.match(r"s\.toml:(\d+: | has no \[sweep\])", line), found

    ask()


def test_every_damaged_folder_is_answered(swept, many, whole):
    contents = {name: (swept / name).read_bytes() for name in ("manifest.jsonl", "sweep.toml")}

    @many(0.2)
    @given(how=hostile_sweeps.wrecks(contents))
    @example(how=[("nested", "manifest.jsonl", None)])
    @example(how=[("pipe", "manifest.jsonl", None)])
    @example(how=[MADE_ANEW, ("pipe", "runs", None)])
    @example(how=[MADE_ANEW, ("odd arrays", "runs", [("variable renamed", 3 * index) for index in range(20)])])
    @example(how=[MADE_ANEW, ("odd line", "manifest.jsonl", (16, "no number of seconds"))])
    @example(how=[MADE_ANEW, ("odd line", "manifest.jsonl", (36, "../../whole.nc"))])
    def ask(how):
        for words in asked(whole):
            damaged = copied(swept)
            hostile_sweeps.wreck(damaged, how)
            found = answer(*words)
            assert found.is_clean(), (words, found)

    ask()


def asked(whole: bool) -> list[tuple[str, ...]]:
    """What can be asked of a folder. whole: pictures and a page, too."""
    found = [RESUME, ("show", "damaged")]
    if whole:
        found += [(*RESUME[:-1], "--overwrite"), ("show", "damaged/sweep.nc", "--json"), ("plot", "damaged/sweep.nc")]
        found += [("plot", "damaged/sweep.nc", kind, "-o", "s.png", "--overwrite") for kind in ("lines", "heat")]
        found += [("report", "damaged", "-o", "s.html", "--overwrite")]
    return found


def test_torn_sweeps_crash_nothing(swept, many):
    """In a process of its own: HDF5 reads what is torn."""
    random, cases = np.random.default_rng(0), []
    for number in range(many(0.1).max_examples):
        torn = Path(shutil.copytree(swept, swept.with_name(f"torn{number}")))
        for file in (torn / "sweep.nc", sorted((torn / "runs").iterdir())[0]):
            file.write_bytes(hostile.torn_at_random(file.read_bytes(), random, short=number % 4 == 0))
        cases += [("show", torn.name), ("sweep", "swept.toml", "-o", torn.name, "--resume")]
        if number % 2:
            (torn / "sweep.nc").unlink()  # to be made from the runs
    assert apart(cases, swept.parent) == []
