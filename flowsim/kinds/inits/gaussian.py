"""Independent normal entries."""

from __future__ import annotations

from typing import Literal

from ...arrays import Floats
from . import INITS, Isotropic


class Gaussian(Isotropic):
    """Entries of the shape are independent N(0, 1)."""

    shape: Literal["gaussian"] = "gaussian"

    def of_normal(self, rows: Floats, entries: int) -> Floats:
        return rows


INITS.register("gaussian", Gaussian)
