"""Features of the tangent kernel of the symmetric ReLU (Allen-Zhu & Li 2022, Definition 5.5).

f(x) = sum_j <v_j, x> g_j(x), linear in what is trained, v, with gates g_j that random weights w_j have fixed for good.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..activations import Activation
from ..gates import Gates
from ..section import Count, NonNegative
from ..streams import stream
from . import NETWORKS, NetworkSection


class NtkFeatures(NetworkSection):
    """f(x) = sum_j <v_j, x> g_j(x) with g_j(x) = P(<w_j, x> + r >= b) + P(-<w_j, x> + r >= b), r ~ N(0, sigma^2).

    Only v is trained. w_j ~ N(0, I) is drawn once, and sigma = smoothing b. With the sum of the two, x g_j(x) is the
    derivative of `symmetric_relu` in w_j."""

    kind: Literal["ntk_features"]
    width: Count = Field(50, description="number of neurons, each of which has as many features as the data")
    threshold: NonNegative = Field(description="b, for entries of w_j of variance 1")
    smoothing: NonNegative = Field(0.0, description="standard deviation of the noise, in units of b")
    gates: Literal["sum", "difference"] = Field(
        "sum", description='"difference" subtracts the second probability: f(-x) is then f(x)'
    )
    gated: ClassVar[bool] = True
    activation: ClassVar[str] = "ntk_features"
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0

    @property
    def neurons(self) -> int:
        return self.width

    @property
    def formulas(self) -> Activation:
        """Of v_j alone; its response times the gate is the neuron's. degree is None, as powers' formulas know no gates."""
        return Activation(
            "ntk_features", lambda s, log_norm, xp: (s, xp.ones_like(s)), homogeneity=1, degree=None, smooth=True
        )

    def draw_gates(self, dimension: int, seed: int) -> Gates:
        weights = stream(seed, "model.features").standard_normal((self.width, dimension))
        sign = 1.0 if self.gates == "sum" else -1.0
        return Gates(weights, self.threshold, self.smoothing * self.threshold, sign)


NETWORKS.register("ntk_features", NtkFeatures)
