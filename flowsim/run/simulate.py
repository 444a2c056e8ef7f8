"""A run from scenario to result, whatever the number of its members: one page of named stages."""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from dataclasses import replace
from os import PathLike

import xarray as xr

from ..errors import UsageError
from ..evaluate import phases
from ..results import attributes, check_writable, layout, status_attributes, write
from ..scenario import Scenario
from ..solve.compiling import warning
from ..solve.status import RUNNING, Status
from ..threads import blas_threads
from .members import Members, Tell
from .prepare import Prepared
from .progress import ProgressBar, in_notebook

#: Wall seconds between two checkpoints: what a kill without warning can cost.
CHECKPOINT_SECONDS = 300.0
Warn = Callable[[str], None]


def simulate(
    asked: Scenario,
    output: str | PathLike[str] | None,
    overwrite: bool,
    resume: bool,
    progress: bool | Tell | None,
    warn: Warn,
) -> xr.DataTree:
    """What :func:`flowsim.run` does."""
    if resume and output is None:
        raise UsageError("resume needs the file to go on from, as output")
    if output is not None:
        check_writable(output, overwrite or resume)
    if progress is True or (progress is None and in_notebook()):
        with ProgressBar(asked) as bar:
            return _run(asked, output, resume, bar.listener, warn)
    return _run(asked, output, resume, progress or None, warn)


def _run(
    asked: Scenario, output: str | PathLike[str] | None, resume: bool, tell: Tell | None, warn: Warn
) -> xr.DataTree:
    """Prepare, take over what the file has, run all members, lay out and write what they give, evaluate it."""
    prepared = Prepared(asked)
    for reason in prepared.plan.warnings:
        warn(reason)
    with blas_threads(prepared.reduced.operations), warning(warn):
        members, written = Members(prepared, warn), wall.monotonic()
        if resume and output is not None:
            members.resume(output)

        def save() -> None:
            nonlocal written
            if output is not None and wall.monotonic() - written >= CHECKPOINT_SECONDS:
                write(_result(members, RUNNING), output)
                written = wall.monotonic()

        status = members.run(tell, save)
        tree = _result(members, status)
        if output is not None:
            write(tree, output)
        if status.exit_code or not prepared.scenario.evaluate.anything:
            return tree
        return _evaluated(tree, members, output, tell)


def _result(members: Members, status: Status) -> xr.DataTree:
    """All but what is evaluated, and where the run has not reached its end, what it goes on from."""
    scenario, seconds, groups = members.scenario, members.clock.seconds, members.groups()
    groups["/"].attrs |= attributes(scenario, members.plan, status, seconds, members.clock.compiling)
    groups["/numerics"].attrs = status_attributes(status)
    groups = {"/": groups["/"], "/phases": phases(groups["/"]), **groups}
    groups |= layout.taken(scenario, members.first.problem)
    if status.exit_code:
        groups["/checkpoint"] = members.checkpoint()
    return xr.DataTree.from_dict(groups)


def _evaluated(
    tree: xr.DataTree, members: Members, output: str | PathLike[str] | None, tell: Tell | None
) -> xr.DataTree:
    """The result with what [evaluate] asks for. It may take longer than the flow: whatever ends it early, the file has all
    that came before."""
    from ..evaluate.asked import evaluations

    def say(what: str) -> None:
        if tell is not None:
            tell(replace(members.standing, phase=what))

    for name, group in evaluations(members.scenario, members.first.setting, tree.to_dataset(), say):
        tree = tree.assign({name: xr.DataTree(group)})
        if output is not None:
            write(tree, output)
    return tree
