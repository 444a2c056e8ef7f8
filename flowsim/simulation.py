"""A run from scenario to result: one page of named stages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any

import xarray as xr

from .analysis import phases
from .drive import Run, drive
from .engine import Integrator, Plan, Report, choose, make
from .errors import UsageError
from .observe import Recorder, Selection, Setting
from .problem import Problem, Reduced, build, reduce
from .results import attributes, check_writable, checkpoint, layout, open, write
from .scenario import Scenario, loads, referenced_files
from .schedule import Schedule
from .status import RUNNING, Status

Progress = Callable[[Report, float, str], None]
Warn = Callable[[str], None]


class Prepared:
    """A scenario made ready: everything that is decided before the first step."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario
        self.problem: Problem = build(scenario)
        self.reduced: Reduced = reduce(self.problem, project=scenario.flow.reduce, merge=scenario.flow.merge)
        self.setting = Setting(self.reduced)
        self.selection = Selection.of(scenario, self.setting)
        self.plan: Plan = choose(scenario, self.reduced)


def run(
    scenario: Scenario,
    output: str | PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
    warn: Warn = warnings.warn,
) -> xr.DataTree:
    """Integrate a scenario and return its result; with `output`, write it there too.

    progress is called now and then with (report, log of the loss and phase at the latest kept instant); warn with each
    reason to be wary. resume goes on from the file `output`, which an interrupted run of the same scenario has left.
    However the run ends, the result holds what was reached, and its attributes `status`, `status_cause` and
    `status_remedy` say how it ended.
    Raises ScenarioError or UsageError before anything is computed or written.
    """
    if resume and output is None:
        raise UsageError("resume needs the file to go on from, as output")
    if output is not None:
        check_writable(output, overwrite or resume)
    prepared = Prepared(scenario)
    for warning in prepared.plan.warnings:
        warn(warning)
    return execute(prepared, output, resume, progress)


def execute(
    prepared: Prepared, output: str | PathLike[str] | None, resume: bool, progress: Progress | None
) -> xr.DataTree:
    """The stages after preparation: integrate, lay out, write."""
    scenario = prepared.scenario
    integrator = make(scenario, prepared.reduced, prepared.plan)
    recorder = Recorder(scenario, prepared.setting, prepared.selection)
    if resume and output is not None:
        flow = _resume(output, prepared, integrator, recorder)
    else:
        carry = integrator.begin()
        flow = Run(carry, Schedule.of(scenario, integrator.report(carry).step_size))

    def checkpoint_run() -> None:
        if output is not None:
            write(_result(prepared, recorder, RUNNING, flow, integrator), output)

    status = drive(
        integrator,
        scenario,
        flow,
        recorder,
        progress=lambda report: progress(report, recorder.log_loss, recorder.phase) if progress else None,
        checkpoint=checkpoint_run,
    )
    tree = _result(prepared, recorder, status, flow, integrator)
    if output is not None:
        write(tree, output)
    return tree


def _resume(output: str | PathLike[str], prepared: Prepared, integrator: Integrator, recorder: Recorder) -> Run:
    with open(output) as tree:
        _check_same(tree, prepared, str(output))
        flow = checkpoint.restore(tree, integrator)
        trajectory = layout.trajectory_of(tree)
    recorder.restore(trajectory, drop_last=flow.loose)
    flow.loose = False
    return flow


def _check_same(tree: xr.DataTree, prepared: Prepared, output: str) -> None:
    """Raise UsageError where a result was made by a scenario that differs in more than its budgets and its title."""
    scenario = prepared.scenario
    budgets: Any = {"title": True, "flow": {"wall_time": True, "until": {"steps"}}}
    made_by = loads(str(tree.attrs["scenario"]), folder=scenario.source.folder)
    if made_by.model_dump(exclude=budgets) != scenario.model_dump(exclude=budgets):
        raise UsageError(f"{output}: was made by another scenario; only flow.wall_time and flow.until.steps may differ")
    files = referenced_files(scenario)
    if files and not layout.data(prepared.problem).equals(tree.children["data"].to_dataset(inherit=False)):
        raise UsageError(f"{output}: {' and '.join(map(str, files.values()))} has changed since this run was begun")


def _result(prepared: Prepared, recorder: Recorder, status: Status, flow: Run, integrator: Integrator) -> xr.DataTree:
    trajectory = recorder.trajectory(complete=status.exit_code == 0)
    root = layout.root(trajectory, prepared.setting)
    root.attrs = attributes(prepared.scenario, prepared.plan, status, flow.seconds)
    groups = {"/": root, "/phases": phases(root), "/numerics": layout.numerics(trajectory)}
    groups["/numerics"].attrs = {
        "status": status.name,
        "status_cause": status.cause,
        "status_remedy": status.remedy,
        "exit_code": status.exit_code,
    }
    if referenced_files(prepared.scenario):
        groups["/data"] = layout.data(prepared.problem)
    if status.exit_code:
        groups["/checkpoint"] = checkpoint.save(flow, integrator)
    return xr.DataTree.from_dict(groups)
