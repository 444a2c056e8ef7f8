"""What a run that was cut short leaves in its file, so that it can go on as if nothing had happened."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import xarray as xr

from ..drive import Run
from ..engine import Integrator
from ..errors import UsageError
from ..problem import Problem
from ..scenario import Scenario, loads, referenced_files
from ..schedule import Schedule
from .layout import data

GROUP = "checkpoint"


def save(run: Run, integrator: Integrator) -> xr.Dataset:
    arrays = integrator.save(run.carry)
    variables = {
        name: (
            tuple(f"{name}_{axis}" for axis in range(array.ndim)),
            array,
            {"long_name": f"{name.replace('_', ' ')} of the solver, as its engine keeps it", "units": "1"},
        )
        for name, array in arrays.items()
    }
    schedule = json.dumps(asdict(run.schedule))
    return xr.Dataset(variables, attrs={"schedule": schedule, "loose": int(run.loose), "seconds": run.seconds})


def restore(tree: xr.DataTree, integrator: Integrator) -> Run:
    """Raises UsageError where the result holds no checkpoint."""
    saved = _saved(tree)
    carry = integrator.restore({str(name): array.values for name, array in saved.data_vars.items()})
    schedule = Schedule(**json.loads(saved.attrs["schedule"]))
    return Run(carry, schedule, float(saved.attrs["seconds"]), bool(saved.attrs["loose"]))


def save_ensemble(seconds: float) -> xr.Dataset:
    """Of an ensemble no solver's state is saved: members that are done stay as they are, the others are run anew."""
    return xr.Dataset(attrs={"seconds": seconds})


def restore_ensemble(tree: xr.DataTree) -> float:
    """The seconds spent so far. Raises UsageError where the result holds no checkpoint."""
    return float(_saved(tree).attrs["seconds"])


def check_same(tree: xr.DataTree, scenario: Scenario, problem: Problem, output: str) -> None:
    """Raise UsageError where a result was made by a scenario that differs in more than its budgets and its title."""
    budgets: Any = {"title": True, "flow": {"wall_time": True, "until": {"steps"}}}
    made_by = loads(str(tree.attrs["scenario"]), folder=scenario.source.folder)
    if made_by.model_dump(exclude=budgets) != scenario.model_dump(exclude=budgets):
        raise UsageError(f"{output}: was made by another scenario; only flow.wall_time and flow.until.steps may differ")
    samples = data(scenario, problem)
    if samples is not None and not samples.equals(tree.children["data"].to_dataset(inherit=False)):
        files = " and ".join(map(str, referenced_files(scenario).values()))
        raise UsageError(f"{output}: {files} has changed since this run was begun")


def _saved(tree: xr.DataTree) -> xr.Dataset:
    if GROUP not in tree.children:
        raise UsageError("there is nothing to resume: the run in this file is complete")
    return tree.children[GROUP].to_dataset(inherit=False)
