"""Features of the tangent kernel of the symmetric ReLU (Allen-Zhu & Li 2022, Definition 5.5).

f(x) = sum_j <v_j, x> g_j(x), linear in what is trained, v, with gates g_j that random weights w_j have fixed for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from ...arrays import Floats
from ..activations import Activation
from ..inits import Shape
from ..ordinary import NeuronsSection, Streams
from ..section import Count, NonNegative
from . import NETWORKS

#: The random weights of the gates.
GATES = "gates"


class NtkFeatures(NeuronsSection):
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
    activation: ClassVar[str] = "ntk_features"
    output: ClassVar[str] = "fixed"  # a sum of the neurons
    bias: ClassVar[bool] = False

    @property
    def neurons(self) -> int:
        return self.width

    @property
    def formulas(self) -> Activation:
        """Of v_j alone; its response times the gate is the neuron's."""
        return Activation(
            "ntk_features", lambda s, log_norm, xp: (s, xp.ones_like(s)), homogeneity=1, degree=None, smooth=True
        )

    @property
    def output_degree(self) -> float:
        return 1.0

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        return {self.NEURONS: init.rows(streams("initialisation"), (self.width, features))}

    def constants(self, streams: Streams, features: int) -> Mapping[str, Floats]:
        return {GATES: streams("model.features").standard_normal((self.width, features))}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        return self.signals(params, x)[self.NEURONS].sum(axis=1)

    def signals(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        return {self.NEURONS: (x @ params[self.NEURONS].T) * self._gates(x @ params[GATES].T)}

    def _gates(self, z: Any) -> Any:
        """g_j(x_i) for z (n, m), <w_j, x_i>"""
        from ..in_jax import normal_cdf  # with JAX, which other networks do without

        sign = 1.0 if self.gates == "sum" else -1.0
        if not self.smoothing * self.threshold:
            return 1.0 * (z >= self.threshold) + sign * (-z >= self.threshold)
        spread = self.smoothing * self.threshold
        return normal_cdf((z - self.threshold) / spread) + sign * normal_cdf((-z - self.threshold) / spread)


NETWORKS.register("ntk_features", NtkFeatures)
