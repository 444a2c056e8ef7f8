"""exp(-y f)"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from .. import kernel
from . import LOSSES, Loss, LossSection, Tail

TAIL = Tail(value=np.zeros_like, slope=np.zeros_like, margin=np.zeros_like)


class Exponential(LossSection):
    """exp(-y f)"""

    of_margins: ClassVar[bool] = True

    kind: Literal["exponential"] = Field(description="the loss of one sample")

    @property
    def formulas(self) -> Loss:
        return Loss(
            "exponential",
            value=lambda output, target, xp: xp.exp(-target * output),
            derivative=lambda output, target, xp: -target * xp.exp(-target * output),
            log_value=lambda output, target, xp: -target * output,
            relative_derivative=lambda output, target, xp: -target + 0.0 * output,
            tail=TAIL,
            kernel=kernel.EXPONENTIAL,
        )


LOSSES.register("exponential", Exponential)
