"""What the flow needs to know of a loss per sample l(f, y)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Array = Any  # NumPy or JAX: the formulas are the same, `xp` is the namespace


@dataclass(frozen=True)
class Loss:
    """value, derivative (in f) and log_value: (output, target, xp) -> array; log_value is exact where value underflows.

    relative_derivative: l'/l, exact where both underflow, of losses that fall for ever; None of others.
    classes: whether targets are indices of classes and outputs (…, k, n) have an axis of them, which `derivative` keeps.
    kernel: its code in compiled code, None of one that has none.
    """

    name: str
    value: Callable[[Array, Array, ModuleType], Array]
    derivative: Callable[[Array, Array, ModuleType], Array]
    log_value: Callable[[Array, Array, ModuleType], Array]
    relative_derivative: Callable[[Array, Array, ModuleType], Array] | None = None
    classes: bool = False
    kernel: int | None = None
