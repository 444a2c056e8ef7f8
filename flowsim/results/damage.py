"""Checks of a file before it is used as a result, and messages about damaged ones."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..errors import FlowsimError, UsageError
from ..gate import check_unpacked, obstacle
from ..observe import OBSERVABLES
from .layout import DIMENSIONS

#: Coordinates of the root that are texts.
TEXT_VARIABLES = ("stage", "leaf", "matrix")
PACKAGE = Path(__file__).parents[1]
#: Attributes of the root that are texts, and that are numbers, where they are there.
TEXTS = ("title", "scenario", "flowsim_version", "engine", "solver", "clock", "warnings", "status", "status_cause")
NUMBERS = ("format_version", "wall_time", "rtol", "step")

#: Errors that no file can cause: defects of flowsim or of its installation.
OWN = (ImportError, NameError, AssertionError, SyntaxError, NotImplementedError)


def check_file(file: Path) -> None:
    """Raise UsageError where a path is no NetCDF file, or where its arrays are beyond the bounds of :mod:`flowsim.gate`."""
    if why := obstacle(file):
        raise UsageError(f"{file}: {why}")
    import netCDF4

    try:
        with netCDF4.Dataset(file) as root:
            check_unpacked(file.stat().st_size, _size(root))
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{file}: not a NetCDF file: {error}") from None
    except (ValueError, LookupError, AttributeError) as error:
        raise UsageError(f"{file}: {error}") from None


def _size(group: Any) -> float:
    """Bytes of all arrays of a group and its subgroups, by their headers; a text of any length counts as a pointer."""
    own = sum(math.prod(array.shape) * (np.dtype(array.dtype).itemsize or 8) for array in group.variables.values())
    return float(own + sum(map(_size, group.groups.values())))


def check_attributes(file: Path, attributes: dict[Any, Any]) -> None:
    """Raise UsageError where an attribute of the root has another type than flowsim writes."""
    for name in TEXTS:
        if not isinstance(attributes.get(name, ""), str):
            raise UsageError(f"{file}: damaged: its attribute {name} is no text")
    for name in NUMBERS:
        found = np.asarray(attributes.get(name, 0))
        if found.ndim or found.dtype.kind not in "iuf":
            raise UsageError(f"{file}: damaged: its attribute {name} is no number")


def check_clock(file: Path, root: xr.Dataset) -> None:
    """Raise UsageError where a trajectory has no instants, or none that are numbers."""
    if "time" not in root.dims:
        raise UsageError(f"{file}: holds no trajectory, so it is not a result of flowsim")
    clock = root["time"].variable if "time" in root.coords else None
    if clock is None or clock.dims != ("time",) or clock.dtype.kind not in "iuf":
        raise UsageError(f"{file}: damaged: its instants, the coordinate time, are no numbers")
    if not clock.size:
        raise UsageError(f"{file}: damaged: it has no instants")


def check_variables(file: Path, root: xr.Dataset) -> None:
    """Raise UsageError where a variable that flowsim knows has other dimensions, or holds no numbers."""
    known = {name: ("time", *found.dims) for name, found in OBSERVABLES.items() if not found.group} | DIMENSIONS
    for name, dims in known.items():
        if name not in root.variables or name in TEXT_VARIABLES:
            continue
        found = root[name]
        if found.dims not in (dims, ("seed", *dims)):
            told = ", ".join(map(str, found.dims))
            raise UsageError(f"{file}: damaged: {name} is along ({told}), and not along ({', '.join(dims)})")
        if np.dtype(found.dtype).kind not in "biuf":
            raise UsageError(f"{file}: damaged: {name} holds no numbers")


@contextmanager
def reading(*names: str) -> Iterator[None]:
    """Turn an unexpected error, while these files are shown, into a UsageError that names them and the line of code.

    Such an error has two causes that cannot be told apart here: a file that is not as flowsim wrote it, or a defect of
    flowsim. The message says both. Errors that no file can cause are raised as they are.
    """
    try:
        yield
    except (FlowsimError, BrokenPipeError, MemoryError, *OWN):
        raise
    except Exception as error:
        if isinstance(error, OSError) and isinstance(error.errno, int) and error.errno > 0:
            raise  # what cannot be written; HDF5's own numbers are negative, and xarray puts a text there
        told = " ".join(str(error).split()) or "no reason given"
        raise UsageError(
            f"{', '.join(names)}: cannot be used: {type(error).__name__}: {told[:200]} ({_place(error)}); either the file "
            "is damaged or was changed by another program, or this is an error in flowsim"
        ) from error


def _place(error: Exception) -> str:
    """The innermost line of flowsim's code in an error's traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(PACKAGE))]
    last = frames[-1]
    return f"{Path(last.filename).relative_to(PACKAGE)}:{last.lineno}"
