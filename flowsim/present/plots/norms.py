"""The norms of the neurons, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..source import VOID, Band, Bands, Source, pooled
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The spread of log norms over the targeted neurons of each sign and over those in the void region; where no targets
    are known, over the neurons of each sign; where these have no sign, over all neurons."""
    source = source.chosen(seed)
    values, errors = source.over_time("log_norm", "neuron"), source.errors_over_time("log_norm", "neuron")
    if not source.has("neuron_sign"):
        known = None if errors is None else pooled(errors)
        band = Band.of(f"neurons of the first layer ({values.shape[2]})", pooled(values), errors=known)
        return Bands(source.clock, source.label("log_norm"), (band,))
    sign = source.known("neuron_sign", "neuron")
    # a member that has not run has signs of 0
    aimed = source.known("target_cluster", "neuron") >= 0 if source.has("target_cluster") else sign != 0
    groups = {
        "output weight > 0": aimed & (sign > 0),
        "output weight < 0": aimed & (sign < 0),
        "void region": ~aimed & (sign != 0),
    }
    bands = tuple(
        Band.of(
            f"{name} ({int(mask.sum())})",
            pooled(values, mask)[:, mask.ravel()],
            VOID if name == "void region" else "",
            None if errors is None else pooled(errors)[:, mask.ravel()],
        )
        for name, mask in groups.items()
        if mask.any()
    )
    return Bands(source.clock, source.label("log_norm"), bands)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
