"""pReLU, the normalised power: max(<w, x>, 0)^p / |w|^(p-1)  (Min & Vidal 2025, eq. 5)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..kernel import POWER
from . import ACTIVATIONS, Activation, ActivationSection, Degree, positive_power


class Prelu(ActivationSection):
    """h = max(<w, x>, 0)^degree / |w|^(degree - 1)"""

    activation: Literal["prelu"] = "prelu"
    degree: Degree = Field(3.0, description="p; 1 is ReLU")

    @property
    def formulas(self) -> Activation:
        degree = self.degree
        return Activation(
            "prelu",
            lambda s, log_norm, xp: positive_power(s, degree, xp),
            homogeneity=1,
            degree=degree,
            smooth=degree > 1,
            kernel=POWER,
        )


ACTIVATIONS.register("prelu", Prelu)
