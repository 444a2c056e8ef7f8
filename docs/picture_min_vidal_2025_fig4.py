"""Figure 4 of Min & Vidal 2025, from a result of `flowsim run`: alignment, then growth, and the distance to F^(p).

python docs/picture_min_vidal_2025_fig4.py fig4.nc -o docs/images/min_vidal_2025_fig4.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import flowsim
from flowsim.present.style import GREY, SIGNS

#: Label, or sign of an output weight -> colour, line, and width of a line that others lie on
LOOKS = {1: (SIGNS["+1"], "-", 3.6), -1: (SIGNS["-1"], "--", 1.8)}
#: Cosine with its target from which on every neuron counts as aligned, and growth is compared with its law.
ALIGNED = 0.99
#: The first panel ends at so many times the instant at which all neurons are aligned.
BEYOND = 2.5


def draw(path: str) -> plt.Figure:
    with flowsim.open(path) as tree:
        run, distance = tree.to_dataset().load(), tree["distance"].to_dataset(inherit=False).load()
    figure, (turning, growing, arriving) = plt.subplots(1, 3, figsize=(9.6, 4.2), layout="constrained")
    begin = _align(turning, run)
    _grow(growing, run, begin)
    arriving.semilogy(distance["snapshot"], distance["unscaled_distance"], color=SIGNS["+1"], label="as it is")
    arriving.semilogy(distance["snapshot"], distance["distance"], "--", color=SIGNS["-1"], label="up to a factor")
    arriving.set(title="and f becomes F", ylabel="largest |f − F| on the unit sphere")
    for axes in (turning, growing, arriving):
        axes.set_xlabel("flow time")
        axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.45, -0.16))
        axes.grid(alpha=0.25)
        axes.set_xlim(left=0)
    return figure


def _align(axes: plt.Axes, run: xr.Dataset) -> int:
    """The neurons' cosines with their targets; the place of the first instant at which all are aligned."""
    cosine = run.flow.target_cosine
    aligned = (cosine.values > ALIGNED).all(axis=1)
    if not aligned.any():
        raise SystemExit(f"some neuron never has a cosine of {ALIGNED:g} with its target")
    begin = int(aligned.argmax())
    for value, (color, line, _) in LOOKS.items():
        low, middle, high = np.quantile(cosine[:, cosine["neuron_sign"].values == value], (0, 0.5, 1), axis=1)
        words = f"output weight {'> 0' if value > 0 else '< 0'}"
        axes.plot(run["time"], middle, line, color=color, lw=1.8, label=f"{words}: median")
        axes.fill_between(run["time"], low, high, color=color, alpha=0.25, linewidth=0, label="all of these")
    axes.set(title="Neurons align", ylabel="cosine with the target's centre", ylim=(0, 1.03))
    axes.set_xlim(0, BEYOND * float(run["time"][begin]))
    return begin


def _grow(axes: plt.Axes, run: xr.Dataset, begin: int) -> None:
    """The mass of each cluster, and what z' = 2 z (1 - z) makes of the median one from when all neurons are aligned."""
    mass, time = run["cluster_mass"], run["time"].values
    for k, label in enumerate(run["cluster_label"].values):
        color, line, width = LOOKS[label]
        axes.semilogy(time, mass[:, k], line, color=color, lw=width, zorder=2 - 0.1 * (label > 0))
    first = float(mass[begin].median())
    odds = np.log(first / (1 - first)) + 2 * (time[begin:] - time[begin])
    axes.semilogy(time[begin:], 1 / (1 + np.exp(-odds)), ":", color="black", lw=1.6, label="z' = 2 z (1 − z)")
    for label, (color, line, width) in LOOKS.items():
        words = f"clusters labelled {'+' if label > 0 else '−'}1"
        axes.plot([], [], line, color=color, lw=width, label=words)
    axes.axvline(time[begin], color=GREY, linewidth=0.8, linestyle=":")
    axes.set(title="then grow", ylabel="mass of a cluster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.result).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
