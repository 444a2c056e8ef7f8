"""What float32 products do to the error: random problems in both precisions, at the same tolerances.

    python benchmarks/precision.py [--problems 10]

Errors are the largest of any neuron at the end, angle or log norm, from a reference at 1e-11. The constant AUTO_MIXED_RTOL
(flowsim/solve/plan.py) comes from here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from peers import SCENARIO
from tables import machine, short, text_table

import flowsim
from flowsim.solve.plan import AUTO_MIXED_RTOL

PROBLEM = {"data.samples": 300, "data.dimension": 100, "model.width": 30, "flow.until.time": 250.0, "observe.times": 2}
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
#: What the problems differ in, beside the seed.
KINDS = (
    {},
    {"init.scale": 1e-100, "flow.until.time": 2600.0},
    {"model.degree": 1.5, "init.scale": 1e-3, "flow.until.time": 150.0},
    {"loss.kind": "logistic", "init.scale": 1e-3},
    {"model.activation": "tanh", "init.scale": 1e-2, "flow.until.time": 100.0},
)
REFERENCE = {"flow.solver": "dopri8", "flow.rtol": 1e-11}
COLUMNS = ("rtol", "float64: median", "worst", "mixed: median", "worst", "mixed over float64: median", "evaluations")


def main() -> None:
    parser = argparse.ArgumentParser(description="what float32 products do to the error")
    parser.add_argument("--problems", type=int, default=10, help="of each kind (default: 10)")
    options = parser.parse_args()
    print(*machine(("flowsim", "numpy", "jax", "diffrax")), "", sep="\n")
    found = [list(_errors(kind, seed)) for kind in KINDS for seed in range(options.problems)]
    rows = []
    for rtol, each in zip(TOLERANCES, zip(*found, strict=True), strict=True):
        exact, mixed, more = np.array(each).T
        numbers = (np.median(exact), exact.max(), np.median(mixed), mixed.max())
        ratios = f"{np.median(mixed / exact):.2f}", f"{np.median(more):.2f}"
        rows.append((short(rtol), *map(short, numbers), *ratios))
    print(*text_table(COLUMNS, rows), "", f"mixed by itself from rtol {AUTO_MIXED_RTOL:g} on", sep="\n")


def _errors(kind: dict[str, object], seed: int) -> Iterator[tuple[float, float, float]]:
    """Of each tolerance: the error in float64 and in mixed precision, and the ratio of evaluations."""
    problem = {**PROBLEM, "seed": seed, "flow.engine": "diffrax", **kind}
    if kind.get("model.activation") == "tanh":
        problem["model"] = {"activation": "tanh", "width": 30}
        problem = {key: value for key, value in problem.items() if not key.startswith("model.")}
    reference = _end({**problem, **REFERENCE})
    for rtol in TOLERANCES:
        exact, mixed = (_end({**problem, "flow.rtol": rtol, "flow.precision": name}) for name in ("float64", "mixed"))
        yield _error(exact, reference), _error(mixed, reference), mixed[2] / exact[2]


End = tuple[np.ndarray, np.ndarray, int]


def _end(overrides: dict[str, object]) -> End:
    """(directions, log norms, evaluations)"""
    tree = flowsim.run(flowsim.loads(SCENARIO, overrides=overrides), progress=False)
    last = tree.dataset.isel(time=-1, snapshot=-1)
    return last["direction"].values, last["log_norm"].values, int(tree["numerics/evaluations"][-1])


def _error(end: End, reference: End) -> float:
    return float(max(np.linalg.norm(end[0] - reference[0], axis=1).max(), np.abs(end[1] - reference[1]).max()))


if __name__ == "__main__":
    main()
