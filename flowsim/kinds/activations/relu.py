"""ReLU: max(<w, x>, 0)."""

from __future__ import annotations

from typing import ClassVar, Literal

from ..kernel import LEAKY
from . import ACTIVATIONS, Activation, ActivationSection, positive_power


class Relu(ActivationSection):
    """h = max(<w, x>, 0)"""

    activation: Literal["relu"]
    pointwise: ClassVar[bool] = True

    @property
    def formulas(self) -> Activation:
        return Activation(
            "relu",
            lambda s, log_norm, xp: positive_power(s, 1, xp),
            homogeneity=1,
            degree=1,
            smooth=False,
            lipschitz=1.0,
            kernel=LEAKY,
        )


ACTIVATIONS.register("relu", Relu)
