"""A certified run: its companion, once the flow is done, and the groups `companion` and `error` of the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import xarray as xr

from ..arrays import Booleans
from ..evaluate.global_error import Facts, error_group
from ..evaluate.undetermined import undetermined
from ..results import companion as beside
from ..results import layout, with_status
from ..results.companion import GROUP
from ..solve import Report
from ..solve.status import EVALUATING, Status
from . import checkpoint
from .companion import Companion, rtol_of, rtols
from .output import Output
from .prepare import Prepared
from .progress import Standing

Tell = Callable[[Standing], None]


def certified(
    tree: xr.DataTree,
    flown: Status,
    prepared: Prepared,
    output: Output,
    tell: Tell | None,
    stopped: Booleans,
) -> tuple[xr.DataTree, Status]:
    """The result with its errors, and its status. flown: how the flow ended.

    Of a single run the companion runs here; it can be saved while it is under way, and goes on where the result has an
    unfinished one. The members of an ensemble had theirs. A run that has not reached its end is returned as it is.
    """
    if prepared.scenario.is_ensemble:
        return _with_errors(tree, prepared, ""), flown
    if flown.exit_code:
        return tree, flown
    kept = layout.trajectory_of(tree)
    names = [str(name) for name in tree["stage"].to_numpy()] if prepared.scenario.stage else []
    companion = Companion(prepared, kept, names)
    if GROUP in tree.children:
        companion.resume(beside.unfinished(tree))

    def look(report: Report) -> None:
        if tell is not None:
            tell(Standing(1, 0, 1, phase=f"companion {companion.share:.0%}"))

    def under_way() -> xr.DataTree:
        told = {"flown": json.dumps(asdict(flown)), "seconds": companion.seconds}
        groups = {GROUP: _group(tree, prepared, companion), checkpoint.GROUP: companion.save().assign_attrs(told)}
        return with_status(tree.assign({name: xr.DataTree(group) for name, group in groups.items()}), EVALUATING)

    status = companion.follow(look, lambda: output.checkpoint_if_due(under_way), stopped)
    if status.exit_code:
        return with_status(under_way(), status), status
    why = "" if status.name == "done" else status.cause
    group = _group(tree, prepared, companion).assign_attrs(wall_time=companion.seconds)
    there = beside.filled(companion.trajectory(complete=False), kept)
    if len(found := undetermined(prepared.setting, kept, there)):
        group[beside.UNDETERMINED] = beside.flags(found, ("neuron",))
    tree = tree.assign({GROUP: xr.DataTree(group)})
    if checkpoint.GROUP in tree.children:
        tree = tree.drop_nodes(checkpoint.GROUP)
    return with_status(_with_errors(tree, prepared, why), flown), flown


def _group(tree: xr.DataTree, prepared: Prepared, companion: Companion) -> xr.Dataset:
    """The group `companion`, as far as it has come."""
    whole, scenario = layout.trajectory_of(tree), prepared.scenario
    trajectory = beside.filled(companion.trajectory(complete=False), whole)
    return beside.group(scenario, prepared.problem, trajectory, layout.coordinates(prepared.setting))


def _with_errors(tree: xr.DataTree, prepared: Prepared, why: str) -> xr.DataTree:
    """why: the companion ended before the run did; "" where it did not."""
    rtol = rtols(prepared.scenario)
    facts = Facts(rtol, tuple(map(rtol_of, rtol)), why)
    return tree.assign({"error": xr.DataTree(error_group(tree, facts))})
