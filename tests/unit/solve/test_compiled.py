"""Machine code on disk is that of the sources as they are now."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import _nrt_python, rtsys

import flowsim
from flowsim import machine
from flowsim.solve.numba import compiled, kept
from flowsim.solve.numba.part import Part
from flowsim.solve.numba.regime import Regime
from flowsim.solve.numba.stepper import kernel

FOLDER = Path(compiled.__file__).parent
PACKAGE = FOLDER.parents[1]

#: Modules of Python alone; of `tableau` and `layout` compiled code takes numbers and tuples.
NOT_COMPILED = (
    "integrator.py",
    "layout.py",
    "rows.py",
    "tableau.py",
    "compiled.py",
    "part.py",
    "kept.py",
    "kernel.py",
    "__init__.py",
)

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
    """A small package of the same two folders as flowsim's, compiled as that is; ask(value) rewrites the callee and says
    what a fresh Python gets and whether its machine code came from the disk."""
    numba = tmp_path / "package" / "solve" / "numba"
    numba.mkdir(parents=True)
    for name in ("compiled.py", "part.py", "kept.py"):
        shutil.copy(FOLDER / name, numba)
    shutil.copy(PACKAGE / "machine.py", tmp_path / "package")
    (tmp_path / "package" / "kinds").mkdir()
    for source in kept.SHARED:
        shutil.copy(source, tmp_path / "package" / source.relative_to(PACKAGE))
    (numba / "caller.py").write_text(CALLER)
    code = "from package.solve.numba.caller import ask; print(ask(), sum(ask.stats.cache_hits.values()))"
    # Python takes a module's .pyc for current where source of the same size was written in the same second
    environment = {**os.environ, "FLOWSIM_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def ask(value: float) -> tuple[float, bool]:
        (numba / "callee.py").write_text(CALLEE.format(value=value))
        child = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        answer, hits = child.stdout.split()
        return float(answer), bool(int(hits))

    return ask


def test_code_is_compiled_once_and_anew_when_what_it_calls_has_changed(engine, tmp_path):
    assert engine(1.0) == (2.0, False)
    assert engine(1.0) == (2.0, True)
    assert engine(5.0) == (6.0, False)
    assert engine(5.0) == (6.0, True)
    assert engine(1.0) == (2.0, True)  # that of other versions stays
    assert not list((tmp_path / "package").rglob("*.nb[ic]"))


def test_what_is_damaged_on_the_disk_is_compiled_anew(engine, tmp_path):
    engine(1.0)
    for suffix in ("nbi", "nbc"):
        (file,) = (tmp_path / "cache" / "numba").glob(f"*.{suffix}")
        whole = file.read_bytes()
        for left in (b"", b"no pickle", whole[: len(whole) // 2]):
            file.write_bytes(left)
            assert engine(1.0) == (2.0, False), (suffix, left[:10])
        file.write_bytes(whole)


def test_what_a_kill_in_a_write_leaves_is_neither_taken_for_code_nor_kept(engine, tmp_path):
    engine(1.0)
    cache = tmp_path / "cache" / "numba"
    (index,), (code,) = cache.glob("*.nbi"), cache.glob("*.nbc")
    whole = {file.name for file in cache.iterdir()}
    code.replace(f"{code}.tmp.0123456789abcdef")
    index.with_name(f"{index.name}.tmp.0123456789abcdef").write_bytes(b"")
    (cache / "of_another.nbi.tmp.0123456789abcdef").write_bytes(b"")
    assert engine(1.0) == (2.0, False)
    assert {file.name for file in cache.iterdir()} == {*whole, "of_another.nbi.tmp.0123456789abcdef"}


def test_an_index_without_its_code_holds_nothing(monkeypatch, tmp_path):
    cache = kernel(Regime(gates=False))._entry._cache
    kinds, codegen = (), kernel(Regime(gates=False))._entry.targetctx.codegen()
    monkeypatch.setattr(cache._cache_file, "_cache_path", str(tmp_path))
    monkeypatch.setattr(cache._cache_file, "_load_index", lambda: {cache._index_key(kinds, codegen): "a.nbc"})
    assert not cache.holds(kinds, codegen)
    (tmp_path / "a.nbc").write_bytes(b"")
    assert cache.holds(kinds, codegen)


def test_the_stamp_is_of_every_module(tmp_path, monkeypatch):
    folders = {FOLDER: "numba", FOLDER.parent / "descent": "descent"}
    for folder, copy in folders.items():
        shutil.copytree(folder, tmp_path / copy, ignore=shutil.ignore_patterns("__pycache__"))
    shared = tuple(shutil.copy(source, tmp_path / source.name) for source in kept.SHARED)
    monkeypatch.setattr(kept, "HERE", tmp_path / "numba")
    monkeypatch.setattr(kept, "SHARED", shared)

    def stamp() -> str:
        return kept.stamp.__wrapped__(tmp_path / "descent")

    stamps = {stamp()}
    assert stamps == {kept.stamp.__wrapped__(tmp_path / "descent")}
    sources = sorted(tmp_path.rglob("*.py"))
    for source in sources:
        source.write_text(source.read_text() + "\n")
        stamps.add(stamp())
    assert len(stamps) == 1 + len(sources) > 15


REGIMES = [Regime(*(bool(number >> bit & 1) for bit in range(4))) for number in range(16)]


def test_every_kernel_is_on_disk_under_the_stamp_and_a_name_of_its_own():
    caches = [kernel(regime)._entry._cache for regime in REGIMES]
    files = [cache._cache_file for cache in caches]
    assert {file._source_stamp for file in files} == {kept.stamp(FOLDER)}
    assert len({file._index_name for file in files}) == len({file._index_path for file in files}) == len(REGIMES)
    assert {cache.cache_path for cache in caches} == {str(machine.folder() / "numba")}


def test_a_kernel_is_made_once():
    assert kernel(Regime(gates=False)) is kernel(Regime(gates=False))


@pytest.fixture
def no_disk(monkeypatch):
    """No folder for machine code that may be written to."""
    monkeypatch.setenv("FLOWSIM_CACHE", "/dev/null/nothing")


def test_a_copy_calls_copies_and_leaves_out_what_its_constants_rule_out(monkeypatch, no_disk):
    made = []
    monkeypatch.setattr(Part, "finalize", lambda part, whole=Part.finalize: (made.append(part.name), whole(part))[1])

    @compiled.compiled
    def missing(x: float) -> float:
        return x.there_is_no_such_thing

    @compiled.compiled
    def double(x: float) -> float:
        return 2.0 * x

    def ask(x: float) -> float:
        if WITH_MORE:  # noqa: F821
            return never(x)  # noqa: F821
        return twice(x)  # noqa: F821

    seen = {**globals(), "never": missing, "twice": double, "WITH_MORE": True}
    asking = compiled.entry(FunctionType(ask.__code__, seen, "ask"))
    plain = compiled.specialised(asking, {"WITH_MORE": False}, "plain")
    assert plain(1.5) == 3.0
    assert [name.rpartition(".")[2] for name in made] == ["double_plain"]


def test_what_only_compiled_code_calls_becomes_machine_code_in_its_entry_alone(monkeypatch, no_disk):
    # the private parts of Numba that part.py takes the place of: with another version, look here first
    emitted = []
    whole = JITCodeLibrary._finalize_specific
    monkeypatch.setattr(
        JITCodeLibrary, "_finalize_specific", lambda library: (emitted.append(library.name), whole(library))[1]
    )

    @compiled.compiled
    def deep(x: float) -> float:
        return x + 1.0

    @compiled.compiled
    def middle(x: float) -> float:
        return 3.0 * deep(x)

    def both(x: float) -> float:
        return deep(x) + middle(x)

    assert compiled.entry(both)(1.0) == 8.0
    assert not any("deep" in name or "middle" in name for name in emitted)
    assert any("both" in name for name in emitted)


def test_what_compiled_code_calls_is_of_this_engine_or_of_formulas_that_are_constants():
    # the stamp covers this folder; from outside it, compiled code may take types and these constants
    taken = {
        line.strip()
        for source in FOLDER.glob("*.py")
        if source.name not in NOT_COMPILED
        for line in re.findall(r"^from \.\..*$", source.read_text(), re.MULTILINE)
    }
    kinds = r"from \.\.\.arrays import (Floats|Integers|Booleans)(, (Floats|Integers|Booleans))*"
    others = {line for line in taken if not re.fullmatch(kinds, line)}
    assert others
    assert all(line.startswith(("from ...kinds.kernel import ", "from ..constants import ")) for line in others)


def test_without_a_folder_to_write_to_code_is_compiled_all_the_same(no_disk):
    def double(x: float) -> float:
        return 2.0 * x

    assert compiled.entry(double)(1.5) == 3.0


@pytest.mark.parametrize(
    "changes",
    [
        {"model.activation": "relu"},
        {"flow": {"method": "gradient_descent", "step": 0.5, "iterations": 20}},
    ],
    ids=["gates", "descent"],
)
def test_what_compiled_code_allocates_it_frees(changes, small):
    # what counts no references must not be handed new arrays
    scenario = small().replace(changes)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        tree = flowsim.run(scenario)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    allocated = after.mi_alloc - before.mi_alloc
    assert allocated == after.mi_free - before.mi_free
    assert tree.attrs["engine"] == "descent" or allocated > 0
