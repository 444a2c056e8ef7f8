"""Who moves samples while a network is trained by descent in NumPy: as the compiled field does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Floats
from ...scenario import Scenario
from ...scenario.flow import Stage
from ..numba.layout import PGD_LENGTH

TINY = np.finfo(float).tiny


class Attacker(NamedTuple):
    """So many steps of a length, each back within the radius of where the sample started."""

    norm: str
    radius: float
    steps: int
    length: float

    @classmethod
    def of(cls, scenario: Scenario) -> Attacker | None:
        """None where nobody attacks."""
        attack = scenario.flow.attack if isinstance(scenario.flow, Stage) else None
        if attack is None:
            return None
        length = attack.radius if attack.kind == "fgm" else PGD_LENGTH * attack.radius / attack.iterations
        return cls(attack.norm, attack.radius, attack.iterations, length)

    def moved(self, inputs: Floats, ascent: Callable[[Floats], Floats]) -> Floats:
        """Samples (n, r) where their loss is larger; ascent: (n, r) -> the directions in which it rises."""
        moved = inputs
        for _ in range(self.steps):
            moved = inputs + self._within(moved - inputs + self.length * self._steepest(ascent(moved)))
        return moved

    def _steepest(self, ascent: Floats) -> Floats:
        if self.norm == "linf":
            return np.sign(ascent)
        largest = np.abs(ascent).max(axis=1, keepdims=True)  # squares of tiny entries would underflow
        row = ascent / np.where(largest > 0, largest, 1.0)
        return row / np.where(largest > 0, np.linalg.norm(row, axis=1, keepdims=True), 1.0)

    def _within(self, move: Floats) -> Floats:
        if self.norm == "linf":
            return np.clip(move, -self.radius, self.radius)
        return move * np.minimum(self.radius / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), TINY), 1.0)
