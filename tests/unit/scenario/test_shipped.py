"""The scenarios that come with flowsim."""

from __future__ import annotations

import json
import re
from itertools import takewhile

import pytest

import flowsim
from flowsim.scenario.schema import FILE_NAME, schema
from flowsim.scenario.shipped import find, shipped, title


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_scenario_loads_and_has_a_title(name):
    scenario = flowsim.load(find(name))
    assert scenario.title == title(find(name)) != ""


def said(name):
    """The comment that a scenario begins with."""
    head = takewhile(lambda line: line.startswith("#"), find(name).read_text(encoding="utf-8").splitlines())
    return " ".join(line.removeprefix("# ") for line in head)


@pytest.mark.parametrize("name", [name for name in shipped() if "accelerator" in said(name)])
def test_what_is_for_an_accelerator_names_a_small_sibling(name):
    siblings = {f"images/{word}" for word in re.findall(r"\w+_small\b", said(name))}
    assert siblings
    assert siblings <= set(shipped())


def test_the_scenarios_of_the_first_paper_are_there():
    assert {"quickstart", "min_vidal_2025/fig5_random_init", "min_vidal_2025/fig6_nudged_init"} <= set(shipped())


def test_a_name_may_carry_its_suffix():
    assert find("quickstart.toml") == find("quickstart")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(flowsim.UsageError, match='did you mean "quickstart"'):
        find("quikstart")


def test_figures_5_and_6_differ_in_their_initialisation_only():
    five, six = (flowsim.load(find(f"min_vidal_2025/{name}")) for name in ("fig5_random_init", "fig6_nudged_init"))
    different = {"title", "init"}
    assert five.model_dump(exclude=different) == six.model_dump(exclude=different)
    assert six.init.model_dump(exclude={"shape", "nudge", "toward"}) == five.init.model_dump(exclude={"shape"})


def test_the_schema_beside_the_shipped_scenarios_is_the_current_one():
    folder = shipped()["quickstart"].parent
    written = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    assert written == schema(), f"renew it with: flowsim schema > scenarios/{FILE_NAME}"
    for name, file in shipped().items():
        directive = file.read_text(encoding="utf-8").partition("\n")[0]
        assert (file.parent / directive.removeprefix("#:schema ")).resolve() == (folder / FILE_NAME).resolve(), name


def test_a_part_of_a_name_is_enough_for_a_hint():
    with pytest.raises(flowsim.UsageError, match='did you mean "min_vidal_2025/fig6_nudged_init"'):
        find("nudged")
