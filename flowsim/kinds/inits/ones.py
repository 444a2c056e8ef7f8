"""All weights alike."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...arrays import Floats
from . import INITS, Shape


class Ones(Shape):
    """Entries of the shape are 1."""

    shape: Literal["ones"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.ones(shape)


INITS.register("ones", Ones)
