"""Networks of any depth in the parametrisations that theory knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import sqrt
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..activations import pointwise, with_pointwise
from ..inits import Shape
from ..ordinary import OrdinarySection, Streams
from ..section import Broken, Count, Positive, Section, as_tuple, refuse
from . import NETWORKS

#: What layers are called.
LAYER = "layer_{}"


class Scales(NamedTuple):
    """What a layer's product is multiplied with, and the deviation of its entries at time 0."""

    multiplier: float
    deviation: float = 1.0


class Dense(OrdinarySection):
    """f(x) = output_scale a_L W_L s(... a_2 W_2 s(a_1 W_1 x)), s the activation and a_l the multiplier of a layer.

    With m_l entries below layer l: standard has a_l = 1; ntk a_l = 1/sqrt(m_l); mean_field the same, but a_L = 1/m_L; mup
    (Yang & Hu 2021, Table 1) a_1 = sqrt(m_2/m_1), a_L = 1/sqrt(m_L) and 1 between them, while the entries of W_1(0) are
    divided by sqrt(m_2) and those of the others by sqrt(m_l)."""

    kind: Literal["dense"]
    activation: str = Field("relu", description="of every hidden layer")
    widths: Annotated[tuple[Count, ...], Field(min_length=1), as_tuple] = Field(
        (100,), description="neurons of the hidden layers, the first one first"
    )
    parametrization: Literal["standard", "ntk", "mean_field", "mup"] = Field(
        "ntk", description="multipliers of the layers, and deviations of their entries; init.scale = 1 is then usual"
    )
    output_scale: Positive = Field(1.0, description="what the output is multiplied with")
    zero_output: bool = Field(
        False,
        description="whether the second half of the last hidden layer copies the first, with output weights of the other "
        "sign, so that f is 0 at time 0",
    )

    @model_validator(mode="after")
    def _rules(self) -> Dense:
        if self.zero_output and self.widths[-1] % 2:
            wrong = f"needs an even number of neurons in the last hidden layer, not {self.widths[-1]}"
            refuse([Broken("zero_output", wrong, ("widths",))])
        return self

    @property
    def output_degree(self) -> float | None:
        power = pointwise(self.activation)
        return len(self.widths) + 1 if power.degree == power.homogeneity == 1 else None

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        return (with_pointwise(cls),)

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        widths = (features, *self.widths, outputs)
        layers = [
            scales.deviation * init.rows(streams(f"initialisation.layer_{layer}"), (here, below))
            for layer, (scales, (below, here)) in enumerate(
                zip(self._scales(features), pairwise(widths), strict=True), 1
            )
        ]
        if self.zero_output:
            half = self.widths[-1] // 2
            layers[-2][half:] = layers[-2][:half]
            layers[-1] = np.concatenate([layers[-1][:, :half], -layers[-1][:, :half]], axis=1)
        return {LAYER.format(layer): matrix for layer, matrix in enumerate(layers, start=1)}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        *_, signal = self.signals(params, x).values()
        *_, scales = self._scales(x.shape[1])
        return self.output_scale * (scales.multiplier * signal @ params[LAYER.format(len(self.widths) + 1)].T)

    def signals(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        activation, xp = pointwise(self.activation), x.__array_namespace__()
        found: dict[str, Any] = {}
        *hidden, _ = self._scales(x.shape[1])
        for layer, scales in enumerate(hidden, start=1):
            name = LAYER.format(layer)
            x, _ = activation.response(scales.multiplier * x @ params[name].T, 0.0, xp)
            found[name] = x
        return found

    def preactivations(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        signals, (*hidden, _) = self.signals(params, x), self._scales(x.shape[1])
        layers = zip(signals, [x, *signals.values()], hidden, strict=False)
        return {name: scales.multiplier * seen @ params[name].T for name, seen, scales in layers}

    def _scales(self, features: int) -> Iterator[Scales]:
        """Of each layer, the first one first."""
        below = (features, *self.widths)
        for layer, entries in enumerate(below, start=1):
            first, last = layer == 1, layer == len(below)
            if self.parametrization == "standard":
                yield Scales(1.0)
            elif self.parametrization == "mup":
                multiplier = sqrt(below[1] / entries) if first else 1 / sqrt(entries) if last else 1.0
                yield Scales(multiplier, 1 / sqrt(below[1] if first else entries))
            else:
                of_particles = self.parametrization == "mean_field" and last
                yield Scales(1 / entries if of_particles else 1 / sqrt(entries))


NETWORKS.register("dense", Dense)
