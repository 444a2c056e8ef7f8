"""That a result leads back to what ran, to the last bit."""

from __future__ import annotations

import numpy as np
import xarray as xr

import flowsim
from flowsim.papers import evaluate
from flowsim.problem import reduce
from flowsim.solve import Snapshot

#: group of a result -> what computes it anew
AGAIN = {
    "robustness": flowsim.robustness,
    "limit": flowsim.limit,
    "claims": evaluate,
}


def same(one, other) -> None:
    # texts are of a fixed length in memory, and objects where they come from a file
    assert one.dtype == other.dtype or {one.dtype.kind, other.dtype.kind} == {"U", "O"}
    np.testing.assert_array_equal(one, other)


def check_problem(found, scenario) -> None:
    """That what was found is the scenario's problem to the last bit."""
    built = flowsim.build(scenario)
    for name in ("inputs", "targets", "clean_targets", "centers", "sample_cluster", "hidden", "hidden_bias", "output"):
        same(getattr(found.problem, name), getattr(built, name))
    for name in ("direction", "log_norm", "output_sign", "output_log"):
        same(getattr(found.problem.weights, name), getattr(built.weights, name))
    for layer, expected in zip(found.problem.leaves, built.leaves, strict=True):
        same(layer, expected)
    again = reduce(built, project=scenario.project, merge=scenario.merge)
    same(found.reduced.inputs, again.inputs)
    same(found.reduced.direction, again.direction)


def check_weights(found: Snapshot, expected: Snapshot) -> None:
    for name in ("time", "direction", "log_norm", "output_sign", "output_log"):
        same(getattr(found, name), getattr(expected, name))
    for layer, other in zip(found.leaves, expected.leaves, strict=True):
        same(layer, other)


def check_evaluations(result, tree: xr.DataTree) -> None:
    """That evaluating the result again gives what the run wrote."""
    for name, group in tree.children.items():
        written = group.to_dataset(inherit=False).load()
        if name in AGAIN:
            xr.testing.assert_identical(AGAIN[name](result), written)
        if name == "distance":
            found = flowsim.distance(result, over_time="snapshot" in written.dims)
            xr.testing.assert_identical(found.drop_vars("snapshot", errors="ignore"), written)
