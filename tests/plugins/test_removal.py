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
    "claim": (["flowsim/papers/li_2025.py", "scenarios/li_2025"], "li_2025."),
}


def kinds_of(root: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(
        python(root, 'from flowsim.cli import main\nmain(["list", "--kinds", "--json"])')
    )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("sort", "files", "begin"), [(sort, *gone) for sort, gone in GONE.items()], ids=GONE)
def test_without_the_file_of_a_kind_all_else_works(tmp_path, sort, files, begin):
    root = copy_without(tmp_path, *files)
    python(root, ALL_OF_IT + A_RUN)
    kinds = kinds_of(root)[sort]
    assert kinds
    assert not any(name.startswith(begin) for name in kinds)


def test_with_all_files_these_kinds_are_there():
    kinds = kinds_of(PACKAGE.parent)
    for sort, (_, begin) in GONE.items():
        assert any(name.startswith(begin) for name in kinds[sort])
