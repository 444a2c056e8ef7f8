"""Leaky ReLU: max(<w, x>, slope <w, x>)."""

from __future__ import annotations

from types import ModuleType
from typing import Literal

from pydantic import Field

from ..kernel import LEAKY
from . import ACTIVATIONS, Activation, ActivationSection, Array


class LeakyRelu(ActivationSection):
    """h = max(<w, x>, slope <w, x>)"""

    activation: Literal["leaky_relu"]
    slope: float = Field(0.01, ge=0, le=1, description="slope on the negative side; 1 makes the neuron linear")

    @property
    def formulas(self) -> Activation:
        slope = self.slope

        def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
            gain = xp.where(s > 0, 1.0, slope)
            return gain * s, gain

        return Activation(
            "leaky_relu", response, homogeneity=1, degree=1, smooth=slope == 1, inactive_slope=slope, kernel=LEAKY
        )


ACTIVATIONS.register("leaky_relu", LeakyRelu)
