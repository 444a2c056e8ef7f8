"""Layers that keep lengths."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Shape


class Orthonormal(Shape):
    """Rows of the shape are orthonormal, or its columns where there are more rows than entries; uniform among all such."""

    shape: Literal["orthonormal"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        tall = generator.standard_normal((max(shape), min(shape)))
        basis, triangle = np.linalg.qr(tall)
        # with a positive diagonal the triangle is unique, and the basis as uniform as what it is of
        basis = basis * np.where(np.diag(triangle) < 0, -1.0, 1.0)
        return basis if shape[0] >= shape[1] else np.ascontiguousarray(basis.T)


INITS.register("orthonormal", Orthonormal)
