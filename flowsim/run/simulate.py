"""A run from scenario to result: one page of named stages."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import xarray as xr

from ..errors import UsageError
from ..evaluate import phases
from ..results import attributes, check_writable, layout, status_attributes, write
from ..scenario import Scenario
from ..solve import Report
from ..solve.compiling import warning
from ..solve.status import RUNNING, Status
from ..solve.threads import blas_threads
from . import ensemble
from .prepare import Prepared
from .progress import bar_of, in_notebook
from .stages import Stages

#: (report, log of the loss, phase), or of an ensemble (members done, members running, members in all)
Progress = Callable[..., None]
Warn = Callable[[str], None]


def simulate(
    asked: Scenario,
    output: str | PathLike[str] | None,
    overwrite: bool,
    resume: bool,
    progress: bool | Progress | None,
    warn: Warn,
) -> xr.DataTree:
    """What :func:`flowsim.run` does."""
    if resume and output is None:
        raise UsageError("resume needs the file to go on from, as output")
    if output is not None:
        check_writable(output, overwrite or resume)
    if progress is True or (progress is None and in_notebook()):
        with bar_of(asked) as bar:
            return _run(asked, output, resume, bar.show, warn)
    return _run(asked, output, resume, progress or None, warn)


def _run(
    scenario: Scenario, output: str | PathLike[str] | None, resume: bool, progress: Progress | None, warn: Warn
) -> xr.DataTree:
    prepared = Prepared(scenario)
    for reason in prepared.plan.warnings:
        warn(reason)
    execute = ensemble.execute if prepared.scenario.is_ensemble else _execute
    with blas_threads(prepared.reduced.operations), warning(warn):
        return execute(prepared, output, resume, progress, warn)


def _execute(
    prepared: Prepared, output: str | PathLike[str] | None, resume: bool, progress: Progress | None, warn: Warn
) -> xr.DataTree:
    """The stages after preparation: integrate, lay out, write, evaluate."""
    del warn  # all there is to be wary of is known before
    scenario, stages = prepared.scenario, Stages(prepared)
    if resume and output is not None:
        stages.resume(output)

    def report_progress(report: Report) -> None:
        if progress is not None:
            progress(stages.in_run(report), stages.recorder.log_loss, stages.recorder.phase)

    def checkpoint_run() -> None:
        if output is not None:
            write(_result(prepared, stages, RUNNING), output)

    status = stages.drive(report_progress, checkpoint_run)
    tree = _result(prepared, stages, status)
    if output is not None:
        write(tree, output)
    if status.exit_code or not scenario.evaluate.anything:
        return tree
    from ..evaluate.asked import evaluations

    def report_evaluation(what: str) -> None:
        if progress is not None:
            progress(stages.report, stages.recorder.log_loss, what)

    # it may take longer than the flow: whatever ends it early, the file has all that came before
    for name, group in evaluations(scenario, prepared.setting, tree.to_dataset(), report_evaluation):
        tree = tree.assign({name: xr.DataTree(group)})
        if output is not None:
            write(tree, output)
    return tree


def _result(prepared: Prepared, stages: Stages, status: Status) -> xr.DataTree:
    """All but what is evaluated, and where the run has not reached its end, what it goes on from."""
    trajectory = stages.trajectory(complete=status.exit_code == 0)
    known, names = layout.coordinates(prepared.setting), stages.names(len(trajectory.time))
    root = layout.root(trajectory, known if names is None else {**known, "stage": names}, prepared.problem)
    root = layout.with_iterations(root, prepared.scenario, trajectory.numerics["steps"])
    clock = stages.report.loss_clock_from
    root.attrs = attributes(prepared.scenario, prepared.plan, status, stages.run.seconds, stages.compile_seconds, clock)
    groups = {"/": root, "/phases": phases(root), "/numerics": layout.numerics(trajectory)}
    groups |= layout.groups(trajectory, known)
    groups["/numerics"].attrs = status_attributes(status)
    groups |= layout.taken(prepared.scenario, prepared.problem)
    if status.exit_code:
        groups["/checkpoint"] = stages.save()
    return xr.DataTree.from_dict(groups)
