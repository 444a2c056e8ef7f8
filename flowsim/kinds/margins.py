"""log(1 + e^-m) of a margin m, which the logistic loss and cross-entropy share."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

Array = Any

#: log of the loss of a margin of 0.
BORDER = math.log(math.log(2))


def log_value(margin: Array, xp: ModuleType) -> Array:
    """log of the loss"""
    # log(log1p(e^-m)) = -m + log(log1p(e^-m) / e^-m); the ratio tends to 1 as m grows
    small = xp.exp(-xp.clip(margin, 0.0, 700.0))
    far = -margin + xp.log(xp.log1p(small) / small)
    return xp.where(margin > 0, far, xp.log(xp.logaddexp(0.0, -xp.minimum(margin, 0.0))))


def relative_slope(margin: Array, xp: ModuleType) -> Array:
    """-l'/l"""
    # e^-m / ((1 + e^-m) log(1 + e^-m)): both factors tend to 1 as m grows
    small = xp.exp(-xp.clip(margin, 0.0, 700.0))
    far = small / ((1 + small) * xp.log1p(small))
    near = 1 / ((1 + xp.exp(xp.minimum(margin, 0.0))) * xp.logaddexp(0.0, -xp.minimum(margin, 0.0)))
    return xp.where(margin > 0, far, near)


def beside_value(margin: Array) -> Array:
    """log l + m"""
    small = np.exp(-np.clip(margin, 0.0, 700.0))
    return np.log(np.log1p(small) / small)


def beside_slope(margin: Array) -> Array:
    """log(-l') + m"""
    return -np.logaddexp(0.0, -margin)


def beside_margin(log_loss: Array) -> Array:
    """m + log l, the inverse of log(1 + e^-m) being m = -log(e^l - 1)"""
    loss = np.exp(np.clip(log_loss, -700.0, 0.0))
    return -np.log(np.expm1(loss) / loss)
