"""[loss]: what is minimised."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Section


class Loss(Section):
    """Per sample: square (f - y)^2 / 2, logistic log(1 + exp(-y f)), exponential exp(-y f)."""

    kind: Literal["square", "logistic", "exponential"] = Field("square", description="the loss of one sample")
    reduction: Literal["mean", "sum", "per_cluster"] = Field(
        "mean", description='"mean" (1/n), "sum", or "per_cluster" (1/N with N = n/K samples in each cluster)'
    )
