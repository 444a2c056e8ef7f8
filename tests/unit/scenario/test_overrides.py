"""Overrides become part of the scenario's text, and take the keys of a kind that they leave with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flowsim
from flowsim.scenario import parse_assignment

TEXT = """\
# what this is about
seed = 1

[data]
dimension = 12    # features
noise = { total = 0.1 }    # small
"""


def changed(text: str = TEXT, **overrides: object) -> flowsim.Scenario:
    return flowsim.loads(
        text, name="a.toml", overrides={key.replace("__", "."): value for key, value in overrides.items()}
    )


def test_the_text_holds_the_override_and_keeps_its_comments():
    scenario = changed(data__dimension=20, data__noise__total=0.3)
    assert scenario.data.dimension == 20
    assert scenario.source.text == TEXT.replace("12 ", "20 ").replace("0.1", "0.3")


def test_the_text_alone_gives_the_same_scenario_again():
    scenario = changed(data__samples=8, model__width=3, flow__until={"loss": 0.1}, observe__variables=["loss"])
    assert flowsim.loads(scenario.source.text).model_dump() == scenario.model_dump()
    for comment in ("# what this is about", "# features", "# small"):
        assert comment in scenario.source.text


def test_the_checksum_is_that_of_the_values_with_their_overrides():
    assert changed().sha256 == changed("seed = 1\ndata = { noise = { total = 0.1 }, dimension = 12 }").sha256
    assert changed(seed=1).sha256 == changed().sha256
    assert changed(seed=2).sha256 != changed().sha256


def test_a_top_level_key_is_set_though_tables_come_first():
    assert changed("[data]\ndimension = 5\n", seed=3).seed == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[data]\ndimension = 20\n",
        "data.dimension = 20\nmodel.width = 7\n",
        "data = { dimension = 20 }\n",
        "[data]\nnoise = { total = 0.1 }\n",
        "[data.noise]\ntotal = 0.1\n",
        "[data]\ndimension = 20\n[model]\nwidth = 7\n[data.noise]\ntotal = 0.1\n",
    ],
    ids=["nothing", "table", "dotted keys", "inline table", "inline noise", "noise table", "table in two places"],
)
def test_a_nested_key_can_be_set_however_its_table_is_written(text):
    before, after = flowsim.loads(text), changed(text, data__noise__total=0.3, data__samples=8)
    assert after.data.noise.total == 0.3
    assert after.data.samples == 8
    assert (after.data.dimension, after.model) == (before.data.dimension, before.model)


def test_a_mistake_in_an_override_is_placed_there_and_others_in_the_file():
    with pytest.raises(flowsim.ScenarioError) as caught:
        changed("sed = 1\n", data__dimensoin=3, model__width=-1)
    assert [(issue.place, issue.key) for issue in caught.value.issues] == [
        ("overrides", "data.dimensoin"),
        ("overrides", "model.width"),
        ("a.toml:1", "sed"),
    ]


def test_a_value_has_no_keys_below_it():
    with pytest.raises(flowsim.ScenarioError, match=r"overrides: seed\.x: leads nowhere"):
        changed(seed__x=1)


def test_numbers_of_numpy_are_numbers():
    scenario = changed(seed=np.int64(3), init__scale=np.float64(1e-5))
    assert (scenario.seed, scenario.init.scale) == (3, 1e-5)


@pytest.mark.parametrize("value", [[None], Path("x.csv")], ids=["None in an array", "a path"])
def test_a_value_that_toml_cannot_hold_is_a_scenario_error(value):
    with pytest.raises(flowsim.ScenarioError, match=r"overrides: data\.samples"):
        changed(data__samples=value)


@pytest.mark.parametrize(
    ("text", "assignment"),
    [
        ("seed=3", ("seed", 3)),
        ("init.scale=1e-300", ("init.scale", 1e-300)),
        ("model.bias=true", ("model.bias", True)),
        ("data.centers=random_sphere", ("data.centers", "random_sphere")),
        ('data.centers="random_sphere"', ("data.centers", "random_sphere")),
        ("title=a = b", ("title", "a = b")),
        ("title=", ("title", "")),
        (" seed = 3 ", ("seed", 3)),
        ('observe.variables=["loss", "margin"]', ("observe.variables", ["loss", "margin"])),
        ("flow.until={ loss = 0.1 }", ("flow.until", {"loss": 0.1})),
    ],
)
def test_an_assignment_is_toml_or_else_a_string(text, assignment):
    assert parse_assignment(text) == assignment


@pytest.mark.parametrize("text", ["seed", "=3", ".seed=3", "data.=3", "a..b=3"])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(flowsim.ScenarioError, match=r"not of the form section\.key=value"):
        parse_assignment(text)
