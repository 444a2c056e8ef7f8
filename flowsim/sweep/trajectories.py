"""Trajectories of a sweep on a common grid of times, written batch by batch into its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..observe import OBSERVABLES
from ..results.damage import check_clock, check_file, check_variables, reading
from ..results.layout import COORDINATES
from ..results.points import RUNS
from .plan import Plan


@dataclass(frozen=True)
class Ended:
    """A point of the plan that has ended and has a result. index: its place among all points; the rest as in its record."""

    index: int
    file: str
    group: str
    member: int | None
    clock: str


@dataclass
class Frame:
    """What all trajectories fit into. lengths: dimension -> length, the largest of any point."""

    time: Floats
    lengths: dict[str, int]


def add(plan: Plan, folder: Path, dataset: Path, ended: Sequence[Ended]) -> None:
    """Write the trajectories that [sweep] asks for into the dataset's file; a point that has none, or stopped earlier, has
    NaN there."""
    import netCDF4
    from xarray.backends.netCDF4_ import NETCDF4_PYTHON_LOCK as alone  # xarray closes what is garbage in any thread

    if not ended:
        return
    names, frame = tuple(dict.fromkeys(plan.scenario.sweep.trajectories)), _frame(plan, folder, ended)
    dims = tuple(axis.name for axis in plan.axes)
    with alone, closing(netCDF4.Dataset(dataset, "a")) as file:
        for dim, length in {"time": len(frame.time), **frame.lengths}.items():
            if dim not in file.dimensions:
                file.createDimension(dim, length)
        clock = file.createVariable("time", "f8", ("time",))
        clock[:] = frame.time
        clock.setncatts({"long_name": COORDINATES["time"], "units": "1"})
        for name in names:
            known = OBSERVABLES[name]
            variable = file.createVariable(name, "f8", (*dims, "time", *known.dims), fill_value=np.nan)
            variable.setncatts({"long_name": known.long_name, "units": known.units})
    for run, points in _results(folder, ended, names):
        time = run["time"].values
        for name in names:
            if name not in run:
                continue
            first = ("seed", "time") if "seed" in run.dims else ("time",)
            kept = run[name].transpose(*first, ...).values.astype(float)
            with alone, closing(netCDF4.Dataset(dataset, "a")) as file:
                for point in points:
                    values = _on_grid(time, kept if point.member is None else kept[point.member], frame.time)
                    place = np.unravel_index(point.index, plan.shape)
                    file[name][(*place, slice(None), *map(slice, values.shape[1:]))] = values


def _frame(plan: Plan, folder: Path, ended: Sequence[Ended]) -> Frame:
    """The instants that the points share, else evenly spaced ones up to the last of all."""
    shared = len({point.clock for point in ended}) == 1
    lengths: dict[str, int] = {}
    end, time = 0.0, np.zeros(0)
    names = tuple(dict.fromkeys(plan.scenario.sweep.trajectories))
    for run, _ in _results(folder, ended, names):
        for name in names:
            for dim in OBSERVABLES[name].dims if name in run else ():
                lengths[dim] = max(lengths.get(dim, 0), run.sizes[dim])
        time = run["time"].values
        end = max(end, float(time[-1]))
    return Frame(time if shared else np.linspace(0.0, end, plan.scenario.sweep.instants), lengths)


def _results(folder: Path, ended: Iterable[Ended], names: Sequence[str]) -> Iterator[tuple[xr.Dataset, list[Ended]]]:
    """These variables of each result, an ensemble's with all its members, and the points that are in it. Raises UsageError
    where a file is not what it was."""
    for (name, group), points in groupby(ended, key=lambda point: (point.file, point.group)):
        file = folder / RUNS / name
        check_file(file)
        with (
            reading(str(file)),
            xr.open_dataset(file, group=group or None, engine="netcdf4", decode_times=False) as run,
        ):
            check_clock(file, run)
            check_variables(file, run)
            loaded = run[[name for name in names if name in run]].load()
        yield loaded, list(points)


def _on_grid(time: Floats, values: Floats, grid: Floats) -> Floats:
    """Values (time, …) at the instants of the grid, linear between those that were kept; NaN past the last one."""
    if np.array_equal(time, grid):
        return values
    columns = values.reshape(len(time), -1)
    reached = ~np.isnan(columns).all(axis=1)
    on_grid = [np.interp(grid, time[reached], column, right=np.nan) for column in columns[reached].T]
    return np.array(on_grid).T.reshape(len(grid), *values.shape[1:])
