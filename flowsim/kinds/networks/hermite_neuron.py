"""One neuron whose response is a Hermite polynomial (Ben Arous, Gheissari & Jagannath 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ..hermite import hermite
from ..ordinary import OrdinarySection
from . import NETWORKS


class HermiteNeuron(OrdinarySection):
    """f(x) = He_k(<w, x>/|w|)/sqrt(k!), which depends on the direction of w alone: its flow keeps |w|."""

    kind: Literal["hermite_neuron"]
    exponent: Annotated[int, Field(ge=1)] = Field(2, description="k, the degree of the polynomial")

    def shapes(self, features: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
        return {"weight": (features,)}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        weight = params["weight"]
        return hermite(self.exponent, x @ weight / (weight @ weight) ** 0.5)


NETWORKS.register("hermite_neuron", HermiteNeuron)
