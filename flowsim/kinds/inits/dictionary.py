"""Rows that are the data's centres."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ..drawing import Drawing
from ..samples import Samples
from . import INITS, Shape


class Dictionary(Shape):
    """Row j of the shape is a centre, each in turn, divided by its norm: of sparse coding, a column of M times the sign of
    its entry of w*."""

    around_centers: ClassVar[bool] = True

    shape: Literal["dictionary"]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.zeros(shape)

    def moved(self, rows: Floats, sign: Floats, samples: Samples, scenario: Drawing) -> Floats:
        length = np.linalg.norm(samples.centers, axis=1, keepdims=True)
        if not len(length) or not length.all():
            raise scenario.error(("init.shape", '"dictionary" needs centres, none of them at the origin'))
        found = rows.copy()
        chosen = np.resize(np.arange(len(length)), len(rows))
        found[:, : samples.centers.shape[1]] = (samples.centers / length)[chosen]
        return found


INITS.register("dictionary", Dictionary)
