"""The odd two-sided ReLU with a common threshold b: R(<w, x> - b) - R(-<w, x> - b)  (Allen-Zhu & Li 2022, Section 4).

R(a) is max(a, 0), or its mean over noise of standard deviation s, a N(a/s) + s n(a/s) with the normal law N and density n.
Written as |w| k with k = h(|w| s)/|w|. In NumPy alone: its flow is for the numba engine.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from scipy.special import ndtr

from ...kinds.kernel import SYMMETRIC
from ...scenario.model import SymmetricRelu
from .activation import Activation, Array

#: Products with the input below this part of the noise go by the first two terms of the response's series.
NEARLY_LINEAR = 1e-3


def build(model: SymmetricRelu) -> Activation:
    return _at(model, 0.0)


def _at(model: SymmetricRelu, time: Array) -> Activation:
    common = model.common_threshold
    threshold = np.asarray(common.at(time))[..., None, None] if np.ndim(time) else common.at(time)
    spread = common.smoothing * threshold

    def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
        norm = xp.exp(log_norm)
        above, slope = ramp(norm * s - threshold, spread, xp)
        below, falling = ramp(-norm * s - threshold, spread, xp)
        value, small = (above - below) / norm, xp.abs(norm * s) < NEARLY_LINEAR * spread
        return xp.where(small, s * _nearly_linear(norm * s, threshold, spread), value), slope + falling

    return Activation(
        "symmetric_relu",
        response,
        homogeneity=1,
        degree=None,
        smooth=model.smoothing > 0,
        schedule=lambda later: _at(model, later),
        kernel=SYMMETRIC,
    )


def _nearly_linear(x: Array, threshold: Array, spread: Array) -> Array:
    """(R(x - b) - R(-x - b))/x where x is small beside the spread and the difference would lose its digits."""
    width = np.where(np.asarray(spread) > 0, spread, 1.0)
    scaled = threshold / width
    return 2 * ndtr(-scaled) + scaled * np.exp(-0.5 * scaled**2) / np.sqrt(2 * np.pi) * (x / width) ** 2 / 3


def ramp(x: Array, spread: Array, xp: ModuleType) -> tuple[Array, Array]:
    """max(x + r, 0), in the mean over r ~ N(0, spread^2), and its derivative."""
    if not np.any(np.asarray(spread) > 0):
        return xp.maximum(x, 0.0), xp.where(x > 0, 1.0, 0.0)
    scaled = x / spread
    share = ndtr(scaled)
    return x * share + spread * xp.exp(-0.5 * scaled**2) / np.sqrt(2 * np.pi), share
