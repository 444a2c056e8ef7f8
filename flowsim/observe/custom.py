"""Observables that Python hands over beside a network: functions of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import UsageError
from ..solve import Snapshot
from .instant import Instant, Setting
from .observable import OBSERVABLES, Observable


def handed(functions: Mapping[str, Callable[[Any], Any]], setting: Setting) -> list[tuple[Observable, tuple[int, ...]]]:
    """(observable, its shape at one instant) for each of them. Raises UsageError where one has the name of another
    observable or its value is no array of numbers."""
    found = []
    for name, function in functions.items():
        if name in OBSERVABLES or not name.isidentifier():
            raise UsageError(f"observe: {name!r} is the name of another observable, or none; choose another")
        value = _in_numpy(function)
        first = value(Instant(setting, Snapshot.first(setting.reduced)))
        if first.dtype != float:
            raise UsageError(f"observe: {name} gives {type(function).__name__} values that are no numbers")
        dims = tuple(f"{name}_{axis}" for axis in range(first.ndim))
        told = f"{name}, a function of the parameters that was handed over"
        found.append((Observable(name, dims, told, value, any_network=True), first.shape))
    return found


def _in_numpy(function: Callable[[Any], Any]) -> Callable[[Instant], Floats]:
    return lambda instant: instant.singly(lambda single: np.asarray(function(single.params), dtype=float))
