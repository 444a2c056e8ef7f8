"""The cosines between neurons and centres at an instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats, Integers
from ..source import Source
from ..style import COSINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (6.0, 5.0)
#: What targets are called -> what neurons are sorted by.
WORDS = {"target": "target cluster", "closest to": "the centre that they end closest to"}


@dataclass(frozen=True)
class CosineMap:
    """cosine (neuron, cluster), neurons in the order of `neuron`: by target, those that end closest to a centre first, and
    last those in the void region. groups: (name, first row, end) of each target's neurons. aim: what targets are called."""

    label: str
    instant: str
    cosine: Floats
    neuron: Integers
    cluster_label: Floats
    groups: tuple[tuple[str, int, int], ...]
    aim: str = "target"


def series(source: Source, *, at: float | None = None, seed: int | None = None) -> CosineMap:
    """At the kept instant nearest to flow time `at`, on the loss clock to its log10; the last one by default."""
    source = source.member(seed)
    source.need("cosine")
    kept = source.trajectory["cosine"].transpose("time", "neuron", "cluster")
    place = source.nearest(at)
    target, aim = source.aims()
    neuron, groups = order(target, kept.isel(time=-1).values)
    cosine = kept.isel(time=place).values[neuron]
    labels = source.known("cluster_label", "cluster")[0]
    return CosineMap(source.label("cosine"), source.when(place), cosine, neuron, labels, groups, aim)


def order(target: Integers, last: Floats) -> tuple[Integers, tuple[tuple[str, int, int], ...]]:
    """(neurons (m,) by target and then by their best cosine at the end (m, K), the rows of each target)"""
    key = np.where(target >= 0, target, target.max(initial=0) + 1)
    neuron = np.lexsort((-last.max(axis=1), key))
    groups, begin = [], 0
    for value, count in zip(*np.unique(key, return_counts=True), strict=True):
        name = f"{value}" if (target == value).any() else "void"
        groups.append((name, begin, begin + int(count)))
        begin += int(count)
    return neuron, tuple(groups)


def draw(axes: Axes, found: CosineMap) -> None:
    neurons, clusters = found.cosine.shape
    image = axes.imshow(
        found.cosine, cmap=COSINES, vmin=-1, vmax=1, aspect="auto", interpolation="nearest", origin="upper"
    )
    every = max(1, -(-clusters // 20))
    ticks = range(0, clusters, every)
    axes.set_xticks(ticks, [f"{cluster}\n{found.cluster_label[cluster]:+g}" for cluster in ticks], fontsize="small")
    _name_groups(axes, found.groups, neurons)
    axes.set(xlabel="cluster, and its label", ylabel=f"neurons, by {WORDS[found.aim]}", title=found.instant)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=axes, label=found.label)


def _name_groups(axes: Axes, groups: tuple[tuple[str, int, int], ...], neurons: int) -> None:
    """A line between the neurons of different targets, and the target's name where there is room for it."""
    for _, begin, _ in groups[1:]:
        axes.axhline(begin - 0.5, color="#404040", linewidth=0.6)
    roomy = [group for group in groups if group[2] - group[1] >= 0.03 * neurons]
    axes.set_yticks(
        [(begin + end - 1) / 2 for _, begin, end in roomy], [name for name, _, _ in roomy], fontsize="small"
    )
    axes.tick_params(axis="y", length=0)
