"""The odd two-sided ReLU with a common threshold b: R(<w, x> - b) - R(-<w, x> - b)  (Allen-Zhu & Li 2022, Section 4).

R(a) is max(a, 0), or its mean over noise of standard deviation s, a N(a/s) + s n(a/s) with the normal law N and density n.
Written as |w| k with k = h(|w| s)/|w|.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from types import ModuleType
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ..activations import Activation, Array
from ..kernel import SYMMETRIC
from ..section import Broken, Count, NonNegative, Positive, refuse
from ..threshold import Threshold
from . import NETWORKS, NetworkSection

#: Products with the input below this part of the noise go by the first two terms of the response's series.
NEARLY_LINEAR = 1e-3


class SymmetricRelu(NetworkSection):
    """f(x) = sum_j R(<w_j, x> - b + r_j) - R(-<w_j, x> - b + r_j), R the ReLU.

    b is common to all neurons and r_j ~ N(0, sigma^2) their noise:
    b(t) = min(threshold + growth t, cap), and sigma = smoothing b(t), in descent late_smoothing b(t) after the time
    smoothing_until."""

    kind: Literal["symmetric_relu"]
    width: Count = Field(50, description="number of neurons")
    threshold: NonNegative = Field(description="b at time 0")
    growth: NonNegative = Field(0.0, description="by how much b grows per unit of time, until it is at `cap`")
    cap: Positive | None = Field(None, description="largest b; needed where it grows")
    smoothing: NonNegative = Field(0.0, description="standard deviation of the noise, in units of b; a flow needs some")
    late_smoothing: NonNegative | None = Field(
        None, description="smoothing after smoothing_until, in descent; the same unless given"
    )
    smoothing_until: Positive | None = Field(None, description="until when smoothing is as it begins")
    noise: Literal["integrated", "sampled"] = Field(
        "integrated",
        description="the expectation over the noise, in closed form; or, in descent, new noise for every sample and "
        "neuron at every iteration",
    )
    # what is behind the neurons
    two_layers: ClassVar[bool] = True
    activation: ClassVar[str] = "symmetric_relu"
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0

    @model_validator(mode="after")
    def _rules(self) -> SymmetricRelu:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.growth and self.cap is None:
            yield Broken("cap", "required where b grows", ("growth",))
        if self.cap is not None and self.cap < self.threshold:
            yield Broken("cap", f"{self.cap:g} is below the threshold {self.threshold:g}", ("threshold",))
        if (self.late_smoothing is None) != (self.smoothing_until is None):
            missing = "late_smoothing" if self.late_smoothing is None else "smoothing_until"
            other = "smoothing_until" if self.late_smoothing is None else "late_smoothing"
            yield Broken(missing, f"required with {other}", (other,))
        if self.noise == "sampled" and not self.smoothing:
            yield Broken("smoothing", 'required with noise = "sampled"', ("noise",))

    @property
    def common_threshold(self) -> Threshold:
        cap = inf if self.cap is None else self.cap
        sampled = self.noise == "sampled"
        if self.late_smoothing is None or self.smoothing_until is None:
            return Threshold(self.threshold, self.growth, cap, self.smoothing, sampled)
        late = self.late_smoothing, self.smoothing_until
        return Threshold(self.threshold, self.growth, cap, self.smoothing, sampled, *late)

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.width

    @property
    def formulas(self) -> Activation:
        return _at(self.common_threshold, 0.0)


NETWORKS.register("symmetric_relu", SymmetricRelu)


def _at(common: Threshold, time: Array) -> Activation:
    threshold, spread = common.at(time), common.spread(time)
    if np.ndim(time):
        threshold, spread = threshold[..., None, None], spread[..., None, None]

    def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
        norm = xp.exp(log_norm)
        above, slope = ramp(norm * s - threshold, spread, xp)
        below, falling = ramp(-norm * s - threshold, spread, xp)
        value, small = (above - below) / norm, xp.abs(norm * s) < NEARLY_LINEAR * spread
        return xp.where(small, s * _nearly_linear(norm * s, threshold, spread, xp), value), slope + falling

    return Activation(
        "symmetric_relu",
        response,
        homogeneity=1,
        degree=None,
        smooth=common.smooth,
        schedule=None if common.constant else lambda later: _at(common, later),
        kernel=SYMMETRIC,
        parameters=(common, *np.ravel(threshold).tolist(), *np.ravel(spread).tolist()),
    )


def _nearly_linear(x: Array, threshold: Array, spread: Array, xp: ModuleType) -> Array:
    """(R(x - b) - R(-x - b))/x where x is small beside the spread and the difference would lose its digits."""
    width = np.where(np.asarray(spread) > 0, spread, 1.0)
    scaled = threshold / width
    return 2 * _share(-scaled, xp) + scaled * np.exp(-0.5 * scaled**2) / np.sqrt(2 * np.pi) * (x / width) ** 2 / 3


def ramp(x: Array, spread: Array, xp: ModuleType) -> tuple[Array, Array]:
    """max(x + r, 0), in the mean over r ~ N(0, spread^2), and its derivative."""
    if not np.any(np.asarray(spread) > 0):
        return xp.maximum(x, 0.0), xp.where(x > 0, 1.0, 0.0)
    scaled = x / spread
    share = _share(scaled, xp)
    return x * share + spread * xp.exp(-0.5 * scaled**2) / np.sqrt(2 * np.pi), share


def _share(z: Array, xp: ModuleType) -> Array:
    """Of the standard normal law below z."""
    if xp is np:
        from scipy.special import ndtr  # slow to import, and no other network needs it

        return ndtr(z)
    from ..in_jax import normal_cdf

    return normal_cdf(z)
