"""Robust accuracy over the radius, of several runs side by side: Figures 2 and 7 of Min & Vidal 2025, Figure 3 of Li et al.
2025. The commands that draw them are on the papers' pages.

python docs/picture_robustness.py -o out.png --panel "weak attack" pgd a.nc b.nc --panel "strong attack" strong a.nc b.nc
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import flowsim
from flowsim.present.robust import STRONG
from flowsim.present.style import GREY, PALETTE

STYLES = ("-", "--", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (4, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
TOP = 1.04
#: Classifier in the file -> its name, where it is not the network that the title is of.
NAMES = {
    "bayes": "Bayes' rule",
    "nearest": "nearest cluster",
    "classes": "training on ten classes: which class",
}


def read(path: str) -> tuple[str, xr.Dataset]:
    """(what the title says after its colon, the group `robustness`)"""
    with flowsim.open(path) as tree:
        title = str(tree.attrs["title"]).rpartition(": ")[2]
        return title.removeprefix("robustness of "), tree["robustness"].to_dataset(inherit=False).load()


def curves(path: str, attack: str) -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """What a classifier is called -> (radius, robust accuracy, whether only at these radii). The strong attack ends at the
    smallest perturbation of each sample that any attack has found, and so is known at every radius."""
    title, group = read(path)
    found = {}
    for classifier in group["classifier"].values:
        name = NAMES.get(str(classifier), title)
        own, last = group.sel(classifier=classifier), float(group["radius"][-1])
        if attack == STRONG:
            lost = np.sort(own["attacked_radius"].values)
            kept = 1 - np.arange(len(lost) + 1) / len(lost)
            wrong, inside = int((lost <= 0).sum()), int((lost <= last).sum())
            radius = np.array([0.0, *np.repeat(lost[wrong:inside], 2), last])
            found[name] = (radius, np.repeat(kept[wrong : inside + 1], 2), False)
        else:
            found[name] = (group["radius"].values, own["robust_accuracy"].sel(attack=attack).values, True)
    return found


def draw(panels: list[list[str]], lines: list[tuple[float, str]]) -> plt.Figure:
    figure, row = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels) + 0.2, 4.4), sharey=True, layout="constrained", squeeze=False
    )
    looks: dict[str, int] = {}
    for axes, (title, attack, *paths) in zip(row[0], panels, strict=True):
        for path in paths:
            for name, (radius, accuracy, sparse) in curves(path, attack).items():
                place = looks.setdefault(name, len(looks))
                plain = name in NAMES.values()
                axes.plot(
                    radius,
                    accuracy,
                    color="black" if name == NAMES["bayes"] else PALETTE[place % len(PALETTE)],
                    linestyle=STYLES[place % len(STYLES)],
                    marker=MARKERS[place % len(MARKERS)] if sparse else "",
                    markersize=4.5,
                    linewidth=1.4 if plain else 1.9,
                    zorder=2.5 if plain else 2,
                    label=name,
                )
        end = axes.get_xlim()[1]
        for place, words in lines:
            if place <= end:
                axes.axvline(place, color=GREY, linewidth=0.9, linestyle=":", zorder=1)
                axes.text(place, TOP, words, ha="center", va="bottom", color="#404040")
        axes.set(xlabel="radius of the attack, in the Euclidean norm", ylim=(-0.03, TOP))
        axes.set_title(title, pad=20)
        axes.set_xlim(left=0)
        axes.grid(alpha=0.25)
    row[0, 0].set_ylabel("robust accuracy, share of samples")
    found = [axes.get_legend_handles_labels() for axes in row[0]]
    handles = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--panel", nargs="+", action="append", required=True, metavar="TITLE ATTACK RESULT")
    parser.add_argument("--line", nargs=2, action="append", default=[], metavar=("RADIUS", "WORDS"))
    options = parser.parse_args()
    matplotlib.use("agg")
    lines = [(float(place), words) for place, words in options.line]
    draw(options.panel, lines).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
