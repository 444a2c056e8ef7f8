"""Rows on the unit sphere."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Shape


class Sphere(Shape):
    """Rows of the shape are uniform on the unit sphere."""

    shape: Literal["sphere"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        rows = generator.standard_normal(shape)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


INITS.register("sphere", Sphere)
