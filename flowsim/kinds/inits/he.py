"""The start of He et al. (2015)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from ...arrays import Floats
from ..section import Positive
from . import INITS, Isotropic


class He(Isotropic):
    """Entries of the shape are independent N(0, 2/m), m the number of entries that a neuron or a channel sees (He et al.
    2015, eq. 10); layers of ReLUs then neither shrink nor enlarge signals."""

    shape: Literal["he"]
    scale: Positive = Field(1.0, description="any positive number; 1 is the start of the paper")

    def of_normal(self, rows: Floats, entries: int) -> Floats:
        return np.sqrt(2 / entries) * rows


INITS.register("he", He)
