"""Arrays from CSV, NPY, NPZ and NetCDF files and from Zarr stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import UsageError
from ..gate import fits
from .archives import UNREADABLE, check_file, mapped_array, netcdf_arrays, npy_array, npz_arrays, zarr_arrays

#: Files that have all arrays of a table; the first of its files, which have an array each; a folder that has them all.
FILE_SUFFIXES = (".csv", ".npz", ".nc")
FIRST_OF_FILES = "x.npy"
TABLE_SUFFIXES = (*FILE_SUFFIXES, FIRST_OF_FILES, ".zarr")
ARRAY_SUFFIXES = (".npy", *FILE_SUFFIXES)
#: What a table may have.
NAMES = ("x", "y", "cluster", "centers")
#: Memory that a CSV file takes while it is read, in bytes for each of its own.
PARSED = 12


def read_table(path: Path) -> dict[str, Floats]:
    """Arrays x, y and, where the file has them, cluster and centers, all as float64.

    CSV: a header row; columns ``y`` and ``cluster`` are named, every other column is a feature.
    NPY: ``x.npy``, beside which ``y.npy`` and the others are, or all of them with the same letters before; arrays of
    float64 stay on the disk until they are looked at.
    Zarr: arrays of the root, or of the group ``data``.
    NetCDF: variables of the root, or of the group ``data`` (as a flowsim result has it).
    Raises ValueError where the file cannot be read as such.
    """
    try:
        if path.suffix == ".csv":
            arrays = _csv(path)
        elif path.suffix == ".npz":
            arrays = npz_arrays(path, NAMES)
        elif path.suffix == ".npy":
            beside = {name: path.with_name(f"{path.name.removesuffix(FIRST_OF_FILES)}{name}.npy") for name in NAMES}
            arrays = {name: mapped_array(file) for name, file in beside.items() if file.exists()}
        elif path.suffix == ".zarr":
            arrays = zarr_arrays(path, NAMES, group="data")
        else:
            arrays = netcdf_arrays(path, NAMES, group="data")
        return {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    except UNREADABLE as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None


def read_array(path: Path, name: str) -> Floats:
    """One array: the whole of a CSV (no header) or NPY file, the entry `name` of an NPZ or NetCDF file."""
    if path.suffix not in (".csv", ".npy"):
        arrays = read_table(path)
        if name not in arrays:
            raise ValueError(f"{path.name} has no array {name!r}; it has {', '.join(sorted(arrays)) or 'none'}")
        return arrays[name]
    try:
        if path.suffix == ".csv":
            return _numbers(_lines(path))
        return np.asarray(npy_array(path), dtype=float)
    except UNREADABLE as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None


def numbers(name: str, given: Any) -> Floats:
    """A read-only copy, in floats, of an array of any library. Raises UsageError where it is none of numbers."""
    if hasattr(given, "detach"):  # PyTorch's, which may have a gradient or lie on another device
        given = given.detach().cpu()
    try:
        array = np.array(given, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is not an array of numbers: {first_line(error)}") from None
    array.setflags(write=False)
    return array


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _numbers(lines: list[str]) -> Floats:
    """(rows, columns) of comma-separated numbers."""
    if not any(line.strip() for line in lines):
        raise ValueError("it has no rows of numbers")
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def _csv(path: Path) -> dict[str, Any]:
    header, *lines = _lines(path) or [""]
    names = [name.strip().strip('"') for name in header.split(",")]
    rows = _numbers(lines)
    if rows.shape[1] != len(names):
        raise ValueError(f"its header names {len(names)} columns, its rows have {rows.shape[1]}")
    if len(set(names)) < len(names):
        raise ValueError("its header names a column twice")
    special: dict[str, Floats] = {name: rows[:, names.index(name)] for name in ("y", "cluster") if name in names}
    features = [index for index, name in enumerate(names) if name not in special]
    return {"x": rows[:, features], **special}


def _lines(path: Path) -> list[str]:
    check_file(path)
    fits(PARSED * path.stat().st_size, "its numbers")
    return path.read_text(encoding="utf-8-sig").splitlines()
