"""Arrays from CSV, NPY, NPZ and NetCDF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .samples import Floats


def read_table(path: Path) -> dict[str, Floats]:
    """Arrays x, y and, where the file has them, cluster and centers, all as float64.

    CSV: a header row; columns ``y`` and ``cluster`` are named, every other column is a feature.
    NetCDF: variables of the root, or of the group ``data`` (as a flowsim result has it).
    Raises ValueError where the file cannot be read as such.
    """
    readers = {".csv": _csv, ".npz": _npz, ".nc": _netcdf}
    try:
        arrays = readers[path.suffix](path)
        return {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    except (OSError, TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None


def read_array(path: Path, name: str) -> Floats:
    """One array: the whole of a CSV (no header) or NPY file, the entry `name` of an NPZ or NetCDF file."""
    try:
        if path.suffix == ".csv":
            return np.atleast_2d(np.loadtxt(path, delimiter=","))
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=float)
        arrays = read_table(path)
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    if name not in arrays:
        raise ValueError(f"{path.name} has no array {name!r}; it has {', '.join(sorted(arrays)) or 'none'}")
    return arrays[name]


def _csv(path: Path) -> dict[str, Any]:
    import pandas

    frame = pandas.read_csv(path, skipinitialspace=True)
    named = {name: frame.pop(name).to_numpy() for name in ("y", "cluster") if name in frame}
    return {"x": frame.to_numpy(), **named}


def _npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in ("x", "y", "cluster", "centers") if name in archive}


def _netcdf(path: Path) -> dict[str, Any]:
    import netCDF4

    with netCDF4.Dataset(path) as file:
        group = file if "x" in file.variables else file.groups.get("data", file)
        names = [name for name in ("x", "y", "cluster", "centers") if name in group.variables]
        return {name: np.ma.filled(group[name][...].astype(float), np.nan) for name in names}
