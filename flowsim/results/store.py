"""Reading and writing result files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

import xarray as xr

from ..errors import UsageError
from . import layouts
from .points import MANIFEST

Opened = TypeVar("Opened", xr.DataTree, xr.Dataset)


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
    with written_aside(Path(path)) as aside:
        encoding = {node.path: text_encoding(node.to_dataset(inherit=False)) for node in tree.subtree}
        tree.to_netcdf(aside, engine="netcdf4", encoding=encoding)


def text_encoding(dataset: xr.Dataset) -> dict[str, dict[str, str]]:
    """What writes texts as arrays of characters. HDF5 may end the interpreter where a file that has texts of any length is
    open more than once."""
    return {str(name): {"dtype": "S1"} for name, array in dataset.variables.items() if array.dtype.kind in "UO"}


def write_text(file: Path, text: str) -> None:
    """As `write`, a text. Raises UsageError where it cannot be written."""
    try:
        with written_aside(file) as aside:
            aside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None


@contextmanager
def written_aside(file: Path) -> Iterator[Path]:
    """Where to write what is to become the file: renamed to it at the end, and removed where something is raised."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield aside
        os.replace(aside, file)
    finally:
        aside.unlink(missing_ok=True)


def open(path: str | PathLike[str]) -> xr.DataTree:
    """Open a result, of this or of an older layout; arrays are read when they are used. Raises UsageError where the file is
    not a result of flowsim, or of a newer layout."""
    file, what = Path(path), "a result of flowsim"
    if (file.parent.parent / MANIFEST).is_file():
        what += (
            f" but of several; flowsim.reopen({str(file.parent.parent)!r}, point=...) chooses one point of the sweep"
        )
    tree = opened(file, xr.open_datatree, "flowsim_version", what)
    if "sweep_keys" in tree.attrs:
        tree.close()
        raise UsageError(
            f"{file}: is the dataset of a sweep; flowsim.open_sweep opens it, flowsim.reopen one of its points"
        )
    return layouts.migrated(tree, str(file))


def opened(file: Path, opener: Callable[..., Opened], attribute: str, what: str) -> Opened:
    """Open a NetCDF-4 file that has an attribute by which it is what it should be. Raises UsageError where it is not."""
    if (file / MANIFEST).is_file():
        raise UsageError(
            f"{file}: is the folder of a sweep; flowsim.reopen(folder, point=...) chooses one of its points"
        )
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    try:
        found = opener(file, engine="netcdf4")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: not a NetCDF file: {error}") from None
    if attribute not in found.attrs:
        found.close()
        raise UsageError(f"{file}: not {what}")
    try:
        layouts.check(str(file), found.attrs)
    except UsageError:
        found.close()
        raise
    return found
