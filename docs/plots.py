"""The pictures of docs/plots.md: every kind of plot, from the quickstart scenario, from descent on XOR data, of the way to
the limit from the ReLU network on clusters, and of handwritten digits from two layers and from a convolutional network.

python docs/plots.py docs/images/plots
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

import flowsim
from flowsim.present.kinds import KINDS, plot

SCENARIOS = Path(__file__).parents[1] / "scenarios"
XOR = """
title = "XOR in two dimensions, by gradient descent"

[data]
kind = "xor"
dimension = 2
samples = 400
noise = { total = 0.5 }
label_noise = 0.1

[model]
activation = "relu"
width = 24
bias = true

[init]
scale = 0.01
balanced = false

[loss]
kind = "logistic"

[flow]
method = "gradient_descent"
step = 0.1
iterations = 3000
"""
#: Kinds that show more on XOR data.
ON_XOR = ("boundary", "margins", "loss_derivatives")
#: Kinds that compare real samples and classes.
ON_CLASSES = ("class_cosines", "data_cosines")
#: Kinds that show features of layers, and what these need.
ON_FEATURES = (
    "filters",
    "correlations",
    "exciting_inputs",
    "active_units",
    "density",
    "reconstructions",
    "lottery",
    "purity",
)
DIGITS = {
    "observe.times": 11,
    "observe.snapshots": "all",
    "evaluate": {"features": {"units": 3}, "density": {"radius": 1.0}},
}
#: kind -> its options
OPTIONS = {"cosines": {"at": 25.0}, "variable": {"of": "cluster_mass"}}
#: The quickstart has happened by this time.
END = 150.0
ROBUSTNESS = {
    "radii": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.675, 0.7, 0.725, 0.75],
    "attacks": ["pgd", "universal", "strong"],
    "samples": 300,
    "compare": ["nearest"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams["svg.hashsalt"] = "flowsim"
    flow = flowsim.run(
        flowsim.load(SCENARIOS / "quickstart.toml", {"flow.until.time": END, "evaluate.robustness": ROBUSTNESS})
    )
    xor = flowsim.run(flowsim.loads(XOR))
    limit = flowsim.run(flowsim.load(SCENARIOS / "limits" / "relu_clusters.toml"))
    digits = flowsim.run(flowsim.load(SCENARIOS / "images" / "digits_conv_small.toml", DIGITS))
    classes = flowsim.run(flowsim.load(SCENARIOS / "li_2025" / "digits_10class.toml"))
    special = {
        "kkt": limit,
        **dict.fromkeys(ON_XOR, xor),
        **dict.fromkeys(ON_FEATURES, digits),
        **dict.fromkeys(ON_CLASSES, classes),
    }
    for kind in KINDS:
        axes = plot(special.get(kind, flow), kind, interactive=False, **OPTIONS.get(kind, {}))
        axes.get_figure().savefig(folder / f"{kind}.png", dpi=90)


if __name__ == "__main__":
    main()
