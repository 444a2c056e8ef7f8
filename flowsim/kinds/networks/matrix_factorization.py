"""Matrix factorisation (Gunasekar et al. 2017, Arora et al. 2019)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ...arrays import Floats
from ..drawing import Drawing
from ..network import Array
from ..ordinary import OrdinaryNetwork, Params
from ..samples import Samples
from ..section import Broken, Count, refuse
from ..streams import stream
from . import NETWORKS


class MatrixFactorization(OrdinaryNetwork):
    """f(A) = <A, W_L ... W_2 W_1>, or <A, W W^T> of a symmetric one, for matrices A."""

    kind: Literal["matrix_factorization"]
    depth: Annotated[int, Field(ge=1)] = Field(2, description="L, the number of factors")
    width: Count | None = Field(None, description="inner size of the factors; by default that of the larger side of A")
    symmetric: bool = Field(False, description="W W^T with a single factor W, of depth 2")

    @model_validator(mode="after")
    def _rules(self) -> MatrixFactorization:
        if self.symmetric and self.depth != 2:
            refuse([Broken("depth", "W W^T is of depth 2", ("symmetric",))])
        return self

    @property
    def output_degree(self) -> float:
        return self.depth

    def input_shape(self, scenario: Drawing, samples: Samples) -> tuple[int, ...]:
        return self.matrices(scenario)

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        (rows, columns), init = self.matrices(scenario), self.shape_of_start(scenario)
        width = self.width or max(rows, columns)
        if self.symmetric:
            generator = stream(scenario.single_seed, "initialisation")
            return {"factor": init.scale * init.rows(generator, (rows, width))}
        widths = (columns, *[width] * (self.depth - 1), rows)
        factors = init.product(widths, samples, scenario.single_seed)
        return {f"factor_{place}": init.scale * factor for place, factor in enumerate(factors, start=1)}

    def apply(self, params: Params, x: Array) -> Array:
        return (x * self.matrix(params)).sum(axis=(1, 2))

    def matrix(self, params: Params) -> Array:
        """The product of the factors."""
        if self.symmetric:
            return params["factor"] @ params["factor"].T
        product = params["factor_1"]
        for place in range(2, self.depth + 1):
            product = params[f"factor_{place}"] @ product
        return product


NETWORKS.register("matrix_factorization", MatrixFactorization)
