"""-log softmax(f)_y: outputs (…, k, n) with an axis of classes, targets (n,) their indices."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar, Literal

from pydantic import Field

from .. import kernel
from ..margins import BORDER, log_value, relative_slope
from . import LOSSES, Array, Loss, LossSection


def margin(output: Array, target: Array, xp: ModuleType) -> Array:
    """(…, n): f_y - log of the sum of e^f over all other classes; the loss is log(1 + e^-margin)."""
    own = _own(output, target, xp)
    others = xp.where(own, -xp.inf, output)
    top = others.max(axis=-2)
    return xp.where(own, output, 0.0).sum(axis=-2) - top - xp.log(xp.exp(others - top[..., None, :]).sum(axis=-2))


def derivative(output: Array, target: Array, xp: ModuleType) -> Array:
    """(…, k, n): softmax, and for a sample's own class minus the sum of the others, which no rounding eats up."""
    own = _own(output, target, xp)
    weight = xp.exp(output - output.max(axis=-2)[..., None, :])
    share = xp.where(own, 0.0, weight) / weight.sum(axis=-2)[..., None, :]
    return xp.where(own, -share.sum(axis=-2)[..., None, :], share)


def relative_derivative(output: Array, target: Array, xp: ModuleType) -> Array:
    """(…, k, n): the others' shares among themselves, times the derivative in the margin beside the loss"""
    own = _own(output, target, xp)
    others = xp.where(own, -xp.inf, output)
    weight = xp.exp(others - others.max(axis=-2)[..., None, :])
    share = weight / weight.sum(axis=-2)[..., None, :]
    return relative_slope(margin(output, target, xp), xp)[..., None, :] * xp.where(own, -1.0, share)


def _own(output: Array, target: Array, xp: ModuleType) -> Array:
    """(k, n): whether a class is the sample's"""
    return target == xp.arange(output.shape[-2])[:, None]


class CrossEntropy(LossSection):
    """-log softmax(f)_y of a network with an output for every cluster"""

    of_classes: ClassVar[bool] = True

    kind: Literal["cross_entropy"] = Field(description="the loss of one sample")

    @property
    def formulas(self) -> Loss:
        return Loss(
            "cross_entropy",
            value=lambda output, target, xp: xp.logaddexp(0.0, -margin(output, target, xp)),
            derivative=derivative,
            log_value=lambda output, target, xp: log_value(margin(output, target, xp), xp),
            relative_derivative=relative_derivative,
            border=BORDER,
            classes=True,
            kernel=kernel.CROSS_ENTROPY,
        )


LOSSES.register("cross_entropy", CrossEntropy)
