"""Descents that start on the way to a point of the other class: a centre of it, or a sample.

Half-way to another centre its neurons are active and have gradients, which at the clean sample they may not.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Floats
from .options import Options
from .target import Found, Target, descend, rising

#: Goals of each class that are aimed at, and of those how many, the most promising, a sample descends from.
GOALS, REFINED = 64, 2
FIRST, LAST = 0.2, 0.005


def attack(target: Target, radii: Floats, options: Options) -> Found:
    def perturb(part: Target, radius: float, latest: Floats) -> Floats:
        best, lowest = latest, part.margin(latest)
        for start in _starts(part, radius):
            rows = np.flatnonzero(lowest > 0)
            if not len(rows):
                break
            moves = descend(part[rows], start[rows], radius, options.steps, FIRST, LAST)
            margin = part[rows].margin(moves)
            better = margin < lowest[rows]
            best[rows[better]], lowest[rows[better]] = moves[better], margin[better]
        return best

    return rising(target, radii, perturb)


def _starts(target: Target, radius: float) -> Floats:
    """(REFINED, n, d): the moves towards goals with the smallest margins, as far as the radius allows"""
    starts = np.zeros((REFINED, *target.x.shape))
    margins = np.full((REFINED, len(target)), np.inf)
    for rows, move in target.towards(GOALS):
        move = target.norm.within(move, radius)
        margin = target[rows].margin(move)
        for place in range(REFINED):  # a new start pushes the ones that are worse down by a place
            better = margin < margins[place, rows]
            chosen = rows[better]
            margin[better], margins[place, chosen] = margins[place, chosen], margin[better].copy()
            move[better], starts[place, chosen] = starts[place, chosen], move[better].copy()
    return starts
