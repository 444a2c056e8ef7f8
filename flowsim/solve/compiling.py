"""Compiling: how long it took so far in this process, and who is told while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TypeVar

from ..machine import measured, remember

#: Given about how many seconds it will take, and whether it is for this machine, once: what is open while it goes on.
Teller = Callable[[float, bool], AbstractContextManager[None]]
Warn = Callable[[str], None]
#: Under what name is remembered what compiling takes for each trained array.
PER_ARRAY = "{} per array"
T = TypeVar("T")

_tellers: list[Teller] = []
_warners: list[Warn] = []
_lock = Lock()
_compilers = 0  # at this moment, in all threads
_since = 0.0  # when the first of them began
_spent = 0.0  # until then


def foreseen(name: str, arrays: int, default: float) -> float:
    """About how many seconds it takes to compile code of this name for a network of so many trained arrays: a network has
    layers as it has arrays. default: of each array, where it was never measured."""
    return arrays * measured().get(PER_ARRAY.format(name), default)


def took(name: str, arrays: int, seconds: float) -> None:
    """For `foreseen`."""
    remember(PER_ARRAY.format(name), seconds / arrays)


def spent() -> float:
    """Seconds in which something was compiled, or another process was waited for that did; once for all threads."""
    with _lock:
        return _spent + (time.monotonic() - _since if _compilers else 0.0)


def working() -> float:
    """A clock that stands still meanwhile, in seconds."""
    with _lock:
        return (_since if _compilers else time.monotonic()) - _spent


class Clock:
    """How long a run takes. before: the seconds that earlier parts of it took."""

    def __init__(self) -> None:
        self.before, self._began, self._spent = 0.0, working(), spent()

    def start(self) -> None:
        """Count seconds from here on; compiling is counted from the beginning."""
        self._began = working()

    @property
    def seconds(self) -> float:
        """Those of earlier parts included, without compiling."""
        return self.before + working() - self._began

    @property
    def compiling(self) -> float:
        """Seconds spent compiling."""
        return spent() - self._spent


def telling(teller: Teller) -> AbstractContextManager[None]:
    """Inside, the teller hears of all that is compiled, if nobody else does further inside."""
    return _among(_tellers, teller)


def warning(warn: Warn) -> AbstractContextManager[None]:
    """Inside, `warn` hears of what could not be kept."""
    return _among(_warners, warn)


@contextmanager
def _among(listening: list[T], one: T) -> Iterator[None]:
    listening.append(one)
    try:
        yield
    finally:
        listening.remove(one)


@contextmanager
def compiling(expected: float, once: bool) -> Iterator[None]:
    """Around what compiles something, or waits for another process that does. once: for this machine, not for a run."""
    _begin()
    try:
        with _tellers[-1](expected, once) if _tellers else nullcontext():
            yield
    finally:
        _end()


def _begin() -> None:
    global _compilers, _since
    with _lock:
        if not _compilers:
            _since = time.monotonic()
        _compilers += 1


def _end() -> None:
    global _compilers, _spent
    with _lock:
        _compilers -= 1
        if not _compilers:
            _spent += time.monotonic() - _since


def warn(message: str) -> None:
    if _warners:
        _warners[-1](message)
