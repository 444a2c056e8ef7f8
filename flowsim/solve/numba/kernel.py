"""Entries of the compiled engine: from the disk where they are there, else compiled, by one process for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

from ...machine import VARIABLE, measured, remember, writable
from ..compiling import compiling, warn
from .compiled import specialised
from .kept import folder
from .regime import Regime

#: About how many processor seconds a kernel takes to compile, and each part of a regime more, where it was never measured.
PLAIN, MORE = 6.0, {"gates": 20.0, "chebyshev": 3.0, "loss_clock": 4.0, "purification": 3.0}


class Kernel:
    """An entry for the problems of a regime, all of which call it with arguments of the same types.

    name: under which is remembered how long it took to compile.
    """

    def __init__(self, entry: Callable[..., Any], regime: Regime, variant: str = ""):
        self._entry: Any = specialised(entry, regime.constants, regime.name)
        self._regime, self._lock, self._loaded = regime, Lock(), False
        self.name = " ".join(filter(None, (entry.__name__.strip("_"), regime.name, variant)))

    def __call__(self, *arguments: Any) -> Any:
        if not self._loaded:
            self._load(arguments)
        return self._entry(*arguments)

    def missing(self, arguments: tuple[Any, ...]) -> float:
        """About how many seconds compiling it will take, 0 where it is there."""
        return 0.0 if self._loaded or self._holds(self._kinds(arguments)) else self._expected

    @property
    def _expected(self) -> float:
        needed = (seconds for part, seconds in MORE.items() if getattr(self._regime, part))
        return measured().get(self.name, PLAIN + sum(needed))

    def _kinds(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(self._entry.typeof_pyval, arguments))

    def _holds(self, kinds: tuple[Any, ...]) -> bool:
        return bool(self._entry._cache.holds(kinds, self._entry.targetctx.codegen()))

    def _load(self, arguments: tuple[Any, ...]) -> None:
        with self._lock:
            if self._loaded:
                return
            kinds = self._kinds(arguments)
            if self._holds(kinds):
                self._entry.compile(kinds)
            else:
                with compiling(self._expected, once=True), _alone(self.name):
                    self._compile(kinds)
            self._loaded = True

    def _compile(self, kinds: tuple[Any, ...]) -> None:
        there = self._holds(kinds)  # from another process, for which this one waited
        begun = time.thread_time()
        self._entry.compile(kinds)
        seconds = time.thread_time() - begun
        if self._entry._cache.unkept:
            warn(
                f"compiled code cannot be kept ({self._entry._cache.unkept}), so every process compiles it anew, "
                f"which took {seconds:.0f} s; {VARIABLE} can name another folder"
            )
        elif not there:
            remember(self.name, seconds)


def _alone(name: str) -> AbstractContextManager[Any]:
    """Held by one process at a time; by all, where nothing can be written."""
    if not writable(folder()):
        return nullcontext()
    from filelock import FileLock

    return FileLock(folder() / f"{name}.lock")
