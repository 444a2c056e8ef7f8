"""(f - y)^2 / 2"""

from __future__ import annotations

import math
from types import ModuleType
from typing import ClassVar, Literal

from pydantic import Field

from .. import kernel
from . import LOSSES, Array, Loss, LossSection


def log_value(output: Array, target: Array, xp: ModuleType) -> Array:
    residual = xp.abs(output - target)
    return xp.where(residual > 0, 2 * xp.log(xp.where(residual > 0, residual, 1.0)), -xp.inf) - math.log(2)


class Square(LossSection):
    """(f - y)^2 / 2"""

    of_any_target: ClassVar[bool] = True

    kind: Literal["square"] = Field("square", description="the loss of one sample")

    @property
    def formulas(self) -> Loss:
        return Loss(
            "square",
            value=lambda output, target, xp: 0.5 * (output - target) ** 2,
            derivative=lambda output, target, xp: output - target,
            log_value=log_value,
            kernel=kernel.SQUARE,
        )


LOSSES.register("square", Square)
