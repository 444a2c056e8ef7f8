"""How far training turns the weights of each unit: theta(w, w') = |<w, w'>|/(|w||w'|) (Allen-Zhu & Li 2022, Figure 2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ..features import Kept, cosines, units
from ..source import Source
from ..style import GREY, PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (7.0, 5.0)
BINS = 40
DIFFERENT = "different units, {}"


@dataclass(frozen=True)
class Correlations:
    """layer -> pair of instants, or DIFFERENT at the second to last -> theta of each unit, or pair of units"""

    of: dict[str, dict[str, Floats]]


def series(source: Source, *, seed: int | None = None) -> Correlations:
    """Of each layer of units with two weights or more: between the last two of the start and the ends of stages, and
    between each of them and where the layer was last drawn. Layers that the last stage leaves as they are have none."""
    kept = Kept.of(source, seed)
    found = {}
    for name, array in kept.arrays.items():
        at = kept.since_drawn(name)
        chosen = list(dict.fromkeys([*list(at)[:1], *list(at)[-2:]]))
        if array.shape[2] < 2 or len(chosen) < 2 or np.array_equal(at[chosen[-1]], at[chosen[-2]]):
            continue
        pairs = {f"{a}, {b}": cosines(at[a], at[b]) for a, b in combinations(chosen, 2)}
        rows = units(at[chosen[-2]] if len(chosen) > 2 else at[chosen[-1]])
        between = np.abs(rows @ rows.T)[np.triu_indices(len(rows), 1)]
        found[name] = pairs | {DIFFERENT.format(chosen[-2] if len(chosen) > 2 else chosen[-1]): between}
    if not found:
        raise UsageError("it needs weights that were kept at two instants between which a layer has moved")
    return Correlations(found)


def draw(axes: Axes, found: Correlations) -> None:
    edges, names = np.linspace(0, 1, BINS + 1), list(found.of)
    looks: dict[str, str] = {}
    for row, layer in enumerate(names):
        for place, (pair, values) in enumerate(found.of[layer].items()):
            color = GREY if pair.startswith(DIFFERENT.format("")) else PALETTE[place % len(PALETTE)]
            counts, _ = np.histogram(np.clip(values, 0, 1), edges)
            base = len(names) - 1 - row
            heights = base + 0.85 * counts / max(counts.max(), 1)
            axes.stairs(heights, edges, baseline=base, fill=True, color=color, alpha=0.3)
            axes.stairs(heights, edges, baseline=base, color=color, label=None if pair in looks else pair)
            looks[pair] = color
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set(xlim=(0, 1), ylim=(-0.05, len(names)), xlabel=r"$\theta(w, w') = |\langle w, w'\rangle| / (|w||w'|)$")
    axes.set_ylabel("units, a row for each layer")
    axes.grid(alpha=0.25, axis="x")
    legend(axes)
