"""A linear classifier."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..activations import Activation
from ..kernel import LEAKY
from . import NETWORKS, NetworkSection


class Linear(NetworkSection):
    """A linear classifier, f(x) = <w, x>: with the logistic loss, logistic regression."""

    kind: Literal["linear"]
    bias: bool = Field(False, description="a trained bias: f(x) = <w, x> + b")
    # one linear neuron and the output weight 1, which is not trained
    two_layers: ClassVar[bool] = True
    activation: ClassVar[str] = "linear"
    neurons: ClassVar[int] = 1
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0

    @property
    def formulas(self) -> Activation:
        return Activation(
            "linear",
            lambda s, log_norm, xp: (s, xp.ones_like(s)),
            homogeneity=1,
            degree=1,
            smooth=True,
            inactive_slope=1.0,
            kernel=LEAKY,
        )


NETWORKS.register("linear", Linear)
