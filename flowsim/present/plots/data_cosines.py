"""Cosines between the samples that are trained on, or between the means of their clusters (Li et al. 2025, Figure 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...arrays import Floats, Integers
from ...errors import UsageError
from ...papers.feature_cosines import feature_cosines
from ..source import Source
from ..style import COSINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER_TIME = False
SIZE = (5.4, 4.6)
#: Lines between clusters are drawn where there are no more.
TOLD_APART = 30


@dataclass(frozen=True)
class DataMap:
    """cosine (rows, rows). ends: of the rows of each cluster, which are side by side."""

    what: str
    cosine: Floats
    ends: Integers


def series(
    source: Source, *, of: Literal["samples", "means"] = "samples", per_cluster: int = 100, seed: int | None = None
) -> DataMap:
    """of: "samples", at most `per_cluster` of each cluster, or "means" of clusters."""
    if of not in ("samples", "means"):
        raise UsageError(f'of is "samples" or "means", not "{of}"')
    problem = source.case(seed).problem
    if not len(problem.centers) or (problem.sample_cluster < 0).any():
        raise UsageError("it needs samples whose clusters are known")
    found = feature_cosines(problem.inputs, problem.sample_cluster, per_cluster=per_cluster)
    if of == "means":
        return DataMap("mean of cluster", found["mean_cosine"].values, np.arange(1, len(problem.centers) + 1))
    counts = np.bincount(found["sample_cluster"].values)
    return DataMap("sample, by cluster", found["sample_cosine"].values, np.cumsum(counts))


def draw(axes: Axes, found: DataMap) -> None:
    image = axes.imshow(found.cosine, cmap=COSINES, vmin=-1, vmax=1, interpolation="nearest")
    begins = np.concatenate([[0], found.ends[:-1]])
    if len(found.cosine) > len(found.ends) and len(found.ends) <= TOLD_APART:
        for begin in begins[1:]:
            axes.axhline(begin - 0.5, color="#404040", linewidth=0.4)
            axes.axvline(begin - 0.5, color="#404040", linewidth=0.4)
    every = max(1, -(-len(begins) // 20))
    middles, names = ((begins + found.ends - 1) / 2)[::every], [str(one) for one in range(0, len(begins), every)]
    axes.set_xticks(middles, names, fontsize="small")
    axes.set_yticks(middles, names, fontsize="small")
    axes.tick_params(length=0)
    axes.set(xlabel=found.what, ylabel=found.what)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=axes, label="cosine")
