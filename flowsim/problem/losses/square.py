"""(f - y)^2 / 2"""

import math
from types import ModuleType

from ...kinds import kernel
from .loss import Array, Loss


def log_value(output: Array, target: Array, xp: ModuleType) -> Array:
    residual = xp.abs(output - target)
    return xp.where(residual > 0, 2 * xp.log(xp.where(residual > 0, residual, 1.0)), -xp.inf) - math.log(2)


SQUARE = Loss(
    "square",
    value=lambda output, target, xp: 0.5 * (output - target) ** 2,
    derivative=lambda output, target, xp: output - target,
    log_value=log_value,
    kernel=kernel.SQUARE,
)
