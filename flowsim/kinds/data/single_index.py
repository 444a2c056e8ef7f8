"""A teacher that looks along one direction."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..hermite import hermite
from ..regression import Regression
from ..section import Count, refuse
from . import DATA, broken_test


class SingleIndex(Regression):
    """Gaussian inputs and y = He_k(<w*, x>)/sqrt(k!), w* a random unit vector, which counts as the one centre."""

    kind: Literal["single_index"]
    dimension: Count = Field(10, description="number of features D")
    exponent: Annotated[int, Field(ge=1)] = Field(
        2, description="k, the degree of the Hermite polynomial and so the information exponent"
    )

    @property
    def features(self) -> int:
        return self.dimension

    @model_validator(mode="after")
    def _rules(self) -> SingleIndex:
        refuse(broken_test(self))
        return self

    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        direction = teacher.standard_normal(self.dimension)
        direction /= np.linalg.norm(direction)
        inputs = generator.standard_normal((count, self.dimension))
        return inputs, hermite(self.exponent, inputs @ direction), direction[None]


DATA.register("single_index", SingleIndex)
