"""Surgery on a purified network (Allen-Zhu & Li 2022): which coefficients make a clean-trained network fall to attacks.

python docs/surgery_allen_zhu_li_2022.py purification_small.nc

It takes a result of clean and then adversarial training, with the weights at both ends, and prints a table.
"""

from __future__ import annotations

import argparse

import numpy as np

import flowsim
from flowsim.papers.allen_zhu_li_2022 import coefficients_of, operate


def table(path: str, radius: float) -> list[tuple[str, int, float, float]]:
    """(what is done to the clean network, coefficients changed, clean accuracy, accuracy under PGD at the radius)"""
    asked = {"radii": [0.0, radius], "attacks": ["pgd"], "samples": 500, "steps": 50}
    with flowsim.open(path) as tree:
        clean, robust = -2, -1
        nothing = np.zeros(coefficients_of(tree, at=clean).shape, dtype=bool)
        dropped = operate(tree, "dropped", at=clean, donor=robust)
        after = coefficients_of(tree, at=robust)
        pure = abs(after) >= abs(after).max(axis=1, keepdims=True)
        gone = dropped.mask
        operations = {
            "nothing": operate(tree, nothing, at=clean),
            "mixture to 0": operate(tree, "mixture", at=clean),
            "small to 0": operate(tree, "small", at=clean),
            "small from the robust network": operate(tree, "small", at=clean, donor=robust),
            "dropped to 0": operate(tree, gone, at=clean),
            "dropped from the robust network": dropped,
            "dropped and small to 0": operate(tree, gone | operate(tree, "small", at=clean).mask, at=clean),
            "large from the robust network": operate(tree, "large", at=clean, donor=robust),
            "all but the largest to 0": operate(tree, ~pure, at=clean),
            "all from the robust network": operate(tree, ~nothing, at=clean, donor=robust),
        }
        found = []
        for name, operated in operations.items():
            accuracy = operated.robustness(asked)["robust_accuracy"].sel(classifier="network", attack="pgd")
            found.append((name, operated.changed, *map(float, accuracy)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("result")
    parser.add_argument("--radius", type=float, default=0.15)
    options = parser.parse_args()
    print("| the clean network, with | changed | clean accuracy | under PGD |\n| --- | ---: | ---: | ---: |")
    for name, changed, clean, robust in table(options.result, options.radius):
        print(f"| {name} | {changed} | {clean:.3f} | {robust:.3f} |")


if __name__ == "__main__":
    main()
