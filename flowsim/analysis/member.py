"""One run out of a trajectory that may be an ensemble's."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..errors import UsageError

#: A message names at most so many seeds.
NAMED_SEEDS = 10


def member(trajectory: xr.Dataset, seed: int | None = None) -> xr.Dataset:
    """The trajectory of a single run: of an ensemble, the member of this seed, up to where it stopped.

    Raises UsageError where the seed is missing or not one of the trajectory's, or its member has not run.
    """
    if "seed" in trajectory.dims:
        known = (
            trajectory["seed"].values.tolist() if "seed" in trajectory.coords else [*range(trajectory.sizes["seed"])]
        )
        listed = ", ".join(map(str, known[:NAMED_SEEDS])) + (", …" if len(known) > NAMED_SEEDS else "")
        if seed is None:
            raise UsageError(f"this is an ensemble, and one member is needed: choose its seed; there are {listed}")
        if seed not in known:
            raise UsageError(f"seed {seed} is not in this ensemble; there are {listed}")
        trajectory = trajectory.isel(seed=known.index(seed))
    elif seed is not None and seed != trajectory.coords.get("seed", trajectory.attrs.get("seed", seed)):
        raise UsageError(f"this is a single run, of seed {int(trajectory.attrs['seed'])}; leave the seed out")
    for name in ("log10_loss", "loss", "log_norm"):
        if name in trajectory:
            values = trajectory[name].transpose("time", ...).values.reshape(trajectory.sizes["time"], -1)
            reached = np.flatnonzero(~np.isnan(values[:, 0])).max(initial=-1) + 1
            if not reached:
                raise UsageError(f"the member of seed {seed} has not run")
            return trajectory.isel(time=slice(0, reached)) if reached < len(values) else trajectory
    return trajectory
