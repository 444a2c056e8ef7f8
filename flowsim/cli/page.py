"""A result as a page of text, and as a summary for machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from .common import finite


def summary(tree: xr.DataTree) -> dict[str, Any]:
    """Status, phases, final values and numerics; numbers that do not exist are None."""
    attributes, numerics = tree.attrs, tree.children["numerics"]
    last = numerics.to_dataset().isel(time=-1)
    return {
        "title": attributes["title"],
        "status": attributes["status"],
        "status_cause": attributes["status_cause"],
        "status_remedy": attributes["status_remedy"],
        "exit_code": int(numerics.attrs["exit_code"]),
        "engine": attributes["engine"],
        "solver": attributes["solver"],
        "coordinates": attributes["flow_coordinates"],
        "wall_time": float(attributes["wall_time"]),
        "time": float(last["time"]),
        "phases": {name: finite(instant) for name, instant in _phases(tree)},
        "final": {name: finite(value) for name, value in _final(tree).items()},
        "steps": int(last["steps"]),
        "rejections": int(last["rejections"]),
        "evaluations": int(last["evaluations"]),
    }


def text(tree: xr.DataTree) -> str:
    """A page for people."""
    facts = summary(tree)
    lines = [facts["title"] or "flowsim run", f"status       {facts['status']}: {facts['status_cause']}"]
    if facts["status_remedy"]:
        lines.append(f"remedy       {facts['status_remedy']}")
    lines += [f"warning      {warning}" for warning in tree.attrs["warnings"].splitlines()]
    lines.append("phases")
    for name, instant in _phases(tree):
        when = "not reached" if np.isnan(instant) else f"{instant:.6g}"
        definition = str(tree["phases"]["definition"].sel(phase=name).item())
        lines.append(f"  {name:<22} {when:>12}  {definition}")
    lines.append(f"at time {facts['time']:.6g}")
    lines += [f"  {name:<22} {value:>12.6g}" for name, value in _final(tree).items()]
    lines.append(
        f"numerics     {facts['steps']} steps, {facts['rejections']} rejected, {facts['evaluations']} evaluations; "
        f"{facts['engine']} {facts['solver']}, {facts['coordinates']} coordinates; {facts['wall_time']:.1f} s"
    )
    return "\n".join(lines)


def _phases(tree: xr.DataTree) -> list[tuple[str, float]]:
    instants = tree.children["phases"].to_dataset()["instant"]
    return [(str(name), float(instants.sel(phase=name))) for name in instants["phase"].values]


def _final(tree: xr.DataTree) -> dict[str, float]:
    """The numbers one looks at first, as far as the run kept them."""
    last = tree.to_dataset().isel(time=-1)
    values = {
        name: float(last[name])
        for name in ("loss", "log10_loss", "accuracy", "void_mass", "balance_drift")
        if name in last
    }
    if "cosine" in last and last.sizes["cluster"]:
        best = last["cosine"].max("cluster")
        for name, share in (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75)):
            values[f"best cosine, {name}"] = float(best.quantile(share))
    return values
