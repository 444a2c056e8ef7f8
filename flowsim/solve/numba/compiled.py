"""How every function of this engine is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

import numba

from .kept import Kept
from .part import PartCompiler

Function = TypeVar("Function", bound=Callable[..., object])
njit: Any = numba.njit  # its stubs do not know every option


#: Without Python's lock, and with sums in any order; nan and inf keep their meaning. Arrays are the caller's, so that their
#: references need not be counted: that took half of the time of small problems.
OPTIONS = {"_nrt": False, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}
#: For a function that only compiled code calls.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}

#: py_func of a compiled function -> how it is compiled, for copies of it.
_made: dict[Callable[..., object], Callable[..., Any]] = {}
#: (py_func, name of a copy) -> the copy
_copies: dict[tuple[Callable[..., object], str], Any] = {}
_lock = Lock()


def compiled(function: Function) -> Function:
    """A function that other compiled functions call."""
    _made[function] = compiled
    return cast(Function, njit(**INNER)(function))


def allocating(function: Function) -> Function:
    """The same for one that makes arrays, or returns them."""
    _made[function] = allocating
    return cast(Function, njit(**{**INNER, "_nrt": True})(function))


def inlined(function: Function) -> Function:
    """The same for one that is put where it is called before that is compiled, so that the loop around it is vectorised."""
    _made[function] = inlined
    return cast(Function, njit(inline="always", **INNER)(function))


def entry(function: Function) -> Function:
    """A compiled function that Python calls; its machine code, with all that it calls, is kept on disk."""
    _made[function] = entry
    dispatcher = njit(no_cfunc_wrapper=True, **OPTIONS)(function)
    dispatcher._cache = Kept(function)
    return cast(Function, dispatcher)


def specialised(function: Function, constants: Mapping[str, bool], name: str) -> Function:
    """A copy of a compiled function, and of all that it calls, with these values for the constants of its modules.

    What a constant rules out is dropped before it is compiled, and with it what only that calls. A name stands for the same
    constants in all calls; under it an entry's machine code is kept on disk, beside that of its other copies.
    """
    with _lock:
        return cast(Function, _copy(function, constants, name))


def _copy(dispatcher: Any, constants: Mapping[str, bool], name: str) -> Any:
    function = dispatcher.py_func
    if (function, name) not in _copies:
        seen = {**function.__globals__, **constants}
        copy = FunctionType(function.__code__, seen, function.__name__, function.__defaults__, function.__closure__)
        copy.__qualname__, copy.__module__ = f"{function.__qualname__}_{name}", function.__module__
        _copies[function, name] = _made[function](copy)
        for called in function.__code__.co_names:  # those of fields too: what is not called is not compiled
            if getattr(seen.get(called), "py_func", None) in _made:
                seen[called] = _copy(seen[called], constants, name)
    return _copies[function, name]
