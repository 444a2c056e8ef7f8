"""How many features inputs and perturbations are made of, against what these leave (Allen-Zhu & Li 2022, Figure 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...arrays import Floats
from ..source import Source
from ..style import PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (7.0, 4.6)


@dataclass(frozen=True)
class Densities:
    """density and residual (instant, penalty), of inputs and of perturbations, at instants called by `at`."""

    at: tuple[str, ...]
    inputs: tuple[Floats, Floats]
    perturbations: tuple[Floats, Floats]


def series(source: Source) -> Densities:
    """Inputs by the first layer's features at the same instant, perturbations of the network there by those at the end."""
    group = source.group("density")
    inputs, perturbations = (
        (group[f"{what}_density"].values, group[f"{what}_residual"].values) for what in ("input", "perturbation")
    )
    return Densities(tuple(map(str, group["kept_end"].values)), inputs, perturbations)


def draw(axes: Axes, found: Densities) -> None:
    for place, name in enumerate(found.at):
        color = PALETTE[place % len(PALETTE)]
        for (share, left), line, what in (
            (found.inputs, "-", f"inputs by features, {name}"),
            (found.perturbations, "--", f"perturbations, {name}"),
        ):
            used = share[place] > 0  # no features at all have no place on a log axis
            axes.plot(share[place, used], left[place, used], line, marker=".", color=color, label=what)
    axes.set(xlabel="share of the features that are used", ylabel="squared norm of what is left, of 1")
    axes.set_xscale("log")
    axes.grid(alpha=0.25)
    legend(axes, "perturbations by the features at the end")
