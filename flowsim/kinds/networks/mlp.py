"""Networks of any depth."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..activations import Activation, pointwise, with_pointwise
from ..section import Broken, Count, Section, as_tuple, refuse
from . import NETWORKS, NetworkSection


class Mlp(NetworkSection):
    """A network of any depth, all of its layers trained: f(x) = W_L s(... s(W_2 s(W_1 x))), s the activation."""

    kind: Literal["mlp"]
    activation: str = Field("relu", description="of every hidden layer")
    depth: Annotated[int, Field(ge=2)] | None = Field(
        None, description="layers of weights, the output layer included: 2 by default; not with widths"
    )
    width: Count | None = Field(None, description="neurons of each hidden layer: 50 by default; not with widths")
    widths: Annotated[tuple[Count, ...], Field(min_length=1), as_tuple] | None = Field(
        None, description="neurons of the hidden layers, the first one first, in place of depth and width"
    )
    bias: bool = Field(False, description="a trained bias entry for every neuron of every layer, the output's included")
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None

    @model_validator(mode="after")
    def _rules(self) -> Mlp:
        refuse(
            Broken(key, "give either widths, or depth and width", ("widths",))
            for key in ("depth", "width")
            if self.widths is not None and getattr(self, key) is not None
        )
        return self

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Neurons of the hidden layers."""
        return self.widths or (self.width or 50,) * ((self.depth or 2) - 1)

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.hidden_widths[0]

    @property
    def formulas(self) -> Activation:
        return pointwise(self.activation)

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        return (with_pointwise(cls),)


NETWORKS.register("mlp", Mlp)
