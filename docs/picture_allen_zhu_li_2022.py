"""Feature purification (Allen-Zhu & Li 2022), from a result of `flowsim run` in stages, the last of which is adversarial:
what neurons are made of, how they turn, and how robust the network is before and after that stage.

python docs/picture_allen_zhu_li_2022.py purification_small.nc -o docs/images/allen_zhu_li_2022_purification_small.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import flowsim
from flowsim.papers.allen_zhu_li_2022 import turns
from flowsim.present.style import PALETTE, SHADE

#: variable -> (name, colour, line)
PARTS = {
    "pure_part": ("largest coefficient, pure", PALETTE[0], "-"),
    "dense_mixture": ("mean of the others, dense", PALETTE[1], "--"),
}
#: theta between which weights -> (words, colour, hatch)
TURNS = {
    "start_clean": ("start, clean", PALETTE[2], ""),
    "start_robust": ("start, robust", PALETTE[1], "..."),
    "clean_robust": ("clean, robust", PALETTE[3], "///"),
}
#: Of the network before and after: name -> (colour, line)
NETWORKS = {"before": (PALETTE[1], "--"), "after": (PALETTE[0], "-")}
MARKERS = {"pgd": "o", "universal": "s", "fgm": "^"}


def draw(path: str, radii: list[float]) -> plt.Figure:
    figure, (made_of, turned, robust) = plt.subplots(1, 3, figsize=(9.6, 4.1), layout="constrained")
    with flowsim.open(path) as tree:
        run = tree.to_dataset().load()
        _coefficients(made_of, run)
        _turns(turned, turns(tree))
        kept = run.sizes["snapshot"]
        asked = {"radii": radii, "attacks": ["pgd", "universal"]}
        for place, name in ((kept - 2, "before"), (kept - 1, "after")):
            _robust(robust, flowsim.robustness(tree, asked, at=place), name)
    robust.set(xlabel="radius of the attack (l2)", ylabel="robust accuracy")
    robust.set(ylim=(-0.03, 1.03))
    titles = ("What neurons are made of", "How they turn", "How robust the network is")
    for axes, title in zip((made_of, turned, robust), titles, strict=True):
        axes.set_title(title, pad=20)
        axes.grid(alpha=0.25)
        columns = 2 if axes is robust else 1
        look = {"columnspacing": 1.0, "handlelength": 1.6, "handletextpad": 0.5, "frameon": False, "fontsize": 9}
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=columns, **look)
    return figure


def _coefficients(axes: plt.Axes, run: xr.Dataset) -> None:
    """Medians and quartiles over the neurons, on the iterations of all stages."""
    iteration, stage = run["iteration"].values, run["stage"].values
    for name, (words, color, line) in PARTS.items():
        low, middle, high = np.quantile(run[name].values, (0.25, 0.5, 0.75), axis=1)
        axes.plot(iteration, np.where(middle > 0, middle, np.nan), line, color=color, marker="o", ms=3, label=words)
        there = low > 0
        axes.fill_between(iteration[there], low[there], high[there], color=color, alpha=0.2, linewidth=0)
    axes.set_yscale("log")
    begin = 0
    for place, name in enumerate(dict.fromkeys(stage)):
        end = int(iteration[stage == name].max())
        if place % 2:
            axes.axvspan(begin, end, color=SHADE, linewidth=0, zorder=0)
        axes.text((begin + end) / 2, 1.02, name, transform=axes.get_xaxis_transform(), ha="center", fontsize=9)
        begin = end
    axes.set(xlim=(0, begin), xlabel="iteration", ylabel="coefficient (median, quartiles)")


def _turns(axes: plt.Axes, found: xr.Dataset) -> None:
    """The three histograms of Figure 2: of neurons that have learned a feature filled, of all of them as an outline."""
    bins, learned = np.linspace(0, 1, 26), found["learned"].values
    for name, (words, color, hatch) in TURNS.items():
        theta = found[name].values
        look = {"color": color, "hatch": hatch, "alpha": 0.55, "edgecolor": "white", "linewidth": 0.4}
        axes.hist(theta[learned], bins, label=f"{words}: mean {theta[learned].mean():.2f}", **look)
        axes.hist(theta, bins, histtype="step", color=color, linewidth=1.0)
        shares = (
            f"at most 0.2: {(theta[learned] <= 0.2).mean():.3f}, at least 0.8: {(theta[learned] >= 0.8).mean():.3f}"
        )
        print(f"{words}: mean {theta.mean():.3f}, of those that have learned {theta[learned].mean():.3f}, {shares}")
    axes.set(xlim=(0, 1), xlabel="theta(w, w'): filled learned, outline all", ylabel="number of neurons")


def _robust(axes: plt.Axes, found: xr.Dataset, name: str) -> None:
    color, line = NETWORKS[name]
    for attack in found["attack"].values:
        accuracy = found["robust_accuracy"].sel(attack=attack, classifier="network")
        marker = MARKERS[str(attack)]
        fill = color if attack == "pgd" else "white"
        axes.plot(
            found["radius"], accuracy, line, color=color, marker=marker, ms=5, mfc=fill, label=f"{name}, {attack}"
        )
        print(f"{name}, {attack}: {np.round(accuracy.values, 3)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--radii", type=float, nargs="+", default=[0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3])
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.result, options.radii).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
