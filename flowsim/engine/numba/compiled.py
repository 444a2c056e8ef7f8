"""How every function of this engine is compiled."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])
njit: Any = numba.njit  # its stubs do not know every option


def _stamp(*others: Path) -> str:
    """What the compiled code was made from: the text of every module of this engine, of the networks whose constants it
    has, and of other folders."""
    engine = Path(__file__).parent
    folders = (engine, engine.parents[1] / "problem" / "networks", *others)
    sources = [source for folder in folders for source in sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


STAMP = _stamp()


#: Without Python's lock, and with sums in any order; nan and inf keep their meaning.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}
#: For a function that only compiled code calls.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Function) -> Function:
    """A function that other compiled functions call."""
    return cast(Function, njit(**INNER)(function))


def inlined(function: Function) -> Function:
    """The same for one that is called from a single place: put there before it is compiled, which takes half the time."""
    return cast(Function, njit(inline="always", **INNER)(function))


def entry(function: Function) -> Function:
    """A compiled function that Python calls; its machine code, with all that it calls, is kept on disk.

    Numba would take it from there while the time of the function's own file stands. What it calls is in other files too, so
    the stamp is made from all of them: those of this engine and of the function's own folder.
    """
    try:
        dispatcher = njit(cache=True, no_cfunc_wrapper=True, **OPTIONS)(function)
    except RuntimeError:  # no folder that may be written to: then every process compiles for itself
        return cast(Function, njit(no_cfunc_wrapper=True, **OPTIONS)(function))
    home = Path(inspect.getfile(function)).parent
    dispatcher._cache._cache_file._source_stamp = STAMP if home == Path(__file__).parent else _stamp(home)
    return cast(Function, dispatcher)
