"""What a notebook shows of `ds.flow`."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..markup import table
from .phases import moment


def phase_table(found: xr.Dataset) -> str:
    """Phases, when they were reached and what defines them, as HTML."""
    logarithms = "log10_instant" in found
    kept = found["log10_instant" if logarithms else "instant"].transpose("phase", ...).values
    instants = [_when(np.atleast_1d(values), logarithms) for values in kept]
    columns = (found["phase"].values, instants, found["definition"].values)
    return table(("phase", "instant", "definition"), zip(*columns, strict=True))


def _when(instants: Floats, logarithms: bool) -> str:
    """An instant; of an ensemble, from the first member to the last that reached it."""
    reached = instants[~np.isnan(instants)]
    if not len(reached):
        return "not reached"
    if len(instants) == 1:
        return moment(reached[0], logarithms)
    first, last = (moment(value, logarithms) for value in (reached.min(), reached.max()))
    return f"{first} to {last}, {len(reached)} of {len(instants)} members"
