"""[loss]: what is minimised."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Section

#: Losses that are never 0: their flow goes on for ever, and its direction to a KKT point of the largest margin.
MARGIN_LOSSES = ("logistic", "exponential")


class Loss(Section):
    """Per sample: square (f - y)^2 / 2, logistic log(1 + exp(-y f)), exponential exp(-y f), cross_entropy
    -log softmax(f)_y of a network with an output for every cluster."""

    kind: Literal["square", "logistic", "exponential", "cross_entropy"] = Field(
        "square", description="the loss of one sample"
    )
    reduction: Literal["mean", "sum", "per_cluster"] = Field(
        "mean", description='"mean" (1/n), "sum", or "per_cluster" (1/N with N = n/K samples in each cluster)'
    )
