"""Cosines between cluster centres and the weights of each class's part of the network (Li et al. 2025, Figure 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats, Integers
from ...errors import UsageError
from ...evaluate.robustness.trained import network_of
from ...problem import Problem
from ...results.layout import snapshot_index
from ..source import Source
from ..style import COSINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (5.4, 4.6)


@dataclass(frozen=True)
class ClassMap:
    """cosine (part, cluster) between the mean weight vector of each part of the network and each centre. parts: how many
    neurons each has."""

    instant: str
    cosine: Floats
    parts: Integers
    cluster_label: Integers


def series(source: Source, *, at: float | None = None, seed: int | None = None) -> ClassMap:
    """At the snapshot nearest to flow time `at`, on the loss clock to its log10; the last one by default.

    With an output for every cluster a part is the neurons of an output. With a single output, the neurons of positive
    output weight are dealt out evenly over the positive clusters, in order, and the others over the negative ones.
    """
    source.member(seed).need("direction")
    case = source.case(seed)
    problem = case.problem
    if not problem.two_layers or not len(problem.centers):
        raise UsageError("it needs a network of two layers of neurons, and clusters")
    run = Source(case.trajectory, source.groups, source.by_time)
    kept = snapshot_index(run.trajectory)
    place = run.nearest(at, kept)
    hidden = network_of(case.setting, case.weights_at(place, "at")).hidden
    parts = _parts(problem)
    mean = np.array([hidden[part].mean(axis=0) for part in parts])
    products = mean @ problem.centers.T
    size = np.linalg.norm(mean, axis=1)[:, None] * np.linalg.norm(problem.centers, axis=1)
    cosine = products / np.where(size > 0, size, 1.0)
    return ClassMap(run.when(int(kept[place])), cosine, np.array([len(part) for part in parts]), problem.cluster_label)


def _parts(problem: Problem) -> list[Integers]:
    """The neurons of each cluster's part, in the order of the clusters."""
    if problem.outputs > 1:
        return [np.flatnonzero(problem.neuron_output == one) for one in range(problem.outputs)]
    found: list[Integers] = [np.zeros(0, dtype=np.int64)] * len(problem.centers)
    for sign in (1, -1):
        clusters = np.flatnonzero(problem.cluster_label == sign)
        neurons = np.flatnonzero(problem.weights.output_sign == sign)
        if len(neurons) < len(clusters):
            raise UsageError(
                f"it needs as many neurons as clusters of either label, and {len(neurons)} are of {sign:+d}"
            )
        if len(clusters):
            for cluster, part in zip(clusters, np.array_split(neurons, len(clusters)), strict=True):
                found[cluster] = part
    if not all(len(part) for part in found):
        raise UsageError("it needs clusters labelled +1 or -1")
    return found


def draw(axes: Axes, found: ClassMap) -> None:
    image = axes.imshow(found.cosine.T, cmap=COSINES, vmin=-1, vmax=1, interpolation="nearest")
    names = [f"{cluster}\n{label:+d}" for cluster, label in enumerate(found.cluster_label)]
    every = max(1, -(-len(names) // 20))
    axes.set_xticks(range(0, len(found.parts), every), names[::every][: len(found.parts)], fontsize="small")
    axes.set_yticks(range(0, len(names), every), [str(one) for one in range(0, len(names), every)], fontsize="small")
    count = "1 neuron" if found.parts.max() == 1 else f"{found.parts.min()} to {found.parts.max()} neurons"
    if found.parts.min() == found.parts.max() > 1:
        count = f"{found.parts.max()} neurons"
    axes.set(xlabel=f"part of the network of each cluster, {count}", ylabel="centre of cluster", title=found.instant)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=axes, label="cosine between mean weight and centre")
