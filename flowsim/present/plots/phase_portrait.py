"""Neurons seen along two centres, with trails over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats, Integers
from ...errors import UsageError
from ..source import Clock, Source
from ..style import GREY, PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (5.6, 5.6)
#: No more neurons have a trail.
MAX_TRAILS = 200
#: What targets are called -> what those are called that are none of the two.
OTHERS = {"target": "other targets", "closest to": "closest to others"}


@dataclass(frozen=True)
class Portrait:
    """x, y (T, m): cosines with two centres; target (m,): each neuron's target, called so by `aim`; neuron (m,): which
    neurons these are."""

    clock: Clock
    clusters: tuple[int, int]
    cluster_label: tuple[float, float]
    x: Floats
    y: Floats
    target: Integers
    neuron: Integers
    neurons: int
    aim: str = "target"


def series(source: Source, *, clusters: Sequence[int] | None = None, seed: int | None = None) -> Portrait:
    """Along two clusters; by default, of each label, the most neurons' target. Of many neurons, an even choice."""
    source = source.member(seed)
    cosine = source.over_time("cosine", "neuron", "cluster")[:, 0]
    (target, aim), labels = source.aims(), source.known("cluster_label", "cluster")[0]
    first, second = _two(clusters, target, labels)
    neurons = cosine.shape[1]
    chosen = np.unique(np.linspace(0, neurons - 1, min(neurons, MAX_TRAILS)).round().astype(int))
    return Portrait(
        source.clock,
        (first, second),
        (float(labels[first]), float(labels[second])),
        cosine[:, chosen, first],
        cosine[:, chosen, second],
        target[chosen],
        chosen,
        neurons,
        aim,
    )


def _two(clusters: Sequence[int] | None, target: Integers, labels: Floats) -> tuple[int, int]:
    count = len(labels)
    if count < 2:
        raise UsageError("it needs two clusters")
    if clusters is None:
        followed = np.argsort(-np.bincount(target[target >= 0], minlength=count), kind="stable")
        others = followed[labels[followed] != labels[followed[0]]]
        first, second = sorted((int(followed[0]), int(others[0] if len(others) else followed[1])))
        return first, second
    if len(clusters) != 2 or clusters[0] == clusters[1] or not all(0 <= cluster < count for cluster in clusters):
        raise UsageError(
            f"it needs two different clusters out of 0 to {count - 1}, not {', '.join(map(str, clusters))}"
        )
    return clusters[0], clusters[1]


def draw(axes: Axes, found: Portrait) -> None:
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.6)
    first, second = found.clusters
    groups = {
        f"{found.aim} {first}": (found.target == first, PALETTE[0], "o"),
        f"{found.aim} {second}": (found.target == second, PALETTE[1], "s"),
        OTHERS[found.aim]: ((found.target >= 0) & ~np.isin(found.target, found.clusters), GREY, "^"),
        "void region": (found.target < 0, PALETTE[3], "x"),
    }
    for label, (mask, color, marker) in reversed(groups.items()):
        if not mask.any():
            continue
        x, y = found.x[:, mask], found.y[:, mask]
        axes.plot(x, y, color=color, linewidth=0.7, alpha=0.45)
        axes.plot(x[0], y[0], ".", color=color, markersize=3, alpha=0.6)
        axes.plot(x[-1], y[-1], marker, color=color, markersize=5, linestyle="none", label=f"{label} ({mask.sum()})")
    axes.set(
        xlabel=f"cosine with the centre of cluster {first} ({found.cluster_label[0]:+g})",
        ylabel=f"cosine with the centre of cluster {second} ({found.cluster_label[1]:+g})",
        xlim=(-1.05, 1.05),
        ylim=(-1.05, 1.05),
        aspect="equal",
    )
    axes.axhline(0, color=GREY, linewidth=0.4)
    axes.axvline(0, color=GREY, linewidth=0.4)
    shown = "" if len(found.neuron) == found.neurons else f"{len(found.neuron)} of {found.neurons} neurons; "
    legend(axes, f"{shown}dots: start, marks: end")
