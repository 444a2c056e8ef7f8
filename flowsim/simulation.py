"""A run from scenario to result: one page of named stages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from os import PathLike

import xarray as xr

from . import ensemble
from .analysis import phases
from .course import Course
from .engine import Report
from .engine.compiling import warning
from .engine.threads import blas_threads
from .errors import UsageError
from .prepared import Prepared
from .problem import Data, Weights, with_given
from .progress import bar_of, in_notebook
from .results import attributes, check_writable, layout, status_attributes, write
from .scenario import Scenario, ScenarioLike, as_scenario
from .status import RUNNING, Status

#: (report, log of the loss, phase), or of an ensemble (members done, members running, members in all)
Progress = Callable[..., None]
Warn = Callable[[str], None]


def run(
    scenario: ScenarioLike,
    output: str | PathLike[str] | None = None,
    *,
    data: Data | None = None,
    init: Weights | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: bool | Progress | None = None,
    warn: Warn = warnings.warn,
) -> xr.DataTree:
    """Integrate a scenario, or the one in a file or a mapping, and return its result; with `output`, write it there too.

    data, init: samples and initial weights in memory, in place of those that the scenario speaks of; the result holds them.
    progress: True for a bar on standard error, where that is a terminal or a notebook, which shows one by itself; or what
    is called now and then with (report, log of the loss and phase at the latest kept instant), for an ensemble with the
    numbers of members (done, running, in all). warn is called with each reason to be wary. resume goes on from the file
    `output`, which an interrupted run of the same scenario has left. An ensemble has a dimension `seed`.
    However the run ends, the result holds what was reached, and its attributes `status`, `status_cause` and
    `status_remedy` say how it ended.
    Raises ScenarioError or UsageError before anything is computed or written.
    """
    if resume and output is None:
        raise UsageError("resume needs the file to go on from, as output")
    if output is not None:
        check_writable(output, overwrite or resume)
    asked = with_given(as_scenario(scenario), data, init)
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


def run_ensemble(
    scenario: ScenarioLike,
    seeds: Iterable[int],
    output: str | PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    progress: bool | Progress | None = None,
    warn: Warn = warnings.warn,
) -> xr.DataTree:
    """Run a scenario once for each of the seeds; what follows them is as for :func:`flowsim.run`."""
    ensemble = as_scenario(scenario).replace({"seed": list(seeds)})
    return run(ensemble, output, overwrite=overwrite, resume=resume, progress=progress, warn=warn)


def _execute(
    prepared: Prepared, output: str | PathLike[str] | None, resume: bool, progress: Progress | None, warn: Warn
) -> xr.DataTree:
    """The stages after preparation: integrate, lay out, write, evaluate."""
    del warn  # all there is to be wary of is known before
    scenario, course = prepared.scenario, Course(prepared)
    if resume and output is not None:
        course.resume(output)

    def report_progress(report: Report) -> None:
        if progress is not None:
            progress(course.in_run(report), course.recorder.log_loss, course.recorder.phase)

    def checkpoint_run() -> None:
        if output is not None:
            write(_result(prepared, course, RUNNING), output)

    status = course.drive(report_progress, checkpoint_run)
    tree = _result(prepared, course, status)
    if output is not None:
        write(tree, output)
    if status.exit_code or not scenario.evaluate.anything:
        return tree
    from .evaluation import evaluations

    def report_evaluation(what: str) -> None:
        if progress is not None:
            progress(course.report, course.recorder.log_loss, what)

    # it may take longer than the flow: whatever ends it early, the file has all that came before
    for name, group in evaluations(scenario, prepared.setting, tree.to_dataset(), report_evaluation):
        tree = tree.assign({name: xr.DataTree(group)})
        if output is not None:
            write(tree, output)
    return tree


def _result(prepared: Prepared, course: Course, status: Status) -> xr.DataTree:
    """All but what is evaluated, and where the run has not reached its end, what it goes on from."""
    trajectory = course.trajectory(complete=status.exit_code == 0)
    known, names = layout.coordinates(prepared.setting), course.names(len(trajectory.time))
    root = layout.root(trajectory, known if names is None else {**known, "stage": names}, prepared.problem.bias)
    root = layout.with_iterations(root, prepared.scenario, trajectory.numerics["steps"])
    clock = course.report.loss_clock_from
    root.attrs = attributes(prepared.scenario, prepared.plan, status, course.run.seconds, course.compile_seconds, clock)
    groups = {"/": root, "/phases": phases(root), "/numerics": layout.numerics(trajectory)}
    groups |= layout.groups(trajectory, known)
    groups["/numerics"].attrs = status_attributes(status)
    groups |= layout.taken(prepared.scenario, prepared.problem)
    if status.exit_code:
        groups["/checkpoint"] = course.save()
    return xr.DataTree.from_dict(groups)
