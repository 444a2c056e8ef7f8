"""tanh(<w, x>), written as |w| k with k = tanh(|w| s)/|w| so that tiny weights lose nothing."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar, Literal

from ..kernel import LINEAR_BELOW, TANH
from . import ACTIVATIONS, Activation, ActivationSection, Array


def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
    norm = xp.exp(xp.maximum(log_norm, LINEAR_BELOW))
    value = xp.tanh(norm * s)
    linear = log_norm < LINEAR_BELOW
    return xp.where(linear, s, value / norm), xp.where(linear, 1.0, 1.0 - value * value)


class Tanh(ActivationSection):
    """h = tanh(<w, x>)"""

    activation: Literal["tanh"]
    pointwise: ClassVar[bool] = True

    @property
    def formulas(self) -> Activation:
        return Activation("tanh", response, homogeneity=1, degree=None, smooth=True, kernel=TANH)


ACTIVATIONS.register("tanh", Tanh)
