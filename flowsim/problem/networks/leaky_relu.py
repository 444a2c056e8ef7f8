"""Leaky ReLU: max(<w, x>, slope <w, x>)."""

from types import ModuleType

from ...kinds.kernel import LEAKY
from ...scenario.model import LeakyRelu
from .activation import Activation, Array


def build(model: LeakyRelu) -> Activation:
    slope = model.slope

    def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
        gain = xp.where(s > 0, 1.0, slope)
        return gain * s, gain

    return Activation(
        "leaky_relu", response, homogeneity=1, degree=1, smooth=slope == 1, inactive_slope=slope, kernel=LEAKY
    )
