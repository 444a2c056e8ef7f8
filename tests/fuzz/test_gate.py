"""Whatever a scenario, a table or a result holds, every command answers it in words: `pytest tests/fuzz --fuzz 1000`."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from hypothesis import given
from support import hostile
from support.answers import answer, apart

from flowsim.present.kinds import KINDS

pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_scenario_is_answered_at_its_lines(folder, many, whole):
    file = folder / "s.toml"

    @many(1)
    @given(text=hostile.scenarios())
    def ask(text):
        file.write_bytes(text)
        found = answer("check", str(file))
        assert found.is_clean(), found
        for line in found.err.splitlines() if found.code == 2 else ():
            assert re.match(rf"{re.escape(str(file))}:\d+: ", line), found
        if found.code == 0 and whole:
            found = answer("run", str(file), "-o", "s.nc", "--overwrite", "--set", "flow.wall_time=2.0")
            assert found.is_clean(), found

    ask()


def test_every_table_is_answered_at_the_key_that_names_it(folder, many):
    @many(0.2)
    @given(table=hostile.tables())
    def ask(table):
        suffix, content = table
        (folder / f"t{suffix}").write_bytes(content)
        text = f'[data]\nkind = "table"\npath = "t{suffix}"\n[model]\nwidth = 2\n'
        (folder / "t.toml").write_text(text, encoding="utf-8")
        found = answer("check", "t.toml")
        assert found.is_clean(), found
        for line in found.err.splitlines() if found.code == 2 else ():
            assert re.match(r"t\.toml:[13]: data", line), found

    ask()


def test_every_damaged_result_is_answered(folder, result, many, whole):
    file = folder / "r.nc"

    @many(0.2)
    @given(how=hostile.damages())
    def ask(how):
        shutil.copy(result, file)
        hostile.damage(file, how)
        for words in commands(str(file), str(result), whole):
            found = answer(*words)
            assert found.is_clean(), (words, found)

    ask()


def commands(file: str, other: str, whole: bool) -> list[list[str]]:
    """What can be asked of a result. whole: pictures of all kinds, too."""
    asked = [["show", file], ["show", file, "--json"], ["compare", file, other], ["plot", file]]
    if whole:
        asked += [["plot", file, kind, "-o", "p.png", "--overwrite"] for kind in KINDS]
        asked += [["report", file, other, "-o", "p.html", "--overwrite"]]
    return asked


def test_torn_results_crash_nothing(folder, result, many):
    """In a process of its own: HDF5 reads what is torn."""
    random, content, cases = np.random.default_rng(0), result.read_bytes(), []
    for number in range(many(0.2).max_examples):
        file = folder / f"torn{number}.nc"
        file.write_bytes(hostile.torn_at_random(content, random, short=number % 4 == 0))
        cases += [("show", str(file)), ("compare", str(file), str(result))]
    assert apart(cases, folder) == []
