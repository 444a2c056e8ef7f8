"""Whatever stands in a scenario file, it is either valid or answered with located problems."""

from __future__ import annotations

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

import flowsim
from flowsim.errors import Issue
from flowsim.scenario.scenario import Scenario

SECTIONS = {
    "data": ["kind", "dimension", "positive", "centers", "cosine", "noise", "samples", "path", "smaples"],
    "model": ["kind", "activation", "degree", "slope", "width", "output", "output_weight"],
    "init": ["shape", "nudge", "scale", "scael"],
    "loss": ["kind", "reduction"],
    "flow": ["until", "rtol", "solver", "precision"],
    "observe": ["times", "variables", "snapshots"],
}
WORDS = ["table", "prelu", "relu", "fixed", "nudged", "equicorrelated", "x.csv", "per_cluster", "loss", "", "ä"]
scalars = st.one_of(
    st.integers(-3, 2**70), st.floats(allow_nan=True), st.booleans(), st.sampled_from(WORDS), st.text(max_size=3)
)
keys = st.sampled_from(["total", "time", "steps", "tiem", "per_coordinate", "x"])
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.dictionaries(keys, scalars, max_size=3))


@st.composite
def documents(draw):
    chosen = draw(st.lists(st.sampled_from([*SECTIONS, "seed", "dta"]), unique=True, max_size=4))
    tables = {name: st.dictionaries(st.sampled_from(SECTIONS[name]), values, max_size=4) for name in SECTIONS}
    return {name: draw(st.one_of(tables.get(name, values), values)) for name in chosen}


def answer(document) -> tuple[str, flowsim.Scenario | None, tuple[Issue, ...]]:
    """(the TOML text, the scenario if it is valid, the issues if it is not)"""
    text = tomlkit.dumps(document)
    try:
        return text, flowsim.loads(text, name="a.toml"), ()
    except flowsim.ScenarioError as error:
        return text, None, error.issues


@given(documents())
def test_any_document_is_valid_or_its_problems_are_located(document):
    text, scenario, issues = answer(document)
    if scenario is not None:
        assert Scenario.model_validate(document).model_dump() == scenario.model_dump()
        return
    assert issues
    for issue in issues:
        assert 1 <= int(issue.place.removeprefix("a.toml:")) <= max(len(text.splitlines()), 1)
        assert issue.message


@given(documents())
def test_the_answer_is_the_same_every_time(document):
    assert answer(document)[2] == answer(document)[2]
