"""Diagonal networks (Woodworth et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from ...arrays import Floats
from ..drawing import Drawing
from ..network import Array
from ..ordinary import OrdinaryNetwork, Params
from ..samples import Samples
from ..streams import stream
from . import NETWORKS


class Diagonal(OrdinaryNetwork):
    """f(x) = <u^2 - v^2, x>, squares by entry; v starts where u does, and so f at 0."""

    units: ClassVar[Mapping[str, str]] = {"u": "entries", "v": "entries"}

    kind: Literal["diagonal"]

    @property
    def output_degree(self) -> float:
        return 2.0

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        init, generator = self.shape_of_start(scenario), stream(scenario.single_seed, "initialisation")
        weights = init.scale * init.rows(generator, (1, samples.inputs.shape[1]))[0]
        return {"u": weights, "v": weights.copy()}

    def apply(self, params: Params, x: Array) -> Array:
        return x @ (params["u"] ** 2 - params["v"] ** 2)


NETWORKS.register("diagonal", Diagonal)
