"""The layers above the first one of a network of any depth: its outputs, and the velocities of its weights.

Every layer is a matrix with a row for each of its neurons, whose last entry is the bias where the network has biases. The
formulas run in NumPy and in JAX; `product` is the matrix product of the one in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

from .activation import Activation, Array

Product = Callable[[Array, Array], Array]


class Passed(NamedTuple):
    """What was seen on the way up: for each layer, its inputs (m_below, n), a row of ones included where it has biases, and
    the derivative (m_below, n) of the activation that made them."""

    signals: tuple[Array, ...]
    slopes: tuple[Array, ...]


def forward(
    first: Array, upper: Sequence[Array], activation: Activation, xp: ModuleType, product: Product
) -> tuple[Array, Passed]:
    """The outputs (k, n), from what the neurons of the first layer see: first (m, n) is <w_j, x_i>, bias included."""
    signals, slopes = [], []
    seen = first
    for matrix in upper:
        signal, slope = activation.response(seen, 0.0, xp)
        if matrix.shape[-1] > signal.shape[-2]:
            signal = xp.concatenate([signal, xp.ones_like(signal[..., :1, :])], axis=-2)
        signals.append(signal)
        slopes.append(slope)
        seen = product(matrix, signal)
    return seen, Passed(tuple(signals), tuple(slopes))


def backward(pull: Array, upper: Sequence[Array], passed: Passed, product: Product) -> tuple[Array, tuple[Array, ...]]:
    """(the pull (m, n) on what the first layer's neurons see, the velocity of every layer above it).

    pull (k, n): on the outputs, minus the derivative of the training loss in them.
    """
    velocities = []
    for matrix, signal, slope in zip(upper[::-1], passed.signals[::-1], passed.slopes[::-1], strict=True):
        velocities.append(product(pull, signal.T))
        pull = slope * product(matrix[:, : len(slope)].T, pull)
    return pull, tuple(velocities[::-1])
