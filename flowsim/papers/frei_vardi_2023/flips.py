"""Perturbations along one direction, the same for all samples up to their label."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.robustness import TwoLayer
from .setting import EPSILON

#: Bisections of a strength or a radius.
BISECTIONS = 60


def universal_direction(centers: Floats, label: Integers) -> Floats:
    """(d,): u = sum_j y_j mu_j"""
    return np.asarray(label @ centers)


class Flips:
    """What the perturbations -y eta u, of any strength eta, do to the samples x (n, d) with labels y (n,); u (d,)."""

    def __init__(self, network: TwoLayer, x: Floats, y: Floats, direction: Floats):
        lives = np.flatnonzero(network.weight)
        hidden, self._output = network.direction[lives], network.weight[lives]
        self._before = x @ hidden.T + network.offset[lives]
        self._along = y[:, None] * (hidden @ direction)
        self._positive = self._signs(0.0)

    def share(self, strength: float) -> float:
        """Of the samples whose sign of the output it changes."""
        return float(np.mean(self._signs(strength) != self._positive))

    def smallest(self, share: float = 1 - EPSILON) -> float:
        """The smallest strength that flips this share; inf where 1 does not, which mirrors the mean of every cluster."""
        low, high = 0.0, 1.0
        if self.share(high) < share:
            return math.inf
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.share(middle) >= share else (middle, high)
        return high

    def _signs(self, strength: float) -> Booleans:
        return np.asarray(np.maximum(self._before - strength * self._along, 0.0) @ self._output > 0)
