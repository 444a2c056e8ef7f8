"""[loss]: what is minimised."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..kinds.section import NonNegative, Section


class Regularizer(Section):
    """Added to the loss: square |w_j|^2 / 2 + cubic |w_j|^3 / 3, summed over the neurons, their biases included."""

    square: NonNegative = Field(0.0, description="weight decay: shrinks w_j at the rate square")
    cubic: NonNegative = Field(0.0, description="shrinks w_j at the rate cubic |w_j|")

    @property
    def used(self) -> bool:
        return self.square > 0 or self.cubic > 0


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
    regularizer: Regularizer = Field(
        Regularizer(), description="of two-layer networks' neurons; what is kept as loss is without it"
    )
