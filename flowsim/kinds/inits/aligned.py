"""Matrices whose product has the singular vectors of the data from the start (Saxe, McClelland & Ganguli 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ..samples import Samples
from . import INITS, Shape


class Aligned(Shape):
    """Matrices of a product with singular values 1, the singular vectors of whose product are those of the correlation
    of inputs and targets. With white inputs its modes then move independently."""

    of_products: ClassVar[bool] = True

    shape: Literal["aligned"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return generator.standard_normal(shape)

    def product(self, matrices: Sequence[Floats], samples: Samples) -> Sequence[Floats]:
        targets = samples.targets.reshape(len(samples.targets), -1)
        left, _, right = np.linalg.svd(targets.T @ samples.inputs)
        modes = min(min(matrix.shape) for matrix in matrices)
        below, aligned = right[:modes].T, []
        for matrix in matrices[:-1]:
            # random vectors between two layers, as orthonormal as those of the data
            above = np.linalg.qr(matrix @ below)[0]
            aligned.append(above @ below.T)
            below = above
        return [*aligned, left[:, :modes] @ below.T]


INITS.register("aligned", Aligned)
