"""What a notebook shows of `ds.flow`."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..markup import table
from ..problem.data.samples import Floats


def phase_table(found: xr.Dataset) -> str:
    """Phases, when they were reached and what defines them, as HTML."""
    instants = [np.atleast_1d(values) for values in found["instant"].transpose("phase", ...).values]
    columns = (found["phase"].values, map(_when, instants), found["definition"].values)
    return table(("phase", "instant", "definition"), zip(*columns, strict=True))


def _when(instants: Floats) -> str:
    """An instant; of an ensemble, from the first member to the last that reached it."""
    reached = instants[~np.isnan(instants)]
    if not len(reached):
        return "not reached"
    if len(instants) == 1:
        return f"{reached[0]:.5g}"
    return f"{reached.min():.5g} to {reached.max():.5g}, {len(reached)} of {len(instants)} members"
