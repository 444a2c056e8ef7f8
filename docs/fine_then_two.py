"""Fine labels first, then two classes: does averaging come back? The numbers of docs/papers/li_2025.md.

python docs/fine_then_two.py

A network with an output for each cluster is trained on the clusters. The same neurons then become a network with one
output, those of positive clusters with the weight 1/5 and the others with -1/5, and go on with the logistic loss of the two
classes.
"""

from __future__ import annotations

import argparse

import numpy as np
import xarray as xr

import flowsim
from flowsim.scenario.shipped import find

ATTACKED = {"attacks": ["strong"], "samples": 100, "steps": 40, "radii": [0.0, 20.0]}


def weights_of(run: xr.DataTree, label: np.ndarray) -> flowsim.Weights:
    """The neurons at the end of a run with an output for each cluster, as those of a network with one output"""
    hidden = np.exp(run["log_norm"].values[-1])[:, None] * run["direction"].values[-1]
    own = label[run["neuron_output"].values]
    return flowsim.Weights(hidden, own / np.count_nonzero(own > 0))


def row(name: str, run: xr.DataTree, at: int) -> str:
    cosine, kept = run["cosine"].values[at], flowsim.robustness(run, ATTACKED, at=at)
    own = np.eye(len(cosine), dtype=bool)
    same = (run["neuron_sign"].values[:, None] == run["cluster_label"].values) & ~own
    numbers = cosine[own].mean(), cosine[same].mean(), float(run["loss"][at]), float(kept["attacked_radius"].median())
    return f"| {name} | " + " | ".join(f"{number:.3g}" for number in numbers) + " |"


def main(samples: int, iterations: int) -> list[str]:
    rows = [
        "| | cosine with one centre | with the others of its class | loss | median radius |",
        "| --- | --- | --- | --- | --- |",
    ]
    kept = {"evaluate.claims": [], "observe.times": 3, "observe.snapshots": "all", "data.samples": samples}
    fine = flowsim.load(find("li_2025/fig2b_iid"), kept)
    flow = {"method": "gradient_descent", "step": 1e-3, "iterations": iterations}
    two = flowsim.load(find("li_2025/fig2a_iid"), {**kept, "model.bias": False, "flow": flow})
    first = flowsim.run(fine, progress=False)
    then = flowsim.run(two, init=weights_of(first, first["cluster_label"].values), progress=False)
    alone = flowsim.run(two, progress=False)
    rows += [row("fine labels", then, 0), row("then two classes, half of the way", then, 1)]
    rows += [row("then two classes", then, -1), row("two classes alone", alone, -1)]
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=300)
    options = parser.parse_args()
    print("\n".join(main(options.samples, options.iterations)))
