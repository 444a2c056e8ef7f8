"""Compiling: how long it took so far in this process, and who is told while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TypeVar

#: Given about how many seconds it will take, and whether it is for this machine, once: what is open while it goes on.
Teller = Callable[[float, bool], AbstractContextManager[None]]
Warn = Callable[[str], None]
T = TypeVar("T")

_tellers: list[Teller] = []
_warners: list[Warn] = []
_lock = Lock()
_spent = 0.0


def spent() -> float:
    """Seconds of it, and of waiting for another process that does it."""
    return _spent


def working() -> float:
    """A clock that stands still meanwhile, in seconds."""
    return time.monotonic() - _spent


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
    global _spent
    begun = time.monotonic()
    try:
        with _tellers[-1](expected, once) if _tellers else nullcontext():
            yield
    finally:
        with _lock:
            _spent += time.monotonic() - begun


def warn(message: str) -> None:
    if _warners:
        _warners[-1](message)
