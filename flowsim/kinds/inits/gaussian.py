"""Independent normal entries."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Shape


class Gaussian(Shape):
    """Entries of the shape are independent N(0, 1)."""

    shape: Literal["gaussian"] = "gaussian"

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return generator.standard_normal(shape)


INITS.register("gaussian", Gaussian)
