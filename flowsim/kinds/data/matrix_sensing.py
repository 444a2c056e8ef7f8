"""Measurements of a matrix that is to be found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..regression import Regression, rotation
from ..section import Broken, Count, Positive, as_tuple, refuse
from . import DATA, broken_test


class MatrixSensing(Regression):
    """y = <A, M> for matrices A, which are the inputs, and a matrix M of given singular values and random singular
    vectors."""

    kind: Literal["matrix_sensing"]
    size: Count = Field(10, description="rows and columns of M")
    strengths: Annotated[tuple[Positive, ...], Field(min_length=1), as_tuple] = Field(
        (1.0,), description="singular values of M that are not 0"
    )
    measurements: Literal["gaussian", "entries", "commuting"] = Field(
        "gaussian",
        description='A: "gaussian" has independent entries N(0, 1); "entries" shows an entry of M, each at most once in a '
        'set of samples; "commuting" are symmetric with eigenvalues N(0, 1) and the eigenvectors of M, which is then '
        "positive semidefinite",
    )
    basis: Literal["random", "axes"] = Field("random", description="singular vectors of M")

    @property
    def features(self) -> int:
        return self.size**2

    @model_validator(mode="after")
    def _rules(self) -> MatrixSensing:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if len(self.strengths) > self.size:
            yield Broken(
                "strengths", f"{len(self.strengths)} singular values of a matrix of {self.size} rows", ("size",)
            )
        held_out = self.test.samples if self.test is not None else None
        for key, count in (("samples", self.samples), ("test.samples", held_out)):
            if self.measurements == "entries" and count is not None and count > self.features:
                few = f"{count} entries of {self.features}; at most all of them"
                yield Broken(key, few, ("size", "measurements"))

    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        rank, axes = len(self.strengths), np.eye(self.size)
        left = rotation(teacher, self.size) if self.basis == "random" else axes
        right = left
        if self.measurements != "commuting" and self.basis == "random":
            right = rotation(teacher, self.size)
        matrix = left[:, :rank] * self.strengths @ right[:, :rank].T
        if self.measurements == "gaussian":
            inputs = generator.standard_normal((count, self.features))
        elif self.measurements == "entries":
            inputs = np.eye(self.features)[generator.permutation(self.features)[:count]]
        else:
            values = generator.standard_normal((count, self.size))
            inputs = np.einsum("ij,nj,kj->nik", left, values, left).reshape(count, self.features)
        return inputs, inputs @ matrix.ravel(), np.zeros((0, self.features))


DATA.register("matrix_sensing", MatrixSensing)
