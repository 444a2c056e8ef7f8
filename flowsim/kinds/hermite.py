"""Hermite polynomials, of mean square 1 over N(0, 1)."""

from __future__ import annotations

import math
from typing import Any


def hermite(degree: int, z: Any) -> Any:
    """He_k(z)/sqrt(k!) of an array, NumPy's or JAX's."""
    below, here = 0.0 * z, 0.0 * z + 1.0
    for k in range(degree):
        below, here = here, z * here - k * below
    return here / math.sqrt(math.factorial(degree))
