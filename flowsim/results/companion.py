"""The group `companion` of a certified result: what the companion run has at the instants that the run has kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..observe import NUMERICS, Trajectory
from ..problem import Problem
from ..scenario import Scenario
from . import layout

GROUP, UNDETERMINED = "companion", "undetermined"


def group(scenario: Scenario, problem: Problem, trajectory: Trajectory, known: Mapping[str, Any]) -> xr.Dataset:
    """Every variable of the companion, those of `numerics` and of observables' own groups among them.

    trajectory, known: as :func:`flowsim.results.layout.groups` takes them.
    """
    parts = layout.groups(scenario, problem, trajectory, known).values()
    return xr.Dataset({name: array.variable for part in parts for name, array in part.data_vars.items()})


def filled(trajectory: Trajectory, whole: Trajectory) -> Trajectory:
    """The companion's trajectory over all instants of the run's, whole: NaN where it has not come to."""
    instants, held = len(whole.time), len(whole.kept_weights)
    return replace(
        trajectory,
        time=whole.time,
        log10_time=whole.log10_time,
        variables={name: _longer(values, instants) for name, values in trajectory.variables.items()},
        numerics={name: _longer(values, instants) for name, values in trajectory.numerics.items()},
        kept_weights=whole.kept_weights,
        direction=_longer(trajectory.direction, held),
        bias=_longer(trajectory.bias, held),
        leaves=tuple(_longer(values, held) for values in trajectory.leaves),
    )


def flags(values: Any, dims: tuple[str, ...]) -> xr.Variable:
    """The variable `undetermined`."""
    attrs = {"long_name": "why the start does not determine the neuron's flow", "units": "1"}
    meanings = {"flag_values": np.arange(3), "flag_meanings": "determined on_boundary elsewhere"}
    return xr.Variable(dims, np.nan_to_num(values).astype(np.int8), {**attrs, **meanings})


def unfinished(tree: xr.DataTree) -> xr.DataTree:
    """What a companion under way had reached, as the result of a run of its own, checkpoint included."""
    root, found = tree.to_dataset(), tree.children[GROUP].to_dataset(inherit=False)
    instants = int(np.isfinite(found["steps"].values).sum())
    held = int((layout.snapshot_index(root) < instants).sum()) if "snapshot" in root.dims else 0
    reached = {"time": slice(instants), **({"snapshot": slice(held)} if "snapshot" in root.dims else {})}
    known = root.assign({name: array.variable for name, array in found.data_vars.items()}).isel(reached)
    return xr.DataTree.from_dict(
        {
            "/": known.drop_vars(list(NUMERICS)),
            "/numerics": known[list(NUMERICS)].reset_coords(drop=True),
            "/checkpoint": tree.children["checkpoint"].to_dataset(inherit=False),
        }
    )


def root_of(tree: xr.DataTree) -> xr.Dataset | None:
    """The root group with the companion's values in place of the run's; None of a result that has no companion."""
    if GROUP not in tree.children:
        return None
    root, found = tree.to_dataset(inherit=False), tree.children[GROUP].to_dataset(inherit=False)
    if any(root.sizes.get(dim, size) != size for dim, size in found.sizes.items()):
        return None  # of a part of a result
    return root.assign({name: array.variable for name, array in found.data_vars.items() if name in root})


def _longer(values: Floats, length: int) -> Floats:
    """With NaN after the last, along the first axis."""
    rest = np.full((length - len(values), *values.shape[1:]), np.nan)
    return np.concatenate([np.asarray(values, dtype=float), rest]) if len(rest) else np.asarray(values, dtype=float)
