"""Diagonal networks (Woodworth et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ...arrays import Floats
from ..inits import Shape
from ..ordinary import OrdinarySection, Streams
from . import NETWORKS


class Diagonal(OrdinarySection):
    """f(x) = <u^2 - v^2, x>, squares by entry; v starts where u does, and so f at 0."""

    UNITS: ClassVar[str] = "entries"

    kind: Literal["diagonal"]

    @property
    def output_degree(self) -> float:
        return 2.0

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        weights = init.rows(streams("initialisation"), (1, features))[0]
        return {"u": weights, "v": weights}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        return x @ (params["u"] ** 2 - params["v"] ** 2)


NETWORKS.register("diagonal", Diagonal)
