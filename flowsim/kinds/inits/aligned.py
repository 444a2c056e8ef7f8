"""Matrices whose product has the singular vectors of the data from the start (Saxe, McClelland & Ganguli 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from ...arrays import Floats
from ..regression import rotation
from ..samples import Samples
from ..streams import stream
from . import INITS, Shape


class Aligned(Shape):
    """Matrices of a product, balanced, with equal singular values and such singular vectors that those of the product are
    the ones of the correlation between inputs and targets. Its modes then move independently where inputs are white."""

    of_products: ClassVar[bool] = True

    shape: Literal["aligned"]

    def product(self, widths: Sequence[int], samples: Samples, seed: int) -> list[Floats]:
        targets = samples.targets.reshape(len(samples.targets), -1)
        left, _, right = np.linalg.svd(targets.T @ samples.inputs)
        generator, modes = stream(seed, "initialisation"), min(widths)
        between = [rotation(generator, width)[:, :modes] for width in widths[1:-1]]
        return [here @ below.T for below, here in pairwise([right[:modes].T, *between, left[:, :modes]])]


INITS.register("aligned", Aligned)
