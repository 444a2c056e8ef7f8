"""From the folder of a sweep to one dataset: a dimension for each swept key, the scalars of every point, trajectories."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..durable import written_aside
from ..errors import UsageError
from ..evaluate.claim import CLAIMS
from ..evaluate.rates import layout, rates
from ..gate import fits
from ..results import opened, scenario_attributes, text_encoding
from ..results.layouts import LAYOUT
from . import trajectories
from .plan import Axis, Plan, shown
from .scalars import Cells
from .store import DATASET, Line, lines, points_of
from .trajectories import Ended

NOT_RUN = "not_run"
#: What the dataset says of each point as a whole: name -> (long name, value where it has not run)
OF_POINTS: dict[str, tuple[str, Any]] = {
    "status": ("how the point ended", NOT_RUN),
    "exit_code": ("0 where the point did what was asked", 3),
    "seconds": ("wall time of the point; of one that ran as a member of an ensemble, its share", np.nan),
    "cpu_seconds": ("processor time, likewise", np.nan),
    "sha256": ("SHA-256 of the point's resolved scenario", ""),
}


def collect(plan: Plan, folder: Path) -> Path:
    """Write the dataset of a sweep, aside and renamed. No more than one batch's trajectories are in memory at a time."""
    file = folder / DATASET
    dataset, ended = _scalars(plan, folder)
    if plan.scenario.evaluate.claims:
        dataset = dataset.assign(layout(rates(dataset, CLAIMS, plan.scenario.evaluate.claims)))
    with written_aside(file, dataset.nbytes) as aside:
        dataset.to_netcdf(aside, engine="netcdf4", encoding=text_encoding(dataset))
        if plan.scenario.sweep.trajectories:
            trajectories.add(plan, folder, aside, ended)
    return file


def request(plan: Plan) -> str:
    """A fingerprint of what the dataset is of: the points in their order, and which trajectories."""
    sweep = plan.scenario.sweep
    told = [point.sha256 for point in plan.points], plan.scenario.title, sweep.trajectories, sweep.instants
    return hashlib.sha256(repr(told).encode()).hexdigest()


def is_current(plan: Plan, folder: Path) -> bool:
    """Whether the dataset is there and is of this plan."""
    if not (folder / DATASET).is_file():
        return False
    try:
        with open_sweep(folder) as dataset:
            return str(dataset.attrs.get("request")) == request(plan)
    except UsageError:
        return False  # damaged: the manifest has it all


def open_sweep(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open the dataset of a sweep, by its folder or its file. Arrays are read when they are used; trajectories are Dask's
    arrays where it is installed. Raises UsageError where it is not one."""
    file = Path(path)
    file = file / DATASET if file.is_dir() else file
    dataset = opened(file, xr.open_dataset, "sweep_keys", "the dataset of a sweep")
    if find_spec("dask") is None:
        return dataset
    long = {name: array.chunk() for name, array in dataset.data_vars.items() if "time" in array.dims}
    lazy = dataset.assign(long)
    lazy.set_close(dataset.close)  # or the file stays open
    return lazy


def _scalars(plan: Plan, folder: Path) -> tuple[xr.Dataset, list[Ended]]:
    """The dataset without trajectories, and where they are to be found."""
    index = {point.sha256: number for number, point in enumerate(plan.points)}
    latest = {sha256: number for number, sha256 in enumerate(points_of(folder)) if sha256 in index}
    chosen = set(latest.values())
    table = _Table(len(index))
    ended = []
    for number, line in enumerate(lines(folder)):
        if number in chosen:
            place = index[line.record.sha256]
            table.put(place, line)
            record = line.record
            if record.group is not None:
                ended.append(Ended(place, line.file, record.group, record.member, record.clock))
    dims = tuple(axis.name for axis in plan.axes)
    variables = {}
    for name, (values, more, long_name) in table.arrays(plan).items():
        attributes = {"long_name": long_name, "units": "1"}
        variables[name] = ((*dims, *more), values.reshape(*plan.shape, *values.shape[1:]), attributes)
    coordinates = {key: value for axis in plan.axes for key, value in _coordinates(axis)}
    coordinates |= {dim: (dim, np.array([*labels])) for dim, labels in table.labels.items()}
    return xr.Dataset(variables, coordinates, _attributes(plan)), sorted(
        ended, key=lambda point: (point.file, point.group)
    )


class _Table:
    """Columns of cells, filled point by point; labels of a dimension are those of all points together."""

    def __init__(self, points: int):
        self._points = points
        self._facts = {name: np.full(points, missing, dtype=_kind(missing)) for name, (_, missing) in OF_POINTS.items()}
        self._columns: dict[str, list[tuple[int, Cells]]] = {}
        self.labels: dict[str, dict[Any, int]] = {}

    def put(self, place: int, line: Line) -> None:
        for name, column in self._facts.items():
            column[place] = getattr(line.record, name)
        for name, cells in line.record.values.items():
            self._columns.setdefault(name, []).append((place, cells))
            for dim, labels in cells.labels.items():
                known = self.labels.setdefault(dim, {})
                for label in labels:
                    known.setdefault(label, len(known))

    def arrays(self, plan: Plan) -> dict[str, tuple[Any, tuple[str, ...], str]]:
        """name -> (values (points, …), further dimensions, long name)"""
        for place, point in enumerate(plan.points):
            self._facts["sha256"][place] = point.sha256
        found: dict[str, tuple[Any, tuple[str, ...], str]] = {
            name: (column, (), OF_POINTS[name][0]) for name, column in self._facts.items()
        }
        for name, column in self._columns.items():
            dims = tuple(dict.fromkeys(dim for _, cells in column for dim in cells.labels))
            shape = (self._points, *(len(self.labels[dim]) for dim in dims))
            fits(8.0 * math.prod(shape), f"the values of {name}")
            values = np.full(shape, np.nan)
            for place, cells in column:
                if set(cells.labels) == set(dims):
                    spots = [[self.labels[dim][label] for label in cells.labels[dim]] for dim in dims]
                    order = [[*cells.labels].index(dim) for dim in dims]
                    values[place, ...][np.ix_(*spots)] = np.transpose(cells.values, order)
            found[name] = (values, dims, column[0][1].long_name)
        return found


def _kind(missing: Any) -> Any:
    return object if isinstance(missing, str) else type(missing)


def _coordinates(axis: Axis) -> Iterator[tuple[str, Any]]:
    for key, values in axis.values.items():
        plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        kept = (
            np.array(values) if plain else np.array([v if isinstance(v, str) else shown(v) for v in values], dtype=str)
        )
        yield key, (axis.name, kept, {"long_name": key, "units": "1"})


def _attributes(plan: Plan) -> dict[str, Any]:
    return {
        **LAYOUT,
        "title": plan.scenario.title,
        **scenario_attributes(plan.scenario),
        "sweep_keys": "\n".join(plan.scenario.sweep.keys),
        "request": request(plan),
        "flowsim_version": version("flowsim"),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
