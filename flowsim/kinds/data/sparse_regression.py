"""A sparse linear function to be learned (Woodworth et al. 2020, Section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..regression import Regression
from ..section import Broken, Count, refuse
from . import DATA, broken_test


class SparseRegression(Regression):
    """Gaussian inputs and y = <beta, x>, beta of norm 1 with so many equal entries at random places and zeros
    elsewhere."""

    kind: Literal["sparse_regression"]
    dimension: Count = Field(100, description="number of features D")
    sparsity: Count = Field(5, description="entries of beta that are not 0")

    @property
    def features(self) -> int:
        return self.dimension

    @model_validator(mode="after")
    def _rules(self) -> SparseRegression:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if self.sparsity > self.dimension:
            yield Broken(
                "sparsity", f"{self.sparsity} entries of {self.dimension}; at most all of them", ("dimension",)
            )

    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        beta = np.zeros(self.dimension)
        beta[teacher.permutation(self.dimension)[: self.sparsity]] = self.sparsity**-0.5
        inputs = generator.standard_normal((count, self.dimension))
        return inputs, inputs @ beta, np.zeros((0, self.dimension))


DATA.register("sparse_regression", SparseRegression)
