"""Networks of two layers, f(x) = sum_j v_j h(w_j, x)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import Field, create_model, model_validator

from ..activations import ACTIVATIONS, ActivationSection
from ..section import Broken, Count, Positive, Section, refuse
from . import NETWORKS, NetworkSection


class TwoLayer(NetworkSection):
    """f(x) = sum_j v_j h(w_j, x); the kinds differ in h."""

    TAG: ClassVar[str] = "activation"
    two_layers: ClassVar[bool] = True
    own_outputs: ClassVar[bool] = True

    kind: Literal["two_layer"] = "two_layer"
    width: Count = Field(50, description="number of neurons, of all outputs together")
    bias: bool = Field(False, description="a trained bias entry b_j per neuron: h sees <w_j, x> + b_j")
    output: Literal["trained", "fixed"] = Field("trained", description="whether v_j is trained")
    output_weight: Positive | None = Field(
        None, description='size |v_j| of fixed output weights; only with output = "fixed"'
    )

    @model_validator(mode="after")
    def _two_layer_rules(self) -> TwoLayer:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.output == "fixed" and self.output_weight is None:
            yield Broken("output_weight", 'required with output = "fixed"', ("output",))
        if self.output == "trained" and self.output_weight is not None:
            yield Broken("output_weight", 'only with output = "fixed"', ("output",))

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.width

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        return tuple(_with(activation) for activation in ACTIVATIONS.values())


@cache
def _with(activation: type[ActivationSection]) -> type[TwoLayer]:
    """The section with the keys and formulas of an activation."""
    bases: Any = (activation, TwoLayer)
    return create_model(activation.__name__, __base__=bases, __doc__=activation.__doc__, __module__=__name__)


NETWORKS.register("two_layer", TwoLayer)
