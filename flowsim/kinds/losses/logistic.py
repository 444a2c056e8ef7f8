"""log(1 + exp(-y f))"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from .. import kernel
from ..margins import BORDER, beside_margin, beside_slope, beside_value, log_value, relative_slope
from . import LOSSES, Loss, LossSection, Tail

TAIL = Tail(value=beside_value, slope=beside_slope, margin=beside_margin)


class Logistic(LossSection):
    """log(1 + exp(-y f))"""

    of_margins: ClassVar[bool] = True

    kind: Literal["logistic"] = Field(description="the loss of one sample")

    @property
    def formulas(self) -> Loss:
        return Loss(
            "logistic",
            value=lambda output, target, xp: xp.logaddexp(0.0, -target * output),
            derivative=lambda output, target, xp: -target * xp.exp(-xp.logaddexp(0.0, target * output)),
            log_value=lambda output, target, xp: log_value(target * output, xp),
            relative_derivative=lambda output, target, xp: -target * relative_slope(target * output, xp),
            border=BORDER,
            tail=TAIL,
            kernel=kernel.LOGISTIC,
        )


LOSSES.register("logistic", Logistic)
