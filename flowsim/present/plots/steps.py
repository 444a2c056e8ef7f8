"""The solver's step size and rejections, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ..source import Clock, Source
from ..style import PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = True


@dataclass(frozen=True)
class Steps:
    """step_size (T,) at every instant; rejected (T,): rejections since the instant before it."""

    clock: Clock
    label: str
    step_size: Floats
    rejected: Floats


def series(source: Source, *, seed: int | None = None) -> Steps:
    source = source.member(seed)
    numerics, index = source.group("numerics"), source.clock.index
    label = str(numerics["step_size"].attrs.get("long_name", "step_size"))
    rejections = numerics["rejections"].values[index]
    return Steps(
        source.clock,
        label,
        np.asarray(numerics["step_size"].values[index], dtype=float),
        np.diff(rejections, prepend=0).astype(float),
    )


def draw(axes: Axes, found: Steps) -> None:
    time = found.clock.values
    axes.plot(time, found.step_size, color=PALETTE[0], linewidth=1.8, label=found.label)
    axes.set_yscale("log")
    axes.set_ylabel(found.label)
    handles = axes.get_lines()[-1:]
    if found.rejected.any():
        twin = axes.twinx()
        rejected = np.where(found.rejected > 0, found.rejected, np.nan)
        marks = twin.plot(
            time, rejected, "o", color=PALETTE[1], markersize=4, label="rejected steps since the instant before"
        )
        twin.set_ylabel("rejected steps", color=PALETTE[1])
        twin.set_ylim(0, 1.1 * float(found.rejected.max()))
        twin.locator_params(axis="y", integer=True)
        handles = [*handles, *marks]
    legend(axes, handles=handles)
