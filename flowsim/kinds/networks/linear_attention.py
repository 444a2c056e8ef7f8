"""One layer of linear attention (Zhang, Frei & Bartlett 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ..drawing import Drawing
from ..network import Array
from ..ordinary import OrdinaryNetwork, Params
from ..samples import Samples
from ..streams import stream
from . import NETWORKS


class LinearAttention(OrdinaryNetwork):
    """f(P) = the last entry of V P P^T Q p / N, for prompts P of N examples and a last column p.

    It starts as in Assumption 3.3 of the paper: V has the entry `scale` in its last place, Q the block scale S S^T/|S S^T| in
    front of its last row and column, S the shape, and zeros elsewhere."""

    units: ClassVar[Mapping[str, str]] = {"value": "whole", "key_query": "whole"}

    kind: Literal["linear_attention"]

    @property
    def output_degree(self) -> float:
        return 2.0

    def input_shape(self, scenario: Drawing, samples: Samples) -> tuple[int, ...]:
        return self.matrices(scenario)

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        (entries, _), init = self.matrices(scenario), self.shape_of_start(scenario)
        shape = init.rows(stream(scenario.single_seed, "initialisation"), (entries - 1, entries - 1))
        value, key_query = np.zeros((entries, entries)), np.zeros((entries, entries))
        value[-1, -1] = init.scale
        key_query[:-1, :-1] = init.scale * shape @ shape.T / np.linalg.norm(shape @ shape.T)
        return {"value": value, "key_query": key_query}

    def apply(self, params: Params, x: Array) -> Array:
        last = x[:, :, -1]
        seen = ((last @ params["key_query"].T)[:, None, :] @ x)[:, 0]
        return (x @ seen[:, :, None])[:, :, 0] @ params["value"][-1] / (x.shape[2] - 1)


NETWORKS.register("linear_attention", LinearAttention)
