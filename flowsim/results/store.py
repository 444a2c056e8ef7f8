"""Reading and writing result files."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeVar

import xarray as xr

from ..durable import written_aside
from ..errors import UsageError
from ..gate import obstacle
from ..kinds.files import first_line
from . import layouts
from .damage import check_attributes, check_clock, check_file, check_variables
from .points import MANIFEST

Opened = TypeVar("Opened", xr.DataTree, xr.Dataset)


def write(tree: xr.DataTree, path: str | PathLike[str]) -> None:
    """Write a NetCDF-4 file, of which no reader ever sees a part. Raises NotWritten."""
    datasets = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    encoding = {name: text_encoding(dataset) for name, dataset in datasets.items()}
    room = sum(
        array.nbytes
        for name, dataset in datasets.items()
        for array in dataset.variables.values()
        if array.dtype.kind not in "UO"
    )
    with written_aside(Path(path), room) as aside:
        tree.to_netcdf(aside, engine="netcdf4", encoding=encoding)


def text_encoding(dataset: xr.Dataset) -> dict[str, dict[str, str]]:
    """What writes texts as arrays of characters. HDF5 may end the interpreter where a file that has texts of any length is
    open more than once."""
    return {str(name): {"dtype": "S1"} for name, array in dataset.variables.items() if array.dtype.kind in "UO"}


def open(path: str | PathLike[str]) -> xr.DataTree:
    """Open a result, of this or of an older layout; arrays are read when they are used. Raises UsageError where the file is
    not a result of flowsim, or of a newer layout."""
    file, what = Path(path), "a result of flowsim"
    if not obstacle(file.parent.parent / MANIFEST):
        what += (
            f" but of several; flowsim.reopen({str(file.parent.parent)!r}, point=...) chooses one point of the sweep"
        )
    tree = opened(file, xr.open_datatree, "flowsim_version", what)
    if "sweep_keys" in tree.attrs:
        tree.close()
        raise UsageError(
            f"{file}: is the dataset of a sweep; flowsim.open_sweep opens it, flowsim.reopen one of its points"
        )
    try:
        check_clock(file, tree.to_dataset())
        check_variables(file, tree.to_dataset())
    except UsageError:
        tree.close()
        raise
    return layouts.migrated(tree, str(file))


def in_memory(tree: xr.DataTree) -> xr.DataTree:
    """An open result as it was before it was written."""
    datasets = {node.path: node.to_dataset(inherit=False).load().drop_encoding() for node in tree.subtree}
    return xr.DataTree.from_dict(datasets)


def opened(file: Path, opener: Callable[..., Opened], attribute: str, what: str) -> Opened:
    """Open a NetCDF-4 file that has an attribute by which it is what it should be. Raises UsageError where it is not."""
    if not obstacle(file / MANIFEST):
        raise UsageError(
            f"{file}: is the folder of a sweep; flowsim.reopen(folder, point=...) chooses one of its points"
        )
    check_file(file)
    try:
        # times are numbers, whatever the attributes of a foreign file say of them
        found = opener(file, engine="netcdf4", decode_times=False)
    except Exception as error:
        raise UsageError(f"{file}: cannot be opened: {first_line(error)}") from None
    if attribute not in found.attrs:
        found.close()
        raise UsageError(f"{file}: not {what}")
    try:
        check_attributes(file, found.attrs)
        layouts.check(str(file), found.attrs)
    except UsageError:
        found.close()
        raise
    return found
