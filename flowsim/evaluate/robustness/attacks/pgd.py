"""Projected gradient descent with decaying steps, from the clean sample and from random starts.

At a clean sample, a neuron that is not active there has no gradient, so this attack alone may be far too weak.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Floats
from .options import Options
from .target import Found, Target, descend, rising

#: Sizes of the first and the last step, in radii.
FIRST, LAST = 0.5, 0.01


def attack(target: Target, radii: Floats, options: Options) -> Found:
    def perturb(part: Target, radius: float, latest: Floats) -> Floats:
        best = descend(part, latest, radius, options.steps, FIRST, LAST)
        lowest = part.margin(best)
        for _ in range(options.restarts):
            rows = np.flatnonzero(lowest > 0)
            if not len(rows):
                break
            start = radius * part.norm.steepest(options.random.standard_normal((len(rows), best.shape[1])))
            moves = descend(part[rows], start, radius, options.steps, FIRST, LAST)
            margin = part[rows].margin(moves)
            better = margin < lowest[rows]
            best[rows[better]], lowest[rows[better]] = moves[better], margin[better]
        return best

    return rising(target, radii, perturb)
