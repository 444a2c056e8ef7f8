"""How far the network is from a KKT point of the margin problem, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError
from ..source import Band, Bands, Source
from ..style import draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True
#: What is drawn -> what it is called.
DRAWN = {
    "kkt_residual": "KKT residual",
    "gradient_angle": "angle between weights and -gradient (rad)",
}


def series(source: Source, *, seed: int | None = None) -> Bands:
    """The residual, and the angle between theta and minus the gradient, as far as they exist."""
    source = source.chosen(seed)
    if source.is_ensemble:
        raise UsageError("it needs the group kkt, which ensembles do not have")
    kkt = source.group("kkt")
    missing = [name for name in ("kkt_residual", "gradient_cosine") if name not in kkt]
    if missing:
        raise UsageError(f"it needs {' and '.join(missing)}, which was not kept; add it to observe.variables")
    values = {
        "kkt_residual": kkt["kkt_residual"].values,
        "gradient_angle": np.arccos(np.clip(kkt["gradient_cosine"].values, -1.0, 1.0)),
    }
    bands = tuple(
        Band.of(label, values[name][source.clock.index].astype(float)[:, None]) for name, label in DRAWN.items()
    )
    return Bands(source.clock, "distance from a KKT point", bands, log=True)


def draw(axes: Axes, found: Bands) -> None:
    draw_bands(axes, found)
