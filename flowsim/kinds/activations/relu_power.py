"""The plain power of ReLU: max(<w, x>, 0)^p  (Min & Vidal 2025, Appendix B.2)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..kernel import POWER
from . import ACTIVATIONS, Activation, ActivationSection, Degree, positive_power


class ReluPower(ActivationSection):
    """h = max(<w, x>, 0)^degree"""

    activation: Literal["relu_power"]
    degree: Degree = Field(3.0, description="p; 1 is ReLU")

    @property
    def formulas(self) -> Activation:
        degree = self.degree
        return Activation(
            "relu_power",
            lambda s, log_norm, xp: positive_power(s, degree, xp),
            homogeneity=degree,
            degree=degree,
            smooth=degree > 1,
            kernel=POWER,
        )


ACTIVATIONS.register("relu_power", ReluPower)
