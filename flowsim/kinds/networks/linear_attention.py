"""One layer of linear attention (Zhang, Frei & Bartlett 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...arrays import Floats
from ..inits import Shape
from ..ordinary import OrdinarySection, Streams
from ..section import Count
from . import NETWORKS


class LinearAttention(OrdinarySection):
    """f(P) = the last entry of V P P^T Q p / N, for prompts P of N examples and a last column p, whose features are
    their entries, row by row.

    V starts with 1 in its last place, Q with S S^T/|S S^T| in front of its last row and column, S the shape, and both
    with zeros elsewhere (Assumption 3.3 of the paper)."""

    UNITS: ClassVar[str] = "whole"

    kind: Literal["linear_attention"]
    examples: Count = Field(20, description="N, the examples of a prompt")

    @property
    def output_degree(self) -> float:
        return 2.0

    def misfits(self, features: int, outputs: int) -> Iterator[tuple[str, str]]:
        if features % (self.examples + 1) or features < 2 * (self.examples + 1):
            columns = f"{self.examples + 1} columns, {self.examples} examples and the query"
            yield "model.examples", f"{features} features are not the entries of a prompt of {columns}"

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        entries = features // (self.examples + 1)
        shape = init.rows(streams("initialisation"), (entries - 1, entries - 1))
        value, key_query = np.zeros((entries, entries)), np.zeros((entries, entries))
        value[-1, -1] = 1.0
        key_query[:-1, :-1] = shape @ shape.T / np.linalg.norm(shape @ shape.T)
        return {"value": value, "key_query": key_query}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        prompt = x.reshape(len(x), -1, self.examples + 1)
        seen = (prompt[:, :, -1] @ params["key_query"].T)[:, None] @ prompt
        read = (prompt @ seen.swapaxes(1, 2))[:, :, 0] / self.examples
        return read @ params["value"][-1]


NETWORKS.register("linear_attention", LinearAttention)
