"""Each neuron's largest cosine with any centre, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError
from ..source import Band, Bands, Source, pooled
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(
    source: Source, *, by_cluster: bool = False, clusters: Sequence[int] | None = None, seed: int | None = None
) -> Bands:
    """The spread over all neurons (of all members); by_cluster, or for these clusters: over those whose target it is."""
    source = source.chosen(seed)
    cosine = source.over_time("cosine", "neuron", "cluster")
    best = np.moveaxis(cosine, -1, 0).max(axis=0)
    label = f"largest {source.label('cosine')}"
    if not by_cluster and clusters is None:
        errors = source.errors_over_time("cosine", "neuron", "cluster")
        known = None if errors is None else pooled(errors.max(axis=-1))
        return Bands(source.clock, label, (Band.of("all neurons", pooled(best), errors=known),))
    return Bands(source.clock, label, tuple(_of_clusters(source, best, clusters)))


def _of_clusters(source: Source, best: np.ndarray, clusters: Sequence[int] | None) -> list[Band]:
    target, signs = source.known("target_cluster", "neuron"), source.known("cluster_label", "cluster")[0]
    wanted = range(len(signs)) if clusters is None else clusters
    unknown = [cluster for cluster in wanted if not 0 <= cluster < len(signs)]
    if unknown:
        raise UsageError(f"there is no cluster {unknown[0]}; they are 0 to {len(signs) - 1}")
    bands = []
    for cluster in wanted:
        if (target == cluster).any():
            values = pooled(best, target == cluster)
            values = values[:, ~np.isnan(values).all(axis=0)]
            bands.append(Band.of(f"target {cluster} ({signs[cluster]:+g})", values, f"{signs[cluster]:+g}"))
    if not bands:
        raise UsageError("no neuron has one of these clusters as its target")
    return bands


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
    axes.set_ylim(min(0.0, *(float(np.nanmin(band.quantiles)) for band in found.bands)) - 0.02, 1.02)
