"""Whatever a valid scenario says, its canonical values and text say the same, and the same values are the same text."""

from __future__ import annotations

import tomllib
from tempfile import gettempdir
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
import tomlkit
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import flowsim
from flowsim.kinds.data.gaussian_mixture import CENTERS
from flowsim.kinds.data.table import Table
from flowsim.kinds.inits.given import Given
from flowsim.kinds.section import Section
from flowsim.scenario.changes import without
from flowsim.scenario.flow import Stage
from flowsim.scenario.scenario import Scenario
from flowsim.scenario.shipped import shipped

TABLE, WEIGHTS = (f"{gettempdir()}/flowsim_canonical.{ending}" for ending in ("csv", "npz"))
FLOATS = st.one_of(st.sampled_from([0.0, 1e-300, 1e-7, 0.05, 0.5, 1, 1.0, 2, 3.0, 1e22, 0.1 + 0.2]), st.floats(1e-3, 9))
SWEPT = st.dictionaries(
    st.sampled_from(["seed", "init.scale", "flow.until.time"]),
    st.one_of(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.just({"from": 1, "to": 8, "count": 3})),
    max_size=2,
)
NAMED = {
    "path": st.just(TABLE),
    "centers": st.sampled_from(CENTERS),
    "grid": SWEPT,
    "zip": st.just({}),
    "points": st.just([]),
    "sweep": st.fixed_dictionaries({}, optional={"grid": SWEPT, "instants": st.integers(2, 9)}),
    "title": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """TOML values of about the type of a key; many break a bound or a rule."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return values_of(arguments[0])
    if origin in (Union, UnionType):
        return st.one_of([values_of(argument) for argument in arguments if argument is not NoneType])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(st.sampled_from(["a", "b"]), values_of(arguments[1]), max_size=2)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), min_size=1, max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return tables_of(annotation)
    return {bool: st.booleans(), int: st.integers(0, 60), float: FLOATS, str: st.sampled_from(["a", 'b"\\'])}[
        annotation
    ]


def tables_of(section: type[Section]) -> st.SearchStrategy[dict[str, Any]]:
    keys = {
        field.alias or name: NAMED[name] if name in NAMED else values_of(field.annotation)
        for name, field in section.model_fields.items()
    }
    if section is Given:
        keys["path"] = st.just(WEIGHTS)
    # in an order of their own, so that a run draws what the one before drew
    required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
    if section in (Table, Given):  # only from Python may it be left out
        required.append("path")
    return st.fixed_dictionaries(
        {key: keys[key] for key in required}, optional={key: keys[key] for key in keys if key not in required}
    )


@st.composite
def scenarios(draw):
    """Valid values of all kinds: what breaks a rule is taken out."""
    stages = st.lists(tables_of(Stage), min_size=1, max_size=2)
    flow = draw(st.sampled_from(["flow", "stage"]))
    given = draw(tables_of(Scenario))
    given.pop("stage", None)
    if flow == "stage":
        given.pop("flow", None)
        given["stage"] = draw(stages)
    values, scenario = without(given, lambda problem: True)
    assume(scenario is not None)
    return values


@pytest.fixture(scope="module", autouse=True)
def table():
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("x1,y\n1.0,1\n")
    np.savez(WEIGHTS, hidden=np.ones((1, 1)))


def check_round_trip(scenario: flowsim.Scenario, **folder: Any) -> None:
    values, text = scenario.to_dict(), scenario.to_toml()
    assert tomllib.loads(text) == values
    again = flowsim.loads(text, **folder)
    assert again == scenario
    assert (again.to_dict(), again.to_toml(), again.sha256) == (values, text, scenario.sha256)


@settings(max_examples=60)
@given(scenarios())
def test_a_scenario_is_read_again_from_its_text_and_its_values(values):
    scenario = flowsim.Scenario(values)
    check_round_trip(scenario)
    assert flowsim.Scenario(scenario.to_dict()) == scenario
    assert flowsim.loads(tomlkit.dumps(values)).to_dict() == scenario.to_dict()  # tomlkit has an order of its own
    assert scenario.validated() == scenario
    assert scenario.replace() == scenario


@settings(max_examples=60)
@given(scenarios(), st.integers(0, 99))
def test_a_copy_and_a_replacement_are_the_same(values, seed):
    scenario = flowsim.Scenario(values)
    assume("sweep" not in values and not scenario.is_ensemble)
    copied, replaced = scenario.model_copy(update={"seed": seed}), scenario.replace({"seed": seed})
    assert copied.to_toml() == replaced.to_toml()
    assert f"seed = {seed}\n" in copied.to_toml()
    assert copied.validated() == replaced


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_is_read_again(name):
    scenario = flowsim.load(shipped()[name])
    check_round_trip(scenario, folder=scenario.source.folder)
    assert scenario.source_text == shipped()[name].read_text(encoding="utf-8")
    for member in scenario.members:
        assert member.to_dict() == {**scenario.to_dict(), "seed": member.seed}
