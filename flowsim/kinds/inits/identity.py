"""Multiples of the identity."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Shape


class Identity(Shape):
    """Row j of the shape is the unit vector e_j, or 0 past the last of these."""

    shape: Literal["identity"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.eye(*shape)


INITS.register("identity", Identity)
