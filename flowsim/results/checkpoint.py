"""What a run that was cut short leaves in its file, so that it can go on as if nothing had happened."""

from __future__ import annotations

import json
from dataclasses import asdict

import xarray as xr

from ..drive import Run
from ..engine import Integrator
from ..errors import UsageError
from ..schedule import Schedule

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
    if GROUP not in tree.children:
        raise UsageError("there is nothing to resume: the run in this file is complete")
    saved = tree.children[GROUP].to_dataset(inherit=False)
    carry = integrator.restore({str(name): array.values for name, array in saved.data_vars.items()})
    schedule = Schedule(**json.loads(saved.attrs["schedule"]))
    return Run(carry, schedule, float(saved.attrs["seconds"]), bool(saved.attrs["loose"]))
