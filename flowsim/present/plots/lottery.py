"""When first-layer units turn to what they learn, the lottery tickets of Allen-Zhu & Li 2022 (Figure 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Booleans, Floats
from ...errors import UsageError
from ..features import Kept, cosines
from ..source import Clock, Source
from ..style import GREY, PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: Units have won whose norm at the reference is among this share of the largest.
WINNERS = 0.25


@dataclass(frozen=True)
class Tickets:
    """cosine (instant, unit): with the unit's own weights at the end of the first stage. won (unit,)."""

    clock: Clock
    end: str
    cosine: Floats
    won: Booleans


def series(source: Source, *, seed: int | None = None) -> Tickets:
    """Each unit's |cosine| with itself at the end of the first stage; winners have the largest norms there."""
    kept = Kept.of(source, seed)
    if len(kept.ends) < 2:
        raise UsageError("it needs weights that were kept at the start and later")
    rows, place = kept.first, kept.ends[kept.reference]
    size = kept.norms[place]
    return Tickets(kept.clock, kept.reference, cosines(rows, rows[place]), size >= np.quantile(size, 1 - WINNERS))


def draw(axes: Axes, found: Tickets) -> None:
    looks = (False, GREY, 0.8, "other units"), (True, PALETTE[1], 1.6, "largest quarter by norm")
    for won, color, width, name in looks:
        lines = axes.plot(found.clock.values, found.cosine[:, found.won == won], color=color, linewidth=width)
        for line in lines[:1]:
            line.set_label(name)
    axes.set(ylim=(0, 1.02), ylabel=f"|cosine| with own weights at the end of {found.end}")
    legend(axes)
