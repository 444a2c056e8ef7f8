"""A kind's file may be deleted: the rest of the package does not miss it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.removed import A_RUN, ALL_OF_IT, PACKAGE, copy_without, python


def scenarios_with(words: str) -> list[str]:
    """The shipped scenarios whose text has these words."""
    root = PACKAGE.parent
    found = sorted(file for file in (root / "scenarios").rglob("*.toml") if words in file.read_text(encoding="utf-8"))
    assert found, f"no scenario says {words}"
    return [str(file.relative_to(root)) for file in found]


#: sort -> files of one of its kinds, and how the names that go with them begin
GONE = {
    "observable": (["flowsim/observe/kinds/balance.py"], "balance_drift"),
    "stop condition": (["flowsim/kinds/stops/kkt.py"], "kkt"),
    "activation": (["flowsim/kinds/activations/tanh.py", *scenarios_with('activation = "tanh"')], "tanh"),
    "network": (["flowsim/kinds/networks/ntk_features.py", *scenarios_with('kind = "ntk_features"')], "ntk_features"),
    "data": (["flowsim/kinds/data/xor.py", *scenarios_with('kind = "xor"')], "xor"),
    "loss": (["flowsim/kinds/losses/exponential.py", *scenarios_with('kind = "exponential"')], "exponential"),
    "init": (["flowsim/kinds/inits/nudged.py", *scenarios_with('shape = "nudged"')], "nudged"),
    "claim": (["flowsim/papers/li_2025", "scenarios/li_2025"], "li_2025."),
}


#: Sorts that have nothing to do with one another, so that none hides that another is missed.
TOGETHER = {
    "what is drawn and what is seen": ("data", "activation", "observable"),
    "what runs and what is said of it": ("network", "loss", "init", "stop condition", "claim"),
}
PRINTS_ITS_KINDS = '\nprint("kinds:")\nassert main(["list", "--kinds", "--json"]) == 0\n'


def kinds_of(root: Path, code: str = "from flowsim.cli import main") -> dict[str, dict[str, object]]:
    """The kinds, by sort, that there are where this code has run."""
    found: dict[str, dict[str, object]] = json.loads(python(root, code + PRINTS_ITS_KINDS).rpartition("kinds:")[2])
    return found


def check_without(folder: Path, *sorts: str) -> None:
    root = copy_without(folder, *dict.fromkeys(file for sort in sorts for file in GONE[sort][0]))
    kinds = kinds_of(root, ALL_OF_IT + A_RUN)
    for sort in sorts:
        assert kinds[sort]
        assert not any(name.startswith(GONE[sort][1]) for name in kinds[sort])


@pytest.mark.papers
@pytest.mark.parametrize("sorts", TOGETHER.values(), ids=TOGETHER)
def test_without_a_file_of_each_of_some_sorts_all_else_works(tmp_path, sorts):
    check_without(tmp_path, *sorts)


@pytest.mark.papers
@pytest.mark.parametrize("sort", GONE)
def test_without_the_file_of_a_kind_all_else_works(tmp_path, sort):
    check_without(tmp_path, sort)


def test_with_all_files_these_kinds_are_there():
    assert {sort for sorts in TOGETHER.values() for sort in sorts} == set(GONE)
    kinds = kinds_of(PACKAGE.parent)
    for sort, (_, begin) in GONE.items():
        assert any(name.startswith(begin) for name in kinds[sort])


#: Imports what names kinds, and reads the shortest scenario that needs none of those that are gone.
WHAT_IS_LEFT = """
import flowsim, flowsim.evaluate.case, flowsim.evaluate.robustness, flowsim.papers, flowsim.present.page, flowsim.run
from flowsim.kinds.registry import REGISTRIES
from flowsim.scenario.schema import schema
for registry in REGISTRIES.values():
    assert len(registry)
schema()
left = {sort: list(registry) for sort, registry in REGISTRIES.items()}
here = {
    "data": "gaussian_mixture" if "gaussian_mixture" in left["data"] else "xor",
    "model": "two_layer" if "two_layer" in left["network"] and "prelu" in left["activation"] else "linear",
    "init": "gaussian" if "gaussian" in left["init"] else "sphere",
    "loss": "square" if "square" in left["loss"] else "logistic",
}
tags = {section: "shape" if section == "init" else "kind" for section in here}
flowsim.Scenario({section: {tags[section]: kind} for section, kind in here.items()})
"""


@pytest.mark.papers
@pytest.mark.parametrize("sort", ["data", "networks", "activations", "losses", "inits"])
def test_without_any_one_file_of_a_sort_flowsim_imports(tmp_path, sort):
    root = copy_without(tmp_path / "copy")
    files = sorted(file for file in (root / "flowsim" / "kinds" / sort).glob("*.py") if file.stem != "__init__")
    assert len(files) > 3
    for file in files:
        aside = file.rename(tmp_path / "aside.py")
        python(root, WHAT_IS_LEFT)
        aside.rename(file)
