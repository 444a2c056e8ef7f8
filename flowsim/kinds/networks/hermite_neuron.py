"""One neuron whose response is a Hermite polynomial."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...arrays import Floats
from ..drawing import Drawing
from ..hermite import hermite
from ..network import Array
from ..ordinary import OrdinaryNetwork, Params
from ..samples import Samples
from ..streams import stream
from . import NETWORKS


class HermiteNeuron(OrdinaryNetwork):
    """f(x) = He_k(<w, x>/|w|)/sqrt(k!), which depends on the direction of w alone: its flow keeps |w|."""

    kind: Literal["hermite_neuron"]
    exponent: Annotated[int, Field(ge=1)] = Field(2, description="k, the degree of the polynomial")

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        init, generator = self.shape_of_start(scenario), stream(scenario.single_seed, "initialisation")
        return {"weight": init.scale * init.rows(generator, (1, samples.inputs.shape[1]))[0]}

    def apply(self, params: Params, x: Array) -> Array:
        weight = params["weight"]
        return hermite(self.exponent, x @ weight / (weight @ weight) ** 0.5)


NETWORKS.register("hermite_neuron", HermiteNeuron)
