"""The picture of docs/li_2025.md, from results of `flowsim run`: Figures 2a and 2b of Li et al. 2025.

python docs/picture_li_2025.py fig2a.nc fig2b.nc -o docs/images/li_2025_fig2.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import flowsim

#: A map that is even in lightness, and so safe for colour-blind readers, over the cosines of both panels.
COLORS, LOW, HIGH = "cividis", -0.05, 1.0


def draw(results: list[str]) -> plt.Figure:
    """One panel for each result: the cosine at the end between every neuron and every centre."""
    figure, panels = plt.subplots(1, len(results), figsize=(10.5, 4.9), layout="constrained")
    for path, axes in zip(results, panels, strict=True):
        with flowsim.open(path) as tree:
            run = tree.to_dataset()[["cosine"]].isel(time=-1).load()
            title = tree.attrs["title"].rpartition("Li et al. 2025, ")[2]
        image = _panel(axes, run)
        axes.set(title=title, xlabel="cluster (label)")
    panels[0].set_ylabel("neuron")
    figure.colorbar(image, ax=panels, label="cosine between neuron and centre", shrink=0.9)
    return figure


def _panel(axes: plt.Axes, run: xr.Dataset) -> matplotlib.image.AxesImage:
    cosine, label = run["cosine"].values, run["cluster_label"].values
    image = axes.imshow(cosine, cmap=COLORS, vmin=LOW, vmax=HIGH)
    for (neuron, cluster), value in np.ndenumerate(cosine):
        color = "black" if value > (LOW + HIGH) / 2 else "white"
        axes.text(cluster, neuron, f"{value:.2f}", ha="center", va="center", fontsize=7, color=color)
    axes.set_xticks(range(len(label)), [f"{index}\n({'+' if sign > 0 else '−'})" for index, sign in enumerate(label)])
    if "neuron_output" in run.coords:
        names = [f"{index} (output {output})" for index, output in enumerate(run["neuron_output"].values)]
    else:
        names = [f"{index} ({'+' if sign > 0 else '−'})" for index, sign in enumerate(run["neuron_sign"].values)]
    axes.set_yticks(range(len(names)), names)
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs=2)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.results).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
