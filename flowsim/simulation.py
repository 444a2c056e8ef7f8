"""A run from scenario to result: one page of named stages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import xarray as xr

from . import ensemble
from .analysis import phases
from .analysis.distance import to_ideal
from .analysis.kkt import limit_of
from .analysis.robustness import evaluated
from .drive import Run, drive
from .engine import Integrator, make
from .engine.threads import blas_threads
from .errors import UsageError
from .observe import Recorder
from .prepared import Prepared
from .results import attributes, check_writable, checkpoint, layout, open, status_attributes, write
from .results.weights import weights_of
from .scenario import Scenario, with_seeds
from .schedule import Schedule
from .status import RUNNING, Status
from .theory import CLAIMS, evidence_of, held_against

#: (report, log of the loss, phase), or of an ensemble (members done, members running, members in all)
Progress = Callable[..., None]
Warn = Callable[[str], None]


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

    progress is called now and then with (report, log of the loss and phase at the latest kept instant), for an ensemble
    with the numbers of members (done, running, in all); warn with each reason to be wary. resume goes on from the file
    `output`, which an interrupted run of the same scenario has left. An ensemble has a dimension `seed`.
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
    execute = ensemble.execute if scenario.is_ensemble else _execute
    with blas_threads(prepared.reduced.operations):
        return execute(prepared, output, resume, progress, warn)


def run_ensemble(scenario: Scenario, seeds: Iterable[int], *arguments: Any, **options: Any) -> xr.DataTree:
    """Run a scenario once for each of the seeds; what follows them is as for :func:`flowsim.run`."""
    return run(with_seeds(scenario, seeds), *arguments, **options)


def _execute(
    prepared: Prepared, output: str | PathLike[str] | None, resume: bool, progress: Progress | None, warn: Warn
) -> xr.DataTree:
    """The stages after preparation: integrate, lay out, write."""
    del warn  # all there is to be wary of is known before
    scenario = prepared.scenario
    integrator = make(scenario, prepared.reduced, prepared.plan)
    recorder = Recorder(scenario, prepared.setting, prepared.selection)
    if resume and output is not None:
        flow = _resume(output, prepared, integrator, recorder)
    else:
        carry = integrator.begin()
        flow = Run(carry, Schedule.of(scenario, integrator.report(carry).step_size, prepared.plan.reading))

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
    if scenario.evaluate.robustness is not None and not status.exit_code:
        if output is not None:
            write(tree, output)  # attacks may take longer than the flow, and may be interrupted

        def attacking(what: str) -> None:
            if progress is not None:
                progress(integrator.report(flow.carry), recorder.log_loss, what)

        snapshot = weights_of(prepared.setting, tree.to_dataset())[-1]
        group = evaluated(scenario, prepared.setting, snapshot, attacking)
        tree = tree.assign({"robustness": xr.DataTree(group)})
    if output is not None:
        write(tree, output)
    return tree


def _resume(output: str | PathLike[str], prepared: Prepared, integrator: Integrator, recorder: Recorder) -> Run:
    with open(output) as tree:
        checkpoint.check_same(tree, prepared.scenario, prepared.problem, str(output))
        flow = checkpoint.restore(tree, integrator)
        trajectory = layout.trajectory_of(tree)
    recorder.restore(trajectory, drop_last=flow.loose)
    flow.loose = False
    return flow


def _result(prepared: Prepared, recorder: Recorder, status: Status, flow: Run, integrator: Integrator) -> xr.DataTree:
    trajectory = recorder.trajectory(complete=status.exit_code == 0)
    known = layout.coordinates(prepared.setting)
    root = layout.root(trajectory, known, prepared.problem.bias)
    root = layout.with_iterations(root, prepared.scenario)
    root.attrs = attributes(prepared.scenario, prepared.plan, status, flow.seconds)
    groups = {"/": root, "/phases": phases(root), "/numerics": layout.numerics(trajectory)}
    groups |= layout.groups(trajectory, known)
    groups["/numerics"].attrs = status_attributes(status)
    data = layout.data(prepared.scenario, prepared.problem)
    if data is not None:
        groups["/data"] = data
    if prepared.scenario.evaluate.claims and not status.exit_code:
        evidence = evidence_of(prepared.scenario, prepared.setting, root)
        groups["/claims"] = held_against(CLAIMS, prepared.scenario.evaluate.claims, evidence)
    wanted = prepared.scenario.evaluate.distance
    if wanted is not None and not status.exit_code:
        groups["/distance"] = to_ideal(prepared.scenario, prepared.setting, root, wanted.over_time)
    if prepared.scenario.evaluate.limit and not status.exit_code:
        groups["/limit"] = limit_of(prepared.setting, root)
    if status.exit_code:
        groups["/checkpoint"] = checkpoint.save(flow, integrator)
    return xr.DataTree.from_dict(groups)
