"""Deep linear networks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ...arrays import Floats
from ..drawing import Drawing
from ..network import Array
from ..ordinary import OrdinaryNetwork, Params
from ..samples import Samples
from ..section import Count
from . import NETWORKS


class DeepLinear(OrdinaryNetwork):
    """f(x) = W_L ... W_2 W_1 x, with as many outputs as targets have entries."""

    is_product: ClassVar[bool] = True

    kind: Literal["deep_linear"]
    depth: Annotated[int, Field(ge=1)] = Field(2, description="L, the number of matrices")
    width: Count | None = Field(
        None, description="rows of every matrix but the last; by default as many as x or y has entries, if that is more"
    )

    @property
    def output_degree(self) -> float:
        return self.depth

    def outputs(self, samples: Samples) -> int:
        return samples.targets.shape[1] if samples.targets.ndim == 2 else 1

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        features, outputs = samples.inputs.shape[1], self.outputs(samples)
        widths = (features, *[self.width or max(features, outputs)] * (self.depth - 1), outputs)
        init = self.shape_of_start(scenario)
        matrices = init.product(widths, samples, scenario.single_seed)
        return {f"layer_{layer}": init.scale * matrix for layer, matrix in enumerate(matrices, start=1)}

    def apply(self, params: Params, x: Array) -> Array:
        for layer in range(1, self.depth + 1):
            x = x @ params[f"layer_{layer}"].T
        return x


NETWORKS.register("deep_linear", DeepLinear)
