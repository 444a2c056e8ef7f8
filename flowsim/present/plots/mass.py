"""The mass of every cluster, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..source import VOID, Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(source: Source, *, seed: int | None = None) -> Bands:
    """A band for each cluster that is any neuron's target, and one for the void region; the spread is over members."""
    source = source.chosen(seed)
    prefix = "log_" if source.has("log_cluster_mass") else ""
    mass = source.over_time(f"{prefix}cluster_mass", "cluster")
    errors = source.errors_over_time(f"{prefix}cluster_mass", "cluster")
    signs = source.known("cluster_label", "cluster")[0]
    bands = [
        Band.of(
            f"cluster {cluster} ({signs[cluster]:+g})",
            _positive(mass[..., cluster], prefix),
            f"{signs[cluster]:+g}",
            None if errors is None else errors[..., cluster],
        )
        for cluster in range(mass.shape[-1])
    ]
    if source.has(f"{prefix}void_mass"):
        bands.append(Band.of("void region", _positive(source.over_time(f"{prefix}void_mass"), prefix), VOID))
    there = tuple(band for band in bands if np.isfinite(band.quantiles).any())
    return Bands(source.clock, source.label(f"{prefix}cluster_mass"), there, log=not prefix)


def _positive(values: np.ndarray, prefix: str) -> np.ndarray:
    """What a log scale can show: no mass, 0 or a log of -inf, becomes NaN."""
    return np.where(values > (-np.inf if prefix else 0.0), values, np.nan)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
