"""Shares of fresh samples that z = eta sum_j y_j mu_j flips, and the smallest |z|, from runs with different k.

python docs/picture_frei_vardi_2023.py k4.nc k8.nc k16.nc -o frei_vardi_2023.png
"""

from __future__ import annotations

import argparse
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

import flowsim
from flowsim.papers import relu_network
from flowsim.papers.frei_vardi_2023 import Flips, certified_radius, universal_direction
from flowsim.present.style import GREY, LINES, PALETTE
from flowsim.problem import fresh

SAMPLES = 1000
#: All but this share of the samples have the certified radius that is drawn.
SHARE = 0.01
#: Sizes that the axis names.
SIZES = (0.1, 0.125, 0.2, 0.3, 0.4, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    counts, sizes, robust = [], [], []
    for color, line, path in zip(PALETTE, cycle(LINES), arguments.runs, strict=False):
        with flowsim.reopen(path) as case:
            scenario, problem, limit = case.scenario, case.problem, case.tree["limit"].to_dataset().load()
        network = relu_network(limit["hidden"].values, limit["hidden_bias"].values, limit["output_weight"].values)
        test = fresh(scenario, problem.samples, SAMPLES)
        direction = universal_direction(problem.centers, problem.cluster_label)
        flips = Flips(network, test.inputs, test.targets, direction)
        clusters, dimension = len(problem.centers), problem.dimension
        unit = np.linalg.norm(direction) / np.sqrt(dimension)
        strengths = np.linspace(0, 0.8 / unit, 400)
        shares = [flips.share(eta) for eta in strengths]
        left.plot(strengths * unit, shares, line, color=color, label=f"k = {clusters}")
        counts.append(clusters)
        sizes.append(flips.smallest() * unit)
        radii = certified_radius(test.inputs, test.targets, problem.centers, problem.cluster_label, dimension)
        robust.append(np.quantile(radii, SHARE) / np.sqrt(dimension))
    left.axvline(1 / 8, color=GREY, linestyle=":", label="radius of a robust network, Theorem 4.1")
    left.set(xlabel="|z| / √d", ylabel="share of fresh samples flipped")
    right.loglog(counts, robust, "s", color=PALETTE[1], label="certified radius of the robust network over √d")
    right.loglog(counts, sizes, "o", color=PALETTE[0], label="smallest |z| / √d that flips 99 %")
    law = np.array([min(counts) / 1.2, max(counts) * 1.2])
    right.loglog(law, 1 / np.sqrt(law), "--", color=GREY, zorder=1, label="1/√k")
    right.set(xlabel="clusters k", ylabel="size over √d")
    right.set_xticks(counts, [str(count) for count in counts])
    right.set_yticks(SIZES, [f"{size:g}" for size in SIZES])
    right.minorticks_off()
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
