"""Prompts of linear regression (Zhang, Frei & Bartlett 2024, Section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..regression import Regression
from ..section import Broken, Count, Positive, as_tuple, refuse
from . import DATA, broken_test


class InContextRegression(Regression):
    """Prompts with a column (x_i, <w, x_i>) for each example and a last one (x, 0), whose target is <w, x>.

    x_i and x are N(0, diag(variances)), and w is N(0, I), anew in every prompt."""

    kind: Literal["in_context_regression"]
    dimension: Count = Field(5, description="entries of x")
    examples: Count = Field(20, description="N, the examples of a prompt")
    variances: Annotated[tuple[Positive, ...], as_tuple] | None = Field(
        None, description="variance of each entry of x; 1 by default"
    )

    @property
    def features(self) -> int:
        return (self.dimension + 1) * (self.examples + 1)

    @model_validator(mode="after")
    def _rules(self) -> InContextRegression:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if self.variances is not None and len(self.variances) != self.dimension:
            yield Broken(
                "variances", f"has {len(self.variances)} numbers, x has {self.dimension} entries", ("dimension",)
            )

    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        deviation = np.sqrt(self.variances or np.ones(self.dimension))
        task = generator.standard_normal((count, self.dimension))
        inputs = deviation * generator.standard_normal((count, self.examples + 1, self.dimension))
        answers = np.einsum("nid,nd->ni", inputs, task)
        prompt = np.concatenate([inputs, answers[:, :, None]], axis=2).swapaxes(1, 2)
        prompt[:, -1, -1] = 0.0
        return prompt.reshape(count, self.features), answers[:, -1], np.zeros((0, self.features))


DATA.register("in_context_regression", InContextRegression)
