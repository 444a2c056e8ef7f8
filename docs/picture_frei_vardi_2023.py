"""Shares of fresh samples that z = eta sum_j y_j mu_j flips, and the smallest |z|, from runs with different k.

python docs/picture_frei_vardi_2023.py k4.nc k8.nc k16.nc -o frei_vardi_2023.png
"""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib.figure import Figure

import flowsim
from flowsim.problem import build, fresh
from flowsim.report.style import GREY, PALETTE
from flowsim.theory import relu_network
from flowsim.theory.frei_vardi_2023 import Flips, universal_direction

SAMPLES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    counts, sizes = [], []
    for color, path in zip(PALETTE, arguments.runs, strict=False):
        with flowsim.open(path) as tree:
            scenario, limit = flowsim.loads(str(tree.attrs["scenario"])), tree["limit"].to_dataset().load()
        problem = build(scenario)
        network = relu_network(limit["hidden"].values, limit["hidden_bias"].values, limit["output_weight"].values)
        test = fresh(scenario, problem.samples, SAMPLES)
        direction = universal_direction(problem.centers, problem.cluster_label)
        flips = Flips(network, test.inputs, test.targets, direction)
        clusters, dimension = problem.centers.shape
        unit = np.linalg.norm(direction) / np.sqrt(dimension)
        strengths = np.linspace(0, 0.8 / unit, 200)
        left.plot(strengths * unit, [flips.share(eta) for eta in strengths], color=color, label=f"k = {clusters}")
        counts.append(clusters)
        sizes.append(flips.smallest() * unit)
    left.axvline(1 / 8, color=GREY, linestyle=":", label="radius of the robust network in the paper")
    left.set(xlabel="|z| / √d", ylabel="share of fresh samples flipped")
    left.legend(fontsize="small")
    right.loglog(counts, sizes, "o", color=PALETTE[0], label="smallest |z| / √d that flips 99 %")
    line = np.array([min(counts) / 1.3, max(counts) * 1.3])
    right.loglog(line, 1 / np.sqrt(line), color=GREY, label="1/√k")
    right.set(xlabel="clusters k", ylabel="|z| / √d")
    right.set_xticks(counts, [str(count) for count in counts])
    right.legend(fontsize="small")
    figure.savefig(arguments.output, dpi=150)


if __name__ == "__main__":
    main()
