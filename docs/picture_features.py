"""Figures 2c, 2d and 10 of Li et al. 2025, of features that a hidden layer of a trained network makes.

python docs/picture_features.py RESULT.nc LAYER -o PICTURE.png

Two-layer networks with h = 3 are trained on the features of some of the run's own samples, centred and of norm 8: on two
labels, and on all clusters.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flowsim
from flowsim.present.kinds import plot

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "li_2025"
#: What two-layer networks are trained on.
SAMPLES, NORM = 2000, 8.0
PANELS = (("digits_2class", "two labels"), ("digits_10class", "ten classes"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("layer")
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    features = flowsim.embed(asked.result, layer=asked.layer)
    x = features.x[:SAMPLES] - features.x[:SAMPLES].mean(axis=0)
    x *= NORM / np.linalg.norm(x, axis=1).mean()
    data = flowsim.Data(x, features.y[:SAMPLES], cluster=features.cluster[:SAMPLES])
    figure = Figure(figsize=(15, 4.4), layout="constrained")
    of_two, of_ten, of_data = figure.subplots(1, 3)
    for axes, (name, title) in zip((of_two, of_ten), PANELS, strict=True):
        scenario = flowsim.load(SCENARIOS / f"{name}.toml")
        supervision = {"kind": "table", "supervision": scenario.data.supervision}
        tree = flowsim.run(flowsim.Scenario({**scenario.to_dict(), "data": supervision}), data=data)
        plot(tree, "class_cosines", axes)
        axes.set_title(f"trained on {title}")
    plot(tree, "data_cosines", of_data)
    of_data.set_title(f"features, layer {asked.layer}")
    figure.savefig(asked.output, dpi=70)


if __name__ == "__main__":
    main()
