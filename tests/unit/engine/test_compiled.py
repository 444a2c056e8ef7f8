"""Machine code on disk is that of the sources as they are now."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

from flowsim.engine.numba import compiled

FOLDER = Path(compiled.__file__).parent

CALLER = """
from .callee import answer
from .compiled import entry


@entry
def ask() -> float:
    return answer() + 1.0
"""
CALLEE = """
from .compiled import compiled


@compiled
def answer() -> float:
    return {value}
"""


@pytest.fixture
def engine(tmp_path):
    """A small engine of two files, compiled as flowsim's is; ask(value) rewrites the callee and says what a fresh Python
    gets and whether its machine code came from the disk."""
    package = tmp_path / "engine"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(FOLDER / "compiled.py", package)
    (package / "caller.py").write_text(CALLER)
    code = "from engine.caller import ask; print(ask(), sum(ask.stats.cache_hits.values()))"

    def ask(value: float) -> tuple[float, bool]:
        (package / "callee.py").write_text(CALLEE.format(value=value))
        child = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        answer, hits = child.stdout.split()
        return float(answer), bool(int(hits))

    return ask


def test_code_is_compiled_once_and_anew_when_what_it_calls_has_changed(engine):
    assert engine(1.0) == (2.0, False)
    assert engine(1.0) == (2.0, True)
    assert engine(5.0) == (6.0, False)
    assert engine(5.0) == (6.0, True)


def test_the_stamp_is_of_every_module(tmp_path, monkeypatch):
    networks = FOLDER.parents[1] / "problem" / "networks"
    for folder, copy in ((FOLDER, "engine/numba"), (networks, "problem/networks")):
        shutil.copytree(folder, tmp_path / copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "engine/numba/compiled.py"))
    stamps = {compiled._stamp()}
    assert stamps == {compiled.STAMP}
    sources = sorted(tmp_path.rglob("*.py"))
    for source in sources:
        source.write_text(source.read_text() + "\n")
        stamps.add(compiled._stamp())
    assert len(stamps) == 1 + len(sources) > 15


def test_every_entry_is_on_disk_under_the_stamp():
    from flowsim.engine.numba import stepper

    entries = [value for value in vars(stepper).values() if hasattr(value, "_cache") and value._cache.cache_path]
    assert {entry.__name__ for entry in entries} == {"advance", "through", "inside"}
    for entry in entries:
        assert entry._cache._cache_file._source_stamp == compiled.STAMP


def test_what_compiled_code_calls_is_of_this_engine_or_of_formulas_that_are_constants():
    # the stamp covers this folder; from outside it, compiled code may take types and this number
    taken = {
        line.strip()
        for source in FOLDER.glob("*.py")
        if source.name not in ("integrator.py", "layout.py", "rows.py", "tableau.py", "compiled.py", "__init__.py")
        for line in re.findall(r"^from \.\.\..*$", source.read_text(), re.MULTILINE)
    }
    kinds = r"from \.\.\.problem\.data\.samples import (Floats|Integers|Booleans)(, (Floats|Integers|Booleans))*"
    assert {line for line in taken if not re.fullmatch(kinds, line)} == {
        "from ...problem.networks.tanh import LINEAR_BELOW"
    }


def test_without_a_folder_to_write_to_code_is_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    def double(x: float) -> float:
        return 2.0 * x

    assert compiled.entry(double)(1.5) == 3.0
