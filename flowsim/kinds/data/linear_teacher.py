"""A linear map to be learned, given by its singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..regression import Regression, rotation
from ..section import Broken, Count, Positive, as_tuple, refuse
from . import DATA, broken_test


class LinearTeacher(Regression):
    """Gaussian inputs and y = M x, M of given singular values and random singular vectors."""

    kind: Literal["linear_teacher"]
    dimension: Count = Field(10, description="number of features D")
    outputs: Count = Field(1, description="entries of y")
    strengths: Annotated[tuple[Positive, ...], Field(min_length=1), as_tuple] = Field(
        (1.0,), description="singular values of M that are not 0"
    )
    whitened: bool = Field(True, description="inputs are made such that the mean of x x^T over the samples is I")

    @property
    def features(self) -> int:
        return self.dimension

    @property
    def target_entries(self) -> int:
        return self.outputs

    @model_validator(mode="after")
    def _rules(self) -> LinearTeacher:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if len(self.strengths) > min(self.dimension, self.outputs):
            wrong = (
                f"{len(self.strengths)} singular values of a matrix of {self.outputs} rows and {self.dimension} columns"
            )
            yield Broken("strengths", wrong, ("dimension", "outputs"))
        held_out = self.test.samples if self.test is not None else None
        for key, count in (("samples", self.samples), ("test.samples", held_out)):
            if self.whitened and count is not None and count < self.dimension:
                few = f"{count} samples cannot be white in {self.dimension} dimensions; use more, or whitened = false"
                yield Broken(key, few, ("dimension", "whitened"))

    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        rank = len(self.strengths)
        left, right = rotation(teacher, self.outputs)[:, :rank], rotation(teacher, self.dimension)[:, :rank]
        inputs = generator.standard_normal((count, self.dimension))
        if self.whitened:
            inputs = np.linalg.qr(inputs)[0] * count**0.5
        targets = inputs @ right * self.strengths @ left.T
        return inputs, targets if self.outputs > 1 else targets[:, 0], np.zeros((0, self.dimension))


DATA.register("linear_teacher", LinearTeacher)
