"""The picture of docs/papers/frei_2022.md, from a result of `flowsim run` in two dimensions: data and decision boundary of
Figure 1 of Frei, Chatterji & Bartlett 2022, before and after training.

python docs/xor_picture.py fig1.nc -o docs/images/frei_2022_fig1.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

import flowsim

#: Okabe and Ito's palette, safe for colour-blind readers; label +1, label -1.
COLORS = {1.0: "#0072B2", -1.0: "#D55E00"}
MARKERS = {1.0: "o", -1.0: "s"}
REGIONS = ("#FBE3D3", "#D6E8F5")
HALF, PIXELS = 1.75, 600


def draw(result: str, shown: int) -> plt.Figure:
    """Two panels, the first and the last weights kept: the first `shown` samples, the sign of f, and where it is 0."""
    with flowsim.reopen(result) as case:
        run, scenario, problem = case.trajectory.load(), case.scenario, case.problem
    x, label, clean = (values[:shown] for values in (problem.inputs, problem.targets, problem.clean_targets))
    figure, panels = plt.subplots(1, 2, figsize=(9, 5.3), sharey=True, layout="constrained")
    for axes, snapshot in zip(panels, (0, -1), strict=True):
        time = float(run["snapshot"][snapshot])
        hidden = run["direction"].values[snapshot] * np.exp(run["log_norm"].sel(time=time).values)[:, None]
        outputs = np.maximum(problem.inputs @ hidden.T, 0) @ run["neuron_sign"].values
        right = np.sign(outputs) == problem.targets
        noisy = problem.targets != problem.clean_targets
        _regions(axes, hidden, run["neuron_sign"].values)
        _points(axes, x, label, label != clean)
        step = scenario.flow.step
        axes.set(xlabel=r"$\langle\mu_1, x\rangle$", aspect="equal", xlim=(-HALF, HALF), ylim=(-HALF, HALF))
        axes.set_title(
            (f"iteration {round(time / step)}" if step else f"time {time:g}")
            + f": fits {right[~noisy].mean():.0%} of clean, {right[noisy].mean():.0%} of flipped labels",
            fontsize=10.5,
        )
    panels[0].set_ylabel(r"$\langle\mu_2, x\rangle$")
    figure.legend(handles=_legend(), loc="outside lower center", ncols=5, frameon=False, handletextpad=0.6)
    return figure


def _regions(axes: plt.Axes, hidden: np.ndarray, sign: np.ndarray) -> None:
    ticks = np.linspace(-HALF, HALF, PIXELS)
    plane = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    values = np.maximum(plane @ hidden.T, 0) @ sign
    axes.contourf(ticks, ticks, values, levels=[-np.inf, 0, np.inf], colors=REGIONS)
    axes.contour(ticks, ticks, values, levels=[0], colors="black", linewidths=1.6)
    for side in (0.93, -0.93):
        _name(axes, (side * HALF, 0), values[PIXELS // 2, int((1 + side) / 2 * PIXELS)])
        _name(axes, (0, side * HALF), values[int((1 + side) / 2 * PIXELS), PIXELS // 2])


def _name(axes: plt.Axes, place: tuple[float, float], value: float) -> None:
    words, turned = ("f > 0" if value > 0 else "f < 0"), 90 if place[1] == 0 else 0
    axes.text(*place, words, ha="center", va="center", rotation=turned, fontsize=10)


def _points(axes: plt.Axes, x: np.ndarray, label: np.ndarray, flipped: np.ndarray) -> None:
    """Clean points small and faint, flipped ones on top of them, large, with a black edge."""
    for value, color in COLORS.items():
        clean, wrong = (label == value) & ~flipped, (label == value) & flipped
        axes.scatter(*x[clean].T, s=9, marker=MARKERS[value], color=color, alpha=0.45, linewidths=0)
        axes.scatter(
            *x[wrong].T, s=22, marker=MARKERS[value], color=color, edgecolors="black", linewidths=0.8, zorder=3
        )


def _legend() -> list[Line2D]:
    handles = []
    for flipped, size, edge in ((False, 4, "none"), (True, 5, "black")):
        for value, color in COLORS.items():
            words = f"label ${value:+.0f}$" + (", flipped" if flipped else "")
            handles.append(
                Line2D([], [], ls="", marker=MARKERS[value], ms=size, mfc=color, mec=edge, mew=0.9, label=words)
            )
    return [*handles, Line2D([], [], color="black", lw=1.6, label="f = 0")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--samples", type=int, default=1000, help="how many of the training samples are drawn")
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.result, options.samples).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
