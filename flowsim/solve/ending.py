"""Where within its last step an integration has met its goal."""

from __future__ import annotations

import math
from typing import Any

from .integrator import Dense, Inside

#: What is lacking of a goal there, at most: far below any step's own error, and above the rounding of a large margin.
MET = 1e-11
#: The first part that is looked at: an integral over none has no logarithm.
FIRST = 1e-9
#: A false position is halved where the same end of the bracket stays; so many of them are as good as the last bit.
TRIALS = 60


def end_within(integrator: Dense, carry: Any) -> Inside | None:
    """The instant within the last accepted step at which a goal is met, by MET at most.

    None where the end of the step does not meet it, as seen from here: by rounding, it is where the goal is met.
    """
    low, high = FIRST, 1.0
    before, met = integrator.within(carry, low), integrator.within(carry, high)
    if met.lacking > 0:
        return None
    if before.lacking <= 0:
        return before
    below, above = _aimed(before), _aimed(met)
    for _ in range(TRIALS):
        if met.lacking >= -MET:
            break
        part = high - above * (high - low) / (above - below) if math.isfinite(above) else math.nan
        if not low < part < high:
            part = 0.5 * (low + high)
        inside = integrator.within(carry, part)
        if inside.lacking <= 0:
            high, met, above = part, inside, _aimed(inside)
            below *= 0.5
        else:
            low, below = part, _aimed(inside)
            above *= 0.5
    return met


def _aimed(inside: Inside) -> float:
    """What is lacking of the middle of the goals that are met closely enough."""
    return inside.lacking + 0.5 * MET
