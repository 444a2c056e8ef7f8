"""The machine code of entries, kept in flowsim's own folder, under a stamp of all that it was made from.

Numba would keep it beside the source, or in a folder of its own, for as long as the entry's own file stays the same. What
an entry calls is in other files too. This takes the place of private parts of Numba: its version is bounded in
pyproject.toml, and tests/unit/solve/test_compiled.py says what has to hold.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from ...machine import folder as kept_here

HERE = Path(__file__).parent
#: Constants that compiled code shares with the formulas.
SHARED = (HERE.parents[1] / "kinds" / "kernel.py", HERE.parent / "constants.py")

#: What reading a file raises that is not there as a whole.
DAMAGED = (OSError, EOFError, ValueError, LookupError, TypeError, pickle.UnpicklingError)


@cache
def stamp(home: Path) -> str:
    """Of the text of every module of this engine, of the constants it shares, and of the folder that an entry is from."""
    sources = [*SHARED, *(source for folder in dict.fromkeys((HERE, home)) for source in sorted(folder.glob("*.py")))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def folder() -> Path:
    return kept_here() / "numba"


class _InFolder(_CacheLocator):
    """Where, and under which stamp. Versions of flowsim have files of their own there."""

    def __init__(self, home: Path):
        self._stamp, self._folder = stamp(home), folder()

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> _InFolder:
        return cls(Path(py_file).parent)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._stamp[:12]


class _Impl(CompileResultCacheImpl):
    _locator_classes: Any = (_InFolder,)


class Kept(FunctionCache):
    """What Numba asks for an entry's machine code, and gives it to. unkept: why it could not be kept, or ""."""

    _impl_class = _Impl

    def __init__(self, function: Callable[..., object]):
        super().__init__(function)
        self.unkept = ""

    def holds(self, kinds: Any, codegen: Any) -> bool:
        """Whether there is code for arguments of these types, and for this processor. Numba writes the index before the
        code, so a kill may leave the first alone."""
        try:
            name = self._cache_file._load_index().get(self._index_key(kinds, codegen))
        except DAMAGED:
            return False
        return name is not None and Path(self._cache_file._data_path(name)).is_file()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """None where there is nothing, or something damaged."""
        try:
            return super().load_overload(sig, target_context)
        except DAMAGED:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._remove_left_overs()
            try:
                self._cache_file._load_index()
            except DAMAGED:
                self._cache_file.flush()
            super().save_overload(sig, data)
        except OSError as error:
            self.unkept = f"{self.cache_path}: {error.strerror}"

    def _remove_left_overs(self) -> None:
        """Remove what processes that were killed as they wrote this entry have left: one process at a time compiles it."""
        index = Path(self._cache_file._index_path)
        for file in index.parent.glob(f"{escape(index.stem)}.*.tmp.*"):
            file.unlink(missing_ok=True)
