"""Rows on the unit sphere."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Isotropic


class Sphere(Isotropic):
    """Rows of the shape are uniform on the unit sphere."""

    shape: Literal["sphere"]

    def of_normal(self, rows: Floats, entries: int) -> Floats:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


INITS.register("sphere", Sphere)
