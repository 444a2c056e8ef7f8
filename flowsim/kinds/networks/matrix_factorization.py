"""Matrix factorisation (Gunasekar et al. 2017, Arora et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import isqrt
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ...arrays import Floats
from ..inits import Shape
from ..ordinary import OrdinarySection, Streams
from ..section import Broken, Count, refuse
from . import NETWORKS


class MatrixFactorization(OrdinarySection):
    """f(A) = <A, W_L ... W_2 W_1>, or <A, W W^T> of a symmetric one, for matrices A: features are their entries, row by
    row."""

    kind: Literal["matrix_factorization"]
    depth: Annotated[int, Field(ge=1)] = Field(2, description="L, the number of factors")
    width: Count | None = Field(None, description="inner size of the factors; by default the longer side of A")
    rows: Count | None = Field(None, description="rows of A, which is square unless this is given")
    symmetric: bool = Field(False, description="W W^T, with a single factor W")

    @model_validator(mode="after")
    def _rules(self) -> MatrixFactorization:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.symmetric and self.depth != 2:
            yield Broken("depth", "W W^T is of depth 2", ("symmetric",))
        if self.symmetric and self.rows is not None:
            yield Broken("rows", "W W^T is square", ("symmetric",))

    @property
    def output_degree(self) -> float:
        return self.depth

    def misfits(self, features: int, outputs: int) -> Iterator[tuple[str, str]]:
        if self.rows is None and isqrt(features) ** 2 != features:
            other = "; give rows" if not self.symmetric else ""
            yield "model.kind", f"{features} features are not the entries of a square matrix{other}"
        elif self.rows is not None and features % self.rows:
            yield "model.rows", f"{features} features are not the entries of a matrix of {self.rows} rows"

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats | list[Floats]]:
        rows = self.rows or isqrt(features)
        columns = features // rows
        width = self.width or max(rows, columns)
        if self.symmetric:
            return {"factor": init.rows(streams("initialisation"), (rows, width))}
        widths = (columns, *[width] * (self.depth - 1), rows)
        shapes = [(above, below) for below, above in pairwise(widths)]
        return {
            "factors": [
                init.rows(streams(f"initialisation.factor_{place}"), shape) for place, shape in enumerate(shapes)
            ]
        }

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        if self.symmetric:
            return x @ (params["factor"] @ params["factor"].T).ravel()
        product, *factors = params["factors"]
        for factor in factors:
            product = factor @ product
        return x @ product.ravel()


NETWORKS.register("matrix_factorization", MatrixFactorization)
