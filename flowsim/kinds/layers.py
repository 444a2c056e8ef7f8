"""The layers above the first one of a network of any depth: its outputs, and the velocities of its weights.

Every layer is a matrix with a row for each of its neurons, whose last entry is the bias where the network has biases. The
formulas run in NumPy and in JAX; `product` is the matrix product of the one in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

from .activations import Activation, Array

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


def pulls_back(pull: Array, upper: Sequence[Array], passed: Passed, product: Product) -> tuple[Array, ...]:
    """What pulls on each layer's neurons, before their activation, from the first layer (m, n) to the last (k, n), where it
    is `pull`: a derivative in the outputs becomes one in what the layers below see."""
    found = [pull]
    for matrix, slope in zip(upper[::-1], passed.slopes[::-1], strict=True):
        found.append(slope * product(matrix[:, : len(slope)].T, found[-1]))
    return tuple(found[::-1])


def velocities(pulls: Sequence[Array], passed: Passed, product: Product) -> tuple[Array, ...]:
    """Of the layers above the first; pulls: as `pulls_back` has them, of minus the training loss."""
    return tuple(product(pull, signal.T) for pull, signal in zip(pulls[1:], passed.signals, strict=True))
