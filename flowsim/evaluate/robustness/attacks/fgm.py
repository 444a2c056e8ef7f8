"""The fast gradient method: one step of the whole radius down the gradient at the clean sample."""

from __future__ import annotations

import numpy as np

from ....arrays import Floats
from .options import Options
from .target import Found, Target, rising


def attack(target: Target, radii: Floats, options: Options) -> Found:
    del options

    def perturb(part: Target, radius: float, latest: Floats) -> Floats:
        _, gradient = part.margin_and_gradient(np.zeros(latest.shape))
        return -radius * part.norm.steepest(gradient)

    return rising(target, radii, perturb)
