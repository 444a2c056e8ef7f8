"""Reading and writing result files."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeVar

import xarray as xr

from ..durable import is_store, written_aside
from ..errors import UsageError
from ..gate import obstacle
from ..kinds.files import first_line
from . import layouts
from .addresses import fetched, placed, to_send
from .damage import check_attributes, check_clock, check_file, check_variables
from .points import MANIFEST
from .zarr import check_store, open_store, write_store

Opened = TypeVar("Opened", xr.DataTree, xr.Dataset)


def write(tree: xr.DataTree, path: str | PathLike[str]) -> None:
    """Write a NetCDF-4 file, or a Zarr store where the name ends in .zarr, of which no reader ever sees a part; at an
    address, a file that was written here first. Raises NotWritten."""
    place = placed(path)
    if isinstance(place, str):
        with to_send(place) as file:
            return write(tree, file)
    if is_store(place):
        return write_store(tree, place)
    datasets = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    encoding = {name: text_encoding(dataset) for name, dataset in datasets.items()}
    room = sum(
        array.nbytes
        for name, dataset in datasets.items()
        for array in dataset.variables.values()
        if array.dtype.kind not in "UO"
    )
    with written_aside(place, room) as aside:
        tree.to_netcdf(aside, engine="netcdf4", encoding=encoding)


def text_encoding(dataset: xr.Dataset) -> dict[str, dict[str, str]]:
    """What writes texts as arrays of characters. HDF5 may end the interpreter where a file that has texts of any length is
    open more than once."""
    return {str(name): {"dtype": "S1"} for name, array in dataset.variables.items() if array.dtype.kind in "UO"}


def open(path: str | PathLike[str]) -> xr.DataTree:
    """Open a result, of this or of an older layout; arrays are read when they are used, those at an address such as
    ``s3://bucket/run.nc`` at once. Raises UsageError where the file is not a result of flowsim, or of a newer layout."""
    place = placed(path)
    if isinstance(place, Path):
        return _open(place)
    with fetched(place) as file:
        try:
            with _open(file) as tree:
                return in_memory(tree)
        except UsageError as error:
            raise UsageError(str(error).replace(str(file), place)) from None


def _open(file: Path) -> xr.DataTree:
    what = "a result of flowsim"
    if not obstacle(file.parent.parent / MANIFEST):
        what += (
            f" but of several; flowsim.reopen({str(file.parent.parent)!r}, point=...) chooses one point of the sweep"
        )
    tree = _tree(file, "flowsim_version", what)
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


def _tree(file: Path, attribute: str, what: str) -> xr.DataTree:
    if not (is_store(file) and file.is_dir()):
        return opened(file, xr.open_datatree, attribute, what)
    check_store(file)
    return _checked(file, lambda: open_store(file), attribute, what)


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
    # times are numbers, whatever the attributes of a foreign file say of them
    return _checked(file, lambda: opener(file, engine="netcdf4", decode_times=False), attribute, what)


def _checked(file: Path, opener: Callable[[], Opened], attribute: str, what: str) -> Opened:
    """What the opener gives, if it has the attribute and the layout of one that is known."""
    try:
        found = opener()
    except UsageError:
        raise
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
