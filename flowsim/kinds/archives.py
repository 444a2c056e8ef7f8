"""Arrays of NPY, NPZ and NetCDF files and of Zarr stores, none of which is read before its header has said that it fits."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..arrays import Floats
from ..durable import METADATA
from ..gate import check_unpacked, fits, obstacle
from .pixels import AT_A_TIME, slices

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


def mapped_array(path: Path) -> Floats:
    """That of an NPY file, in floats: where it holds these, rows after rows, it stays on the disk, and of what is looked at
    the system keeps what it has room for. Writing to it changes no file. Raises one of UNREADABLE."""
    check_file(path)
    with path.open("rb") as file:
        shape, by_columns, dtype = _header(file, path.stat().st_size, path.name)
        begin = file.tell()
    mapped = (
        np.memmap(path, dtype, "c", begin, shape, "F" if by_columns else "C") if 0 not in shape else np.empty(shape)
    )
    if dtype == np.dtype(float) and mapped.flags.c_contiguous:
        return mapped
    fits(math.prod(shape) * BYTES, path.name)
    return in_floats(mapped)


def in_floats(array: Any) -> Floats:
    """An array, or what gives rows as one, in floats; made of some rows at a time."""
    found = np.empty(array.shape)
    if not found.ndim:
        found[...] = array[...]
        return found
    for rows in slices(len(found), max(AT_A_TIME // max(math.prod(array.shape[1:]), 1), 1)):
        found[rows] = array[rows]
    return found


def zarr_arrays(path: Path, names: Collection[str], group: str = "") -> dict[str, Floats]:
    """Those of a Zarr store of format 3 that have these names, in floats, read some rows at a time; where the root has none
    of them, those of the group. Raises one of UNREADABLE."""
    if find_spec("zarr") is None:
        raise ValueError("a Zarr store needs Zarr: pip install 'flowsim[zarr]'")
    import zarr

    check_file(path / METADATA)
    root = zarr.open_group(path, mode="r", zarr_format=3)
    found: dict[str, Any] = {name: root[name] for name in names if name in root}
    if not found and isinstance(inner := root.get(group), zarr.Group):
        found = {name: inner[name] for name in names if name in inner}
    for name, array in found.items():
        if not isinstance(array, zarr.Array) or array.dtype.kind not in "biuf":
            raise ValueError(f"{name} is no array of whole or floating-point numbers")
        fits(BYTES * math.prod(array.chunks), f"chunks of {name}")
    packed = sum(file.stat().st_size for file in path.rglob("*"))
    check_unpacked(packed, sum(BYTES * math.prod(array.shape) for array in found.values()))
    return {name: in_floats(array) for name, array in found.items()}


def _header(file: IO[bytes], claimed: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, whether columns are stored one after the other, type, never of objects) of the array in a stream that claims
    to have so many bytes, which is left at the array's begin."""
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{name} is of version {version} of NumPy's format, which holds no plain numbers")
    shape, by_columns, dtype = HEADERS[version](file)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} is {dtype}; expected whole or floating-point numbers")
    size, there = math.prod(shape) * dtype.itemsize, claimed - file.tell()
    if size != there:
        raise ValueError(f"the header of {name} speaks of {size} bytes, and {there} are there")
    return shape, by_columns, dtype


def _stored(file: IO[bytes], claimed: int, name: str) -> NDArray[Any]:
    """The array, never of objects, in a stream that claims to have so many bytes."""
    shape, by_columns, dtype = _header(file, claimed, name)
    size = math.prod(shape) * dtype.itemsize
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
