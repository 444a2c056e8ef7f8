"""[model]: the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Broken, Count, Positive, Section, refuse

Degree = Annotated[float, Field(ge=1, allow_inf_nan=False)]


class TwoLayer(Section):
    """f(x) = sum_j v_j h(w_j, x); the kinds differ in h."""

    kind: Literal["two_layer"] = "two_layer"
    width: Count = Field(50, description="number of neurons, of all outputs together")
    bias: bool = Field(False, description="a trained bias entry b_j per neuron: h sees <w_j, x> + b_j")
    output: Literal["trained", "fixed"] = Field("trained", description="whether v_j is trained")
    output_weight: Positive | None = Field(
        None, description='size |v_j| of fixed output weights; only with output = "fixed"'
    )

    @model_validator(mode="after")
    def _rules(self) -> TwoLayer:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.output == "fixed" and self.output_weight is None:
            yield Broken("output_weight", 'required with output = "fixed"', ("output",))
        if self.output == "trained" and self.output_weight is not None:
            yield Broken("output_weight", 'only with output = "fixed"', ("output",))


class Relu(TwoLayer):
    """h = max(<w, x>, 0)"""

    activation: Literal["relu"]


class LeakyRelu(TwoLayer):
    """h = max(<w, x>, slope <w, x>)"""

    activation: Literal["leaky_relu"]
    slope: float = Field(0.01, ge=0, le=1, description="slope on the negative side; 1 makes the neuron linear")


class Prelu(TwoLayer):
    """h = max(<w, x>, 0)^degree / |w|^(degree - 1)"""

    activation: Literal["prelu"] = "prelu"
    degree: Degree = Field(3, description="p; 1 is ReLU")


class ReluPower(TwoLayer):
    """h = max(<w, x>, 0)^degree"""

    activation: Literal["relu_power"]
    degree: Degree = Field(3, description="p; 1 is ReLU")


class Tanh(TwoLayer):
    """h = tanh(<w, x>)"""

    activation: Literal["tanh"]


Model = Annotated[Relu | LeakyRelu | Prelu | ReluPower | Tanh, Field(discriminator="activation")]
