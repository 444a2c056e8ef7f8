"""Arrays of NPY, NPZ and NetCDF files, none of which is read before its header has said that it fits."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..arrays import Floats
from ..gate import check_unpacked, fits, obstacle

#: What the readers raise for a file that does not hold what its name says.
UNREADABLE = (
    OSError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    EOFError,
    RuntimeError,  # encrypted archives, and HDF5's errors
    MemoryError,
    BadZipFile,
    zlib.error,
)
#: What reads the headers of each version of NumPy's format that has arrays of numbers.
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
#: Arrays are used as float64.
BYTES = 8


def check_file(path: Path) -> None:
    """Raise ValueError where a path is no file to be read."""
    if why := obstacle(path):
        raise ValueError(why)


def npz_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Those of an NPZ file that have these names, or all of them. Raises one of UNREADABLE."""
    check_file(path)
    with ZipFile(path) as archive:
        held = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        wanted = [name for name in held if names is None or name in names]
        check_unpacked(path.stat().st_size, sum(held[name].file_size for name in wanted))
        return {name: _member(archive, held[name], name) for name in wanted}


def _member(archive: ZipFile, entry: ZipInfo, name: str) -> NDArray[Any]:
    with archive.open(entry) as file:
        return _stored(file, entry.file_size, name)


def npy_array(path: Path) -> NDArray[Any]:
    """That of an NPY file. Raises one of UNREADABLE."""
    check_file(path)
    with path.open("rb") as file:
        return _stored(file, path.stat().st_size, "its array")


def _stored(file: IO[bytes], claimed: int, name: str) -> NDArray[Any]:
    """The array, never of objects, in a stream that claims to have so many bytes."""
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{name} is of version {version} of NumPy's format, which holds no plain numbers")
    shape, by_columns, dtype = HEADERS[version](file)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} is {dtype}; expected whole or floating-point numbers")
    size, there = math.prod(shape) * dtype.itemsize, claimed - file.tell()
    if size != there:
        raise ValueError(f"the header of {name} speaks of {size} bytes, and {there} are there")
    fits(math.prod(shape) * BYTES, name)
    content = file.read(size)
    if len(content) != size:
        raise ValueError(f"{name} is truncated: {len(content)} of {size} bytes are there")
    return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")


def netcdf_arrays(path: Path, names: Collection[str] | None = None, group: str = "") -> dict[str, Floats]:
    """Variables of numbers of the root that have these names, or all of them, gaps as NaN; where the root has none of these
    names, those of the group. Raises one of UNREADABLE."""
    import netCDF4

    check_file(path)
    with netCDF4.Dataset(path) as file:
        found = _numbers(file.variables, names)
        if not found and group in file.groups:
            found = _numbers(file.groups[group].variables, names)
        check_unpacked(path.stat().st_size, sum(BYTES * math.prod(variable.shape) for variable in found.values()))
        return {name: np.ma.filled(variable[...].astype(float), np.nan) for name, variable in found.items()}


def _numbers(variables: Mapping[str, Any], names: Collection[str] | None) -> dict[str, Any]:
    if names is not None:
        return {name: variables[name] for name in names if name in variables}
    return {name: found for name, found in variables.items() if np.issubdtype(found.dtype, np.number)}
