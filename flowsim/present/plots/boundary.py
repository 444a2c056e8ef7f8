"""Samples and decision boundary of data in two dimensions, at an instant whose weights were kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ...results.layout import snapshot_index
from ..source import Source
from ..style import GREY, PALETTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (5.8, 5.6)
#: Points along each side of the grid.
GRID = 300
#: No more samples are drawn, the first ones.
MAX_SAMPLES = 2000
#: How far the grid goes beyond the samples, as a share of their extent.
RIM = 0.08


@dataclass(frozen=True)
class Boundary:
    """x, y (GRID,): the grid. fields (F, GRID, GRID), rows along y: each is 0 on a boundary and positive on one side; one
    for two classes, one for each class of more. samples (n, 2), label (n,), flipped (n,); centers (K, 2)."""

    instant: str
    x: Floats
    y: Floats
    fields: Floats
    samples: Floats
    label: Floats
    centers: Floats
    shown: str


def series(source: Source, *, at: float | None = None, seed: int | None = None) -> Boundary:
    """At the snapshot nearest to flow time `at`, on the loss clock to its log10; the last one by default."""
    source.member(seed).need("direction")
    features = source.trajectory.sizes["feature"]
    if features != 2:
        raise UsageError(f"it needs data in two dimensions, and these have {features}")
    case = source.case(seed)
    run, problem = replace(source, trajectory=case.trajectory), case.problem
    samples = problem.inputs
    low, high = samples.min(axis=0), samples.max(axis=0)
    rim = RIM * (high - low)
    x, y = (np.linspace(low[axis] - rim[axis], high[axis] + rim[axis], GRID) for axis in (0, 1))
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    kept = snapshot_index(run.trajectory)
    place = run.nearest(at, kept)
    outputs = case.network_at(place).scores(points).T
    count = min(len(samples), MAX_SAMPLES)
    return Boundary(
        run.when(int(kept[place])),
        x,
        y,
        _fields(outputs).reshape(-1, GRID, GRID),
        samples[:count],
        np.asarray(problem.label[:count], dtype=float),
        problem.centers,
        "" if count == len(samples) else f"{count} of {len(samples)} samples",
    )


def _fields(outputs: Floats) -> Floats:
    """(F, points) from outputs (k, points)"""
    if len(outputs) == 1:
        return outputs
    return np.array([own - np.delete(outputs, k, axis=0).max(axis=0) for k, own in enumerate(outputs)])


def draw(axes: Axes, found: Boundary) -> None:
    if len(found.fields) == 1:
        axes.contourf(
            found.x, found.y, np.sign(found.fields[0]), levels=[-2, 0, 2], colors=[PALETTE[1], PALETTE[0]], alpha=0.15
        )
    for values in found.fields:
        if values.min() < 0 < values.max():
            axes.contour(found.x, found.y, values, levels=[0.0], colors="black", linewidths=1.2)
    for place, value in enumerate(np.unique(found.label)[::-1]):
        mine = found.label == value
        color, marker = PALETTE[place % len(PALETTE)], "os^Dv*"[place % 6]
        axes.plot(*found.samples[mine].T, marker, color=color, markersize=3, alpha=0.7, label=f"label {value:+g}")
    if len(found.centers):
        axes.plot(*found.centers.T, "P", color="black", markeredgecolor="white", markersize=9, label="centres")
    axes.plot([], [], color="black", linewidth=1.2, label="decision boundary")
    axes.set(xlabel="feature 0", ylabel="feature 1", title=found.instant, aspect="equal")
    axes.set(xlim=(found.x[0], found.x[-1]), ylim=(found.y[0], found.y[-1]))
    axes.axhline(0, color=GREY, linewidth=0.4)
    axes.axvline(0, color=GREY, linewidth=0.4)
    legend(axes, found.shown)
