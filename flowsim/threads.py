"""Threads: of the BLAS libraries more than one only where a product is large, and where no other thread wants the core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

#: Operations per evaluation (4 n r m) from which on matrix products may use several threads. Below, a product takes less
#: time than a thread may have to wait for a core that another program has: benchmarks/engines.py.
THREADED = 500_000_000

_lock = Lock()
_alone: list[None] = []  # as many as are inside one_core
_inside: list[Any] = []  # one limit for all threads that are inside, since BLAS has one setting for all


def blas_threads(operations: int) -> AbstractContextManager[None]:
    """As many BLAS threads as pay where an evaluation takes so many operations."""
    return one_blas_thread() if operations < THREADED else nullcontext()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS runs on the calling thread alone until the last of those that are inside at once has left."""
    with _lock:
        if not _inside:
            _free()
        _inside.append(_controller().limit(limits=1, user_api="blas") if not _inside else None)
    try:
        yield
    finally:
        with _lock:
            limit = _inside[0]
            _inside.pop()
            if not _inside:
                _free()
                limit.restore_original_limits()
                _free()


@contextmanager
def one_core() -> Iterator[None]:
    """All that is inside runs on one core, whatever others there are: they belong to other processes."""
    _alone.append(None)
    try:
        with one_blas_thread():
            yield
    finally:
        _alone.pop()


def cores() -> int:
    """Processor cores that this process may use, or is told to."""
    if _alone:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _free() -> None:
    """Let any thread set limits. threadpoolctl, from 3.8 on, obeys only the first one that did and ignores all others,
    but who comes first need not leave last."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _controller() -> ThreadpoolController:
    """The libraries that are loaded by the first call, which are all: NumPy's and SciPy's."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
