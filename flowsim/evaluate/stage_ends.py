"""The instants of a run that say most about its weights: where it starts, and where each of its stages ends."""

from __future__ import annotations

import xarray as xr

from ..results.layout import snapshot_index

#: What the first and, of a run without stages, the last of them are called.
START, END = "start", "end"


def ends(run: xr.Dataset) -> dict[str, int]:
    """What each of them is called -> which of the kept weights it is, in their order. run: the root group."""
    kept = snapshot_index(run)
    if not len(kept):
        return {}
    first = {START: 0} if kept[0] == 0 and len(kept) > 1 else {}
    if "stage" not in run.coords:
        return {**first, END: len(kept) - 1}
    # an instant bears the name of the stage that led to it
    names = run["stage"].values[kept]
    return {**first, **{str(name): place for place, name in enumerate(names) if place or not first}}
