"""The estimated errors of a certified result, as lines of its page and for machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ..evaluate.global_error import cost, neurons_in_doubt, worst
from .common import finite


def summary(tree: xr.DataTree) -> dict[str, Any]:
    """variable -> its largest error, with what they are estimated by; None where there is no estimate."""
    group = tree.children["error"].to_dataset()
    return {
        "rtol": np.atleast_1d(group.attrs["rtol"]).tolist(),
        "companion_rtol": np.atleast_1d(group.attrs["companion_rtol"]).tolist(),
        "cost": finite(cost(group)),
        "companion_ended": str(group.attrs["companion_ended"]),
        "worst": {name: finite(largest) for name, (largest, _) in worst(group).items()},
        "undetermined": neurons_in_doubt(group),
    }


def lines(tree: xr.DataTree) -> list[str]:
    """Of a page of text; [] of a result that is not certified."""
    if "error" not in tree.children:
        return []
    group = tree.children["error"].to_dataset()
    rtol = ", ".join(f"{value:g}" for value in np.atleast_1d(group.attrs["companion_rtol"]))
    found = [
        f"error        largest estimated; by a companion at rtol {rtol}, {cost(group):.2f} times the evaluations in all"
    ]
    if ended := str(group.attrs["companion_ended"]):
        found.append(f"  no estimate from there on: {ended}")
    found += [f"  {name:<22} {largest:>12.2g}  at time {time:.6g}" for name, (largest, time) in worst(group).items()]
    told = neurons_in_doubt(group)
    return [*found, *([f"undetermined {line}" for line in told.split("; ")] if told else [])]
