"""A run from scenario to result, for any number of members."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from tempfile import gettempdir

import xarray as xr

from ..errors import UsageError
from ..evaluate import phases
from ..processes import alike, first, surviving, together
from ..results import attributes, check_installed, claimed, layout, placed, status_attributes, with_status
from ..results.companion import root_of
from ..scenario import Scenario
from ..signals import Ending, endings
from ..solve.compiling import warning
from ..solve.status import EVALUATING, RUNNING, Status, interrupted
from ..threads import blas_threads
from . import checkpoint
from .certify import certified
from .cost import check_disk
from .members import Members, Tell
from .output import Output
from .prepare import Prepared
from .progress import ProgressBar, Standing, in_notebook

Warn = Callable[[str], None]


def simulate(
    asked: Scenario,
    output: str | PathLike[str] | None,
    overwrite: bool,
    resume: bool,
    progress: bool | Tell | None,
    warn: Warn,
    checkpoint_every: float | None,
) -> xr.DataTree:
    """What :func:`flowsim.run` does."""
    if resume and output is None:
        raise UsageError("resume needs the file to go on from, as output")
    if checkpoint_every is not None and not checkpoint_every >= 0:
        raise UsageError(f"checkpoint_every is {checkpoint_every}; it is a number of seconds, 0 or more")
    with ExitStack() as inside:
        ending = inside.enter_context(endings())
        with together("begin"):
            left = placed(output) if output is not None and resume else None
            place = placed(output) if output is not None and first() else None
            if place is not None:
                if isinstance(place, Path):
                    check_installed(place)
                inside.enter_context(claimed(place, overwrite or resume))
            tell = progress or None if first() else None
            if first() and (progress is True or (progress is None and in_notebook())):
                tell = inside.enter_context(ProgressBar(asked)).listener
            assert not isinstance(tell, bool), "a bar is told"
            prepared = Prepared(asked)
            if place is not None:
                folder = place.absolute().parent if isinstance(place, Path) else Path(gettempdir())
                check_disk(prepared.selection.bytes, folder, "this run", "keep fewer observe.times")
        alike("problem", prepared.reduced.digest)
        warn = warn if first() else _silent
        inside.enter_context(surviving())
        return _run(prepared, left, Output(place, checkpoint_every, warn), tell, warn, ending)


def _silent(message: str) -> None:
    """What the first of several processes says is said."""


def _run(
    prepared: Prepared, left: str | PathLike[str] | None, output: Output, tell: Tell | None, warn: Warn, ending: Ending
) -> xr.DataTree:
    """Resume if asked to, run all members, lay out the result, evaluate it, and write it. left: the file to resume."""
    for reason in prepared.plan.warnings:
        warn(reason)
    with blas_threads(prepared.reduced.operations), warning(warn):
        members = Members(prepared, warn)
        before = members.resume(left) if left is not None else None
        if before is None:

            def save() -> None:
                output.checkpoint_if_due(lambda: _result(members, RUNNING))

            status = members.run(tell, save, ending.flag)
            tree = _result(members, status)
        else:
            status, tree = before
        if prepared.scenario.certified and "error" not in tree.children:
            tree, status = certified(tree, status, prepared, output, tell, ending.flag)
        if not status.exit_code and prepared.scenario.evaluate.anything:
            tree = _evaluated(tree, status, prepared, output, tell, ending)
        elif status.exit_code and prepared.scenario.evaluate.limit:
            tree = tree.assign({"limit": xr.DataTree(_no_limit(status))})
        output.end(tree)
        return tree


def _result(members: Members, status: Status) -> xr.DataTree:
    """The result without its evaluation. One that has not reached its end has the group `checkpoint`."""
    scenario, seconds, groups = members.scenario, members.clock.seconds, members.groups()
    groups["/"].attrs |= attributes(scenario, members.plan, status, seconds, members.clock.compiling)
    groups["/numerics"].attrs = status_attributes(status)
    groups = {"/": groups["/"], "/phases": phases(groups["/"]), **groups}
    groups |= layout.taken(scenario, members.first.problem)
    if status.exit_code:
        groups["/checkpoint"] = members.checkpoint()
    return xr.DataTree.from_dict(groups)


def _evaluated(
    tree: xr.DataTree, flown: Status, prepared: Prepared, output: Output, tell: Tell | None, ending: Ending
) -> xr.DataTree:
    """The result, completed by the groups of [evaluate] that it lacks. flown: how the flow ended.

    This may take longer than the flow. Whatever ends it early, the file has the groups so far and can be resumed.
    """
    from ..evaluate.requested import evaluations, wanted

    def say(what: str) -> None:
        if tell is not None:
            tell(Standing(len(prepared.scenario.seeds), 0, 1, phase=what))

    tree = with_status(tree.assign({checkpoint.GROUP: xr.DataTree(checkpoint.after_flow(flown))}), EVALUATING)
    missing = [name for name in wanted(prepared.scenario) if name not in tree.children]
    found = evaluations(prepared.scenario, prepared.setting, tree.to_dataset(), say, missing, root_of(tree))
    for name in missing:
        output.checkpoint(tree)
        try:
            with ending.at_once():
                group = next(found)
        except KeyboardInterrupt:
            if not ending.asked:
                raise
            return with_status(tree, interrupted(f"in the evaluation ({name}); the flow {flown.cause}"))
        tree = tree.assign({name: xr.DataTree(group)})
    return with_status(tree.drop_nodes(checkpoint.GROUP), flown)


def _no_limit(status: Status) -> xr.Dataset:
    """The group `limit` of a run that has not come to where a limit is looked for: why."""
    from ..evaluate.kkt import without_limit

    return without_limit(f"the flow ended before its goal, with the status {status.name}: {status.cause}")
