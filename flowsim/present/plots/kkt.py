"""How far the network is from a KKT point of the margin problem, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UsageError
from ..source import Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: What is drawn -> what it is called.
DRAWN = {"kkt_epsilon": "epsilon", "kkt_delta": "delta", "kkt_residual": "residual, relative to the weights"}


def series(source: Source, *, seed: int | None = None) -> Bands:
    """Both distances of Lyu & Li, and the larger one relative to the weights; nothing before the samples are separated."""
    source = source.chosen(seed)
    if source.is_ensemble:
        raise UsageError("it needs the group kkt, which ensembles do not have")
    kkt = source.group("kkt")
    missing = [name for name in DRAWN if name not in kkt]
    if missing:
        raise UsageError(f"it needs {' and '.join(missing)}, which was not kept; add it to observe.variables")
    bands = tuple(
        Band.of(label, kkt[name].values[source.clock.index].astype(float)[:, None]) for name, label in DRAWN.items()
    )
    return Bands(source.clock, "distance from a KKT point", bands, log=True)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
