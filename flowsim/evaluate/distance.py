"""How far the network of a run is from F^(p) on the sphere through the centres (Min & Vidal 2025, Theorem 1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..errors import UsageError
from ..observe import Setting
from ..problem import Problem
from ..results.weights import weights_of
from ..scenario import Scenario
from ..threads import blas_threads
from .case import Result, reopened
from .robustness import TwoLayer, ideal_classifier, network_of
from .sphere import sphere_distance

#: name -> long name
MEANINGS = {
    "distance": "inf over c > 0 of sup |c f(x) - F(x)| over the sphere through the centres",
    "factor": "c of the distance up to scale",
    "unscaled_distance": "sup |f(x) - F(x)| over the sphere through the centres",
    "ideal_size": "sup |F(x)| over the sphere through the centres",
    "degree": "p of F",
    "radius": "radius of the sphere, the mean norm of the centres",
}


def distance(result: Result, *, over_time: bool = False, seed: int | None = None) -> xr.Dataset:
    """The distance of a run's network f from F^(p), p the degree of its activation.

    At the last of the instants whose weights were kept, or with over_time at all of them, along dimension `snapshot`.
    seed: the member of an ensemble. Raises UsageError where the weights were not kept, and where there is no F^(p) to be
    compared with.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        return to_ideal(case.scenario, case.setting, case.trajectory, over_time).load()


def to_ideal(scenario: Scenario, setting: Setting, trajectory: xr.Dataset, over_time: bool = False) -> xr.Dataset:
    """The group `distance` of a result; its root group is `trajectory`."""
    ideal = ideal_of(scenario, setting.problem)
    weights = weights_of(setting, trajectory)
    radius = float(np.linalg.norm(setting.problem.centers, axis=1).mean())
    chosen = range(len(weights.time)) if over_time else [-1]
    found = [sphere_distance(network_of(setting, weights[index]), ideal, radius) for index in chosen]
    measured = {
        "distance": [one.up_to_scale for one in found],
        "factor": [one.factor for one in found],
        "unscaled_distance": [one.as_it_is for one in found],
    }
    facts = {"ideal_size": found[0].size, "degree": ideal.activation.degree, "radius": radius}
    variables = {
        name: xr.Variable("snapshot", values) if over_time else xr.Variable((), values[0])
        for name, values in measured.items()
    }
    variables |= {name: xr.Variable((), value) for name, value in facts.items()}
    for name, variable in variables.items():
        variable.attrs = {"long_name": MEANINGS[name], "units": "1"}
    return xr.Dataset(variables, {"snapshot": trajectory["snapshot"]} if over_time else {})


def ideal_of(scenario: Scenario, problem: Problem) -> TwoLayer:
    """The F^(p) that a problem's network can be compared with. Raises UsageError where there is none."""
    if not scenario.model.own_outputs:
        raise UsageError("the distance to F^(p) is that of a two-layer network")
    if problem.loss.classes:
        raise UsageError("the distance to F^(p) is that of a network with a single output")
    ideal = ideal_classifier("ideal", scenario, problem)
    assert isinstance(ideal, TwoLayer)
    return ideal
