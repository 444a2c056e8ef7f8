"""Bounds on what comes from outside: scenarios, tables, results. docs/limits.md has the list.

``--limit NAME=VALUE`` or the environment variable FLOWSIM_LIMITS gives a bound another value.
"""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from .errors import UsageError
from .machine import available, free

#: Values of bounds, as ``NAME=VALUE,NAME=VALUE``. The workers of a sweep inherit the variable.
VARIABLE = "FLOWSIM_LIMITS"
UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
LENGTHS = {"years": 365 * 86400.0, "days": 86400.0, "hours": 3600.0, "minutes": 60.0}
#: Longer times are not told in years.
MOST_YEARS = 1e6


class Limit(NamedTuple):
    """value: the default; None where it depends on the machine. unit: "bytes", or what is counted."""

    value: float | None
    unit: str
    what: str


LIMITS = {
    "scenario-bytes": Limit(2**20, "bytes", "size of a scenario's text"),
    "scenario-depth": Limit(64, "levels", "how deep arrays, tables and dotted keys of a scenario are nested"),
    "scenario-digits": Limit(400, "characters", "length of a number or of a bare key in a scenario"),
    "unpacked": Limit(
        1000, "times its file", "what a table or a result takes once it is unpacked, where that is more than 64 MiB"
    ),
    "kept": Limit(8 * 2**30, "bytes", "what a run keeps of its trajectory"),
    "points": Limit(100_000, "points", "points of a sweep"),
    "arrays": Limit(1000, "arrays", "trained arrays of a network that is a function of a tree of arrays"),
    "memory": Limit(None, "bytes", "memory that a table, a result or a run takes: what the machine has available"),
    "disk": Limit(None, "bytes", "disk that a run or a sweep takes: what is free where it is written"),
    "seconds": Limit(30 * 86400, "seconds", "time that a run is predicted to take"),
}
#: The bound `unpacked` does not apply to fewer bytes.
SMALL = 64 * 2**20


def limit(name: str) -> float:
    """The value of a bound. For "disk", use `disk_limit`."""
    value = _given().get(name, LIMITS[name].value)
    return available() if value is None else value


def disk_limit(place: Path) -> float:
    """The bound "disk" for a folder, in bytes."""
    return _given().get("disk", free(place))


def set_limit(assignment: str) -> None:
    """Give a bound another value, for this process and those that it starts.

    assignment: ``NAME=VALUE``, where VALUE may have a unit: KiB, MiB, GiB, TiB. Raises UsageError for anything else.
    """
    name, _, value = (part.strip() for part in assignment.partition("="))
    kept = {**_given(), name: _number(name, value)}
    os.environ[VARIABLE] = ",".join(f"{key}={number:.17g}" for key, number in kept.items())


def _given() -> dict[str, float]:
    pairs = [pair.partition("=") for pair in os.environ.get(VARIABLE, "").split(",") if pair.strip()]
    return {name.strip(): _number(name.strip(), value.strip()) for name, _, value in pairs}


def _number(name: str, text: str) -> float:
    if name not in LIMITS:
        raise UsageError(f'"{name}" is no limit; allowed: {", ".join(LIMITS)}')
    found = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?|inf) ?(\w*)", text)
    try:
        value = float(found[1]) * UNITS[found[2]] if found else math.nan
    except (KeyError, ValueError):
        value = math.nan
    if not value > 0:
        raise UsageError(f'limit {name}: "{text}" is not a number above 0, such as 1e9, 64GiB or inf')
    return value


def size(count: float) -> str:
    """A number of bytes, in words."""
    return f"{count / 2**20:.4g} MiB" if count < 2**30 else f"{count / 2**30:.4g} GiB"


def duration(seconds: float) -> str:
    """A predicted time, in words, to two or three digits."""
    if seconds > MOST_YEARS * LENGTHS["years"]:
        return f"more than {MOST_YEARS:g} years"
    for name, length in LENGTHS.items():
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {name}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def raised(name: str, needed: float) -> str:
    """The option that raises a bound to this value."""
    if LIMITS[name].unit != "bytes":
        return f"--limit {name}={math.ceil(needed) if math.isfinite(needed) else 'inf'}"
    return f"--limit {name}={math.ceil(needed / 2**20)}MiB" if math.isfinite(needed) else f"--limit {name}=inf"


#: What `obstacle` says of a path at which there is nothing.
NO_FILE = "no such file"


def obstacle(path: Path) -> str:
    """Why a path is not a file that can be read; "" where it is one. Pipes and devices are none: they may never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        return NO_FILE if missing else f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return "" if stat.S_ISREG(mode) else "is not a regular file but a pipe or a device, which may have no end"


def check_unpacked(packed: float, unpacked: float) -> None:
    """Raise ValueError where the arrays of a file do not fit into memory, or unpack to suspiciously much.

    packed: bytes of the file; unpacked: bytes of its arrays, by its headers.
    """
    fits(unpacked, "its arrays")
    most = max(SMALL, limit("unpacked") * max(packed, 1.0))
    if unpacked > most:
        times = unpacked / max(packed, 1)
        raise ValueError(
            f"its arrays are {size(unpacked)}, {times:.3g} times its file, more than {limit('unpacked'):g} times; if they "
            f"are meant, {raised('unpacked', times)} reads them"
        )


def fits(needed: float, what: str) -> None:
    """Raise ValueError where so many bytes do not fit into memory. what: the subject of the message, in the plural."""
    if needed > (most := limit("memory")):
        raise ValueError(f"{what} need {size(needed)}, and {size(most)} of memory is available")
