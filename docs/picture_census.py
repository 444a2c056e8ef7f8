"""How often every cluster ends with a neuron of its own, from sweeps of min_vidal_2025/census.

python docs/picture_census.py census census_sizes -o docs/images/min_vidal_2025_census.png
"""

from __future__ import annotations

import argparse
from math import comb

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import flowsim


def all_owned(dataset: xr.Dataset) -> xr.DataArray:
    """The share of the seeds for which every cluster has a neuron of its own at the end"""
    owned = dataset["final_clusters_owned"]
    return (owned == 1).where(owned.notnull()).mean("seed")


def by_chance(width: int, positive: int, negative: int) -> float:
    """The probability that every cluster is the nearest of some neuron of its sign, of independent uniform choices"""
    found = 1.0
    for clusters in (positive, negative):
        found *= sum((-1) ** k * comb(clusters, k) * (1 - k / clusters) ** (width // 2) for k in range(clusters))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", help="the sweep over width and size of the start")
    parser.add_argument("sizes", help="that over D, K and p")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    diagram, lines = figure.subplots(1, 2)
    with flowsim.open_sweep(options.grid) as dataset:
        share = all_owned(dataset).transpose("init.scale", "model.width").load()
    widths, scales = share["model.width"].values, share["init.scale"].values
    mesh = diagram.imshow(share.values, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
    for (row, column), value in np.ndenumerate(share.values):
        diagram.text(column, row, f"{value:.2f}", ha="center", va="center", color="w" if value < 0.6 else "k")
    diagram.set_xticks(range(len(widths)), [str(width) for width in widths])
    diagram.set_yticks(range(len(scales)), [f"{scale:g}" for scale in scales])
    diagram.set(xlabel="neurons", ylabel="size of the start", title="share of the starts that end all owned")
    figure.colorbar(mesh, ax=diagram)
    for scale, values in zip(scales, share.values, strict=True):
        lines.plot(widths, values, "o-", label=f"start {scale:g}")
    lines.plot(widths, [by_chance(int(width), 4, 4) for width in widths], "k--", label="regions hit by chance")
    lines.set(xlabel="neurons", ylabel="share", ylim=(-0.03, 1.03), xscale="log")
    lines.set_xticks(widths, [str(width) for width in widths])
    lines.minorticks_off()
    lines.legend(frameon=False, fontsize="small")
    figure.savefig(options.output, dpi=150)
    with flowsim.open_sweep(options.sizes) as dataset:
        share = all_owned(dataset).load()
    for point, value in zip(range(share.sizes["point"]), share.values, strict=True):
        keys = ("data.dimension", "data.positive", "model.width", "model.degree")
        at = {key: share[key].values[point].item() for key in keys}
        chance = by_chance(int(at["model.width"]), int(at["data.positive"]), int(at["data.positive"]))
        told = ", ".join(f"{key} = {number:g}" for key, number in at.items())
        print(f"{told}: {value:.2f}, by chance {chance:.2f}")


if __name__ == "__main__":
    main()
