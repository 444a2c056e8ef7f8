"""Theorem 1 of Min & Vidal 2025 from finished sweeps over alpha: picture and table of docs/papers/min_vidal_2025.md.

flowsim sweep scenarios/min_vidal_2025/theorem1.toml -o theorem1
flowsim sweep scenarios/min_vidal_2025/theorem1_fixed_size.toml -o theorem1_fixed_size
python docs/picture_theorem1.py theorem1 theorem1_fixed_size -o docs/images/min_vidal_2025_theorem1.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import flowsim

#: Okabe and Ito's palette, safe for colour-blind readers.
COLORS, STYLES, MARKERS = ("#0072B2", "#D55E00"), ("-", "--"), ("o", "s")
QUANTITIES = {"unscaled_distance": "largest |f − F| on the unit sphere", "final_loss": "training loss, per cluster"}


def read(folder: str) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """(what varies, alpha, quantity -> its values), by rising alpha"""
    sweep = flowsim.open_sweep(folder).load()
    alpha = sweep["data.noise.total"].values
    order = np.argsort(alpha)
    title = str(sweep.attrs["title"]).rpartition(": ")[2]
    return title, alpha[order], {name: sweep[name].values[order] for name in QUANTITIES}


def slope(alpha: np.ndarray, values: np.ndarray) -> float:
    return float(np.polyfit(np.log(alpha), np.log(values), 1)[0])


def draw(folders: list[str]) -> plt.Figure:
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for folder, color, style, marker in zip(folders, COLORS, STYLES, MARKERS, strict=False):
        title, alpha, found = read(folder)
        for axes, (name, label) in zip(panels, QUANTITIES.items(), strict=True):
            power, words = slope(alpha, found[name]), title.replace("alpha^-2", "α⁻²")
            axes.loglog(alpha, found[name], style, marker=marker, color=color, label=f"{words}: slope {power:.2f}")
            axes.set(xlabel="α, total noise of a sample", ylabel=label)
            axes.set_xticks(alpha, [f"{value:g}" for value in alpha])
            axes.minorticks_off()
            axes.grid(alpha=0.25)
            print(f"{title}, {name}: slope {power:.3f}")
        for row in zip(alpha, *found.values(), strict=True):
            print("  " + "  ".join(f"{value:.4g}" for value in row))
    for axes in panels:
        axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweeps", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.sweeps).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
