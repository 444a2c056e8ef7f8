"""Modes and loss of a deep linear network: the picture of docs/theory/deep_linear.md.

flowsim run scenarios/theory/deep_linear.toml -o deep_linear.nc
python docs/picture_deep_linear.py deep_linear.nc -o docs/images/theory_deep_linear.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import flowsim

#: Okabe and Ito's palette, safe for colour-blind readers.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def draw(result: str) -> plt.Figure:
    """For a network of depth 2, whose modes are logistic curves."""
    run, problem = flowsim.open(result), flowsim.reopen(result).problem
    left, strengths, right = np.linalg.svd(problem.targets.T @ problem.inputs / len(problem.inputs))
    time, product = run["time"].values, run["layers_1"].values @ run["layers_0"].values
    learned = [mode for mode in range(len(strengths)) if strengths[mode] > 1e-9]
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
    for mode, color in zip(learned, COLORS, strict=False):
        found = np.einsum("o,tof,f->t", left[:, mode], product, right[mode])
        odds = found[0] / (strengths[mode] - found[0]) * np.exp(2 * strengths[mode] * time)
        logistic = strengths[mode] * odds / (1 + odds)
        above.plot(time, found, color=color, label=f"mode of strength {strengths[mode]:g}")
        above.plot(time, logistic, "--", color="black", linewidth=0.8)
        print(f"strength {strengths[mode]:g}: at most {abs(found - logistic).max():.1e} from the logistic curve")
    above.set_ylabel("mode")
    above.legend(frameon=False, loc="center right")
    below.plot(time, run["loss"].values, color="black")
    for first in range(len(learned)):
        below.axhline(np.sum(strengths[learned[first:]] ** 2) / 2, color="grey", linestyle=":", linewidth=0.8)
    below.set(xlabel="time", ylabel="loss")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    matplotlib.use("agg")
    draw(options.result).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
