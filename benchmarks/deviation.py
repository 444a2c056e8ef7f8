"""How far weights are from a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cartesian import Floats


@dataclass(frozen=True)
class Deviation:
    """From the reference. weights: largest entry of the difference over the largest entry; angle: of the worst neuron,
    in radians; astray: how many neurons are nearest in angle to another centre."""

    weights: float
    angle: float
    astray: int

    @classmethod
    def of(cls, hidden: Floats, reference: Floats, centers: Floats) -> Deviation:
        unit, unit_reference = rows_normalised(hidden), rows_normalised(reference)
        # accurate for small angles too, unlike arccos of the inner product
        half_chord = np.linalg.norm(unit - unit_reference, axis=1).max() / 2
        nearest, nearest_reference = (np.argmax(rows @ centers.T, axis=1) for rows in (unit, unit_reference))
        return cls(
            weights=float(np.abs(hidden - reference).max() / np.abs(reference).max()),
            angle=float(2 * np.arcsin(min(half_chord, 1.0))),
            astray=int((nearest != nearest_reference).sum()),
        )

    @property
    def worst(self) -> float:
        return max(self.weights, self.angle)


def rows_normalised(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
