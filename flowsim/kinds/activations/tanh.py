"""tanh(<w, x>), written as |w| k with k = tanh(|w| s)/|w| so that tiny weights lose nothing."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ..kernel import LINEAR_BELOW, TANH
from . import ACTIVATIONS, Activation, ActivationSection, Array


def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
    norm = xp.exp(xp.maximum(log_norm, LINEAR_BELOW))
    value = xp.tanh(norm * s)
    linear = log_norm < LINEAR_BELOW
    return xp.where(linear, s, value / norm), xp.where(linear, 1.0, 1.0 - value * value)


def bend(low: Floats, high: Floats) -> Floats:
    """-tanh'' = 2 tanh (1 - tanh^2) is largest where tanh^2 = 1/3"""
    value = np.tanh(np.clip(np.arctanh(3**-0.5), low, high))
    return np.maximum(2 * value * (1 - value**2), 0.0)


class Tanh(ActivationSection):
    """h = tanh(<w, x>)"""

    activation: Literal["tanh"]
    pointwise: ClassVar[bool] = True

    @property
    def formulas(self) -> Activation:
        return Activation(
            "tanh", response, homogeneity=1, degree=None, smooth=True, lipschitz=1.0, bend=bend, kernel=TANH
        )


ACTIVATIONS.register("tanh", Tanh)
