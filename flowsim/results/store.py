"""Reading and writing result files."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from tempfile import NamedTemporaryFile

import xarray as xr

from ..errors import UsageError


def check_writable(path: str | PathLike[str], overwrite: bool) -> None:
    """Raise UsageError, before anything is computed, where a result could not be written to this path."""
    file = Path(path)
    try:
        if file.is_dir():
            raise UsageError(f"{file}: is a folder; give the name of a file")
        if file.exists() and not overwrite:
            raise UsageError(f"{file}: exists already; use --overwrite to replace it, or -o to write elsewhere")
        if not file.parent.is_dir():
            raise UsageError(f"{file}: the folder {file.parent} does not exist")
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}."):
            pass
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None


def write(tree: xr.DataTree, path: str | PathLike[str]) -> None:
    """Write a NetCDF-4 file aside and rename it into place, so that no reader ever sees a part of one."""
    file = Path(path)
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        tree.to_netcdf(aside, engine="netcdf4")
        os.replace(aside, file)
    finally:
        aside.unlink(missing_ok=True)


def open(path: str | PathLike[str]) -> xr.DataTree:
    """Open a result; arrays are read when they are used. Raises UsageError where the file is not a result of flowsim."""
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    try:
        tree = xr.open_datatree(file, engine="netcdf4")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: not a NetCDF file: {error}") from None
    if "flowsim_version" not in tree.attrs:
        tree.close()
        raise UsageError(f"{file}: not a result of flowsim")
    return tree
