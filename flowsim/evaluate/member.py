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


def stopped_member(tree: xr.DataTree, seed: int | None) -> xr.Dataset:
    """The same of a result, with the instant at which the member stopped, where that is between those of the ensemble, and
    without the weights that it did not come to."""
    root = tree.to_dataset(inherit=False)
    run = member(root, seed)
    if run.sizes["time"] == root.sizes["time"]:
        return run
    groups = {name: tree.children[name].to_dataset() for name in ("final", "numerics") if name in tree.children}
    known = len(groups) == 2 and "stop_time" in groups["numerics"]  # else a part of a result, without its last instant
    last = float(run["time"].values[-1])
    stop = float(groups["numerics"]["stop_time"].sel(seed=seed)) if known else last
    if "snapshot" in run.dims:
        times = run["snapshot"]
        kept = np.flatnonzero(times.values[:-1] <= last)
        # the last slot has the weights where the member stopped
        slots = [*kept, len(times) - 1] if known else [*kept]
        values = [*times.values[kept], stop] if known else times.values[kept]
        run = run.isel(snapshot=slots).assign_coords(snapshot=("snapshot", values, times.attrs))
    if stop <= last:
        return run
    ended = groups["final"].sel(seed=seed)
    instant = run.isel(time=[-1]).assign_coords(time=("time", [stop], run["time"].attrs))
    for name, array in run.data_vars.items():
        if "time" in array.dims and name in ended:
            values = ended[name].transpose(*array.dims[1:]).values
            instant[name] = (array.dims, values[None], array.attrs)
    if "iteration" in run.coords:
        steps = np.rint([stop / float(run["step"])]).astype(np.int64)
        instant = instant.assign_coords(iteration=("time", steps, run["iteration"].attrs))
    return xr.concat(
        [run, instant],
        "time",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )
