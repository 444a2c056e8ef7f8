"""How far on the negative axis an explicit Runge-Kutta method is stable."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats

#: The axis is searched so far, in steps so long.
_FARTHEST, _SPACING = 50.0, 0.01
_ROUNDING = 1e-9


def reach(a: Floats, b: Floats) -> float:
    """The largest product of step and spectral radius that is stable. a (stages, stages): strictly lower; b (stages,)."""
    ones, powers = np.ones(len(b)), [1.0]
    for _ in b:
        powers.append(float(b @ ones))
        ones = a @ ones
    products = np.arange(0.0, _FARTHEST, _SPACING)
    factors = np.polynomial.polynomial.polyval(-products, powers)
    return float(products[np.argmax(np.abs(factors) > 1.0 + _ROUNDING)])
