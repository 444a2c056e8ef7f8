"""Deep linear networks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ...arrays import Floats
from ..inits import Shape
from ..ordinary import OrdinarySection, Streams
from ..section import Count
from . import NETWORKS


class DeepLinear(OrdinarySection):
    """f(x) = W_L ... W_2 W_1 x, with as many outputs as targets have entries."""

    is_product: ClassVar[bool] = True

    kind: Literal["deep_linear"]
    depth: Annotated[int, Field(ge=1)] = Field(2, description="L, the number of matrices")
    width: Count | None = Field(
        None, description="rows of all matrices but the last; by default the entries of x or of y, whichever are more"
    )

    @property
    def output_degree(self) -> float:
        return self.depth

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, list[Floats]]:
        widths = (features, *[self.width or max(features, outputs)] * (self.depth - 1), outputs)
        shapes = [(above, below) for below, above in pairwise(widths)]
        return {
            "layers": [init.rows(streams(f"initialisation.layer_{place}"), shape) for place, shape in enumerate(shapes)]
        }

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        for layer in params["layers"]:
            x = x @ layer.T
        return x


NETWORKS.register("deep_linear", DeepLinear)
