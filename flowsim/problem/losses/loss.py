"""What the flow needs to know of a loss per sample l(f, y)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

Array = Any  # NumPy or JAX: the formulas are the same, `xp` is the namespace


@dataclass(frozen=True)
class Loss:
    """value, derivative (in f) and log_value: (output, target, xp) -> array; log_value is exact where value underflows.

    relative_derivative: l'/l, exact where both underflow, of losses that fall for ever; None of others.
    classes: whether targets are indices of classes and outputs (…, k, n) have an axis of them, which `derivative` keeps.
    vectors: whether targets (k, n) and outputs (…, k, n) have an axis over which the loss is a sum.
    kernel: its code in compiled code, None of one that has none.
    """

    name: str
    value: Callable[[Array, Array, ModuleType], Array]
    derivative: Callable[[Array, Array, ModuleType], Array]
    log_value: Callable[[Array, Array, ModuleType], Array]
    relative_derivative: Callable[[Array, Array, ModuleType], Array] | None = None
    classes: bool = False
    kernel: int | None = None
    vectors: bool = False

    @property
    def several(self) -> bool:
        """Whether outputs have an axis."""
        return self.classes or self.vectors

    def of_vectors(self) -> Loss:
        """The sum of the losses of the entries of vectors."""
        return replace(
            self,
            value=lambda output, target, xp: self.value(output, target, xp).sum(axis=-2),
            log_value=lambda output, target, xp: _log_sum(self.log_value(output, target, xp), xp),
            relative_derivative=None,
            vectors=True,
        )


def _log_sum(logs: Array, xp: ModuleType) -> Array:
    """log of the sum of e^logs (…, k, n) over k, also where all are -inf"""
    top = logs.max(axis=-2)
    shift = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.exp(logs - shift[..., None, :]).sum(axis=-2)
    return xp.where(total > 0, shift + xp.log(xp.where(total > 0, total, 1.0)), -xp.inf)
