"""What a run that was cut short leaves in its file, so that it can go on as if nothing had happened."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import xarray as xr

from ..drive import Run
from ..engine import Integrator
from ..errors import UsageError
from ..schedule import Schedule

GROUP = "checkpoint"


def save(run: Run, integrator: Integrator) -> xr.Dataset:
    arrays = integrator.save(run.carry)
    variables = {name: (tuple(f"{name}_{axis}" for axis in range(array.ndim)), array) for name, array in arrays.items()}
    schedule = {
        f"schedule_{name}": int(value) if isinstance(value, bool) else value
        for name, value in asdict(run.schedule).items()
    }
    return xr.Dataset(variables, attrs={**schedule, "loose": int(run.loose), "seconds": run.seconds})


def restore(tree: xr.DataTree, integrator: Integrator) -> Run:
    """Raises UsageError where the result holds no checkpoint."""
    if GROUP not in tree.children:
        raise UsageError("there is nothing to resume: the run in this file is complete")
    saved = tree.children[GROUP].to_dataset(inherit=False)
    carry = integrator.restore({str(name): array.values for name, array in saved.data_vars.items()})
    attributes: dict[str, Any] = saved.attrs
    schedule = Schedule(
        kind=str(attributes["schedule_kind"]),
        count=int(attributes["schedule_count"]),
        end=float(attributes["schedule_end"]),
        open_ended=bool(attributes["schedule_open_ended"]),
        spacing=float(attributes["schedule_spacing"]),
        ratio=float(attributes["schedule_ratio"]),
        index=int(attributes["schedule_index"]),
    )
    return Run(carry, schedule, float(attributes["seconds"]), bool(attributes["loose"]))
