"""The README's picture, from results of `flowsim run`: alignment and loss of Figures 5 and 6 of Min & Vidal 2025.

python docs/picture.py fig5_random_init_flow.nc fig6_nudged_init_flow.nc -o docs/images/min_vidal_2025_fig5_fig6.png
"""

from __future__ import annotations

import argparse

import matplotlib
import matplotlib.pyplot as plt
import xarray as xr

import flowsim

#: Okabe and Ito's palette, safe for colour-blind readers.
COLORS = ("#0072B2", "#D55E00")
STYLES = ("-", "--")


def draw(results: list[str], end: float) -> plt.Figure:
    """One row: median and quartiles of the best cosine; loss. Each result is one colour and line style."""
    figure, (alignment, loss) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for path, color, style in zip(results, COLORS, STYLES, strict=True):
        with flowsim.open(path) as tree:
            run = tree.to_dataset().sel(time=slice(0, end)).load()
            label = tree.attrs["title"].rpartition(": ")[2].removesuffix(", by flow")
        quartiles = run.flow.best_cosine.quantile([0.25, 0.5, 0.75], "neuron")
        alignment.plot(run["time"], quartiles.sel(quantile=0.5), style, color=color, label=f"{label}, median")
        alignment.fill_between(
            run["time"],
            quartiles.sel(quantile=0.25),
            quartiles.sel(quantile=0.75),
            color=color,
            alpha=0.18,
            linewidth=0,
        )
        loss.plot(run["time"], run["loss"], style, color=color, label=label)
    alignment.set(
        xlabel="flow time",
        ylabel="largest cosine with a centre",
        title="Neurons align (band: quartiles)",
        ylim=(0, 1.02),
    )
    loss.set(xlabel="flow time", ylabel="training loss", title="then the network fits", yscale="log")
    for axes in (alignment, loss):
        axes.grid(alpha=0.25)
        axes.set_xlim(0, end)
    loss.legend(frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs=2)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--end", type=float, default=400.0, help="last flow time shown")
    options = parser.parse_args()
    matplotlib.use("agg")
    xr.set_options(keep_attrs=True)
    draw(options.results, options.end).savefig(options.output, dpi=130)


if __name__ == "__main__":
    main()
