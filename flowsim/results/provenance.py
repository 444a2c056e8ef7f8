"""Where a result comes from: everything needed to make it again."""

from __future__ import annotations

import platform
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xarray as xr

from ..kinds import plugins_used
from ..scenario import Scenario
from ..solve import Plan
from ..solve.status import Status
from .layouts import LAYOUT

LIBRARIES = ("numpy", "scipy", "numba", "jax", "jaxlib", "diffrax", "xarray", "netCDF4")


def attributes(scenario: Scenario, plan: Plan, status: Status, seconds: float, compiling: float) -> dict[str, Any]:
    """The root's attributes. seconds: spent, without those spent compiling."""
    return {
        **LAYOUT,
        "title": scenario.title,
        **scenario_attributes(scenario),
        "seed": np.array(scenario.seeds) if scenario.is_ensemble else scenario.seed,
        **_versions(),
        **_method(scenario),
        **({"devices": plan.shares.devices} if plan.shares.devices > 1 else {}),
        "engine": plan.engine,
        "solver": plan.solver,
        "flow_coordinates": plan.coordinates,  # CF reserves the plain name
        "clock": plan.clock,
        "precision": plan.precision,
        "warnings": "\n".join(plan.warnings),
        "status": status.name,
        "status_cause": status.cause,
        "status_remedy": status.remedy,
        "wall_time": seconds,
        "compile_time": compiling,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def scenario_attributes(scenario: Scenario) -> dict[str, str]:
    """The canonical text of what was run, its checksum, the source with its comments where that says the same, and the
    plugins whose kinds it names."""
    text, source = scenario.to_toml(), scenario.source_text
    told = {"scenario": text, "scenario_sha256": scenario.sha256, **plugins_used.written(scenario.to_dict())}
    return told | ({"scenario_source": source} if source not in ("", text) else {})


def _method(scenario: Scenario) -> dict[str, Any]:
    """What the flow was made of: a tolerance, or steps."""
    if scenario.stage:
        return {"method": ", ".join(dict.fromkeys(stage.method for stage in scenario.stage))}
    flow = scenario.flow
    told = {"step": flow.step, "batch": flow.batch} if flow.descends else {"rtol": flow.rtol}
    return {"method": flow.method, **{name: value for name, value in told.items() if value is not None}}


def status_attributes(status: Status) -> dict[str, Any]:
    """The attributes of `numerics`: how the run ended."""
    return {
        "status": status.name,
        "status_cause": status.cause,
        "status_remedy": status.remedy,
        "exit_code": status.exit_code,
    }


def with_status(tree: xr.DataTree, status: Status) -> xr.DataTree:
    """The same result with another status."""
    told = status_attributes(status)
    tree = tree.copy()
    tree.attrs |= {name: value for name, value in told.items() if name in tree.attrs}
    tree["numerics"].attrs |= told
    return tree


@cache
def _versions() -> dict[str, str]:
    """Of flowsim, Python and the libraries that are there. Looking them up takes as long as a small run."""
    found = {"flowsim_version": version("flowsim"), "python_version": platform.python_version()}
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[f"{library}_version"] = version(library)
    return found
