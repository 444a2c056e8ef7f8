"""What a worker does: run the flights of a batch, and give back their results and what is to be known of each point."""

from __future__ import annotations

import hashlib
import sys
import time as wall
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xarray as xr

from ..errors import FlowsimError
from ..kinds.plugins import hold
from ..results import write
from ..run import run
from ..scenario import read
from ..scenario.source import Source
from ..threads import one_core
from .batches import Batch, Flight
from .scalars import Cells, scalars

#: Endings that flowsim itself does not have.
RAISED, OUT_OF_MEMORY, REFUSED, KILLED = "raised", "out_of_memory", "refused", "killed"


@dataclass(frozen=True)
class Record:
    """What the manifest says of a point. group: of its result in the batch's file, "" for the root; None where it has
    none. member: its place among the seeds of the result, None for a single run. seconds: wall time, of a member its
    share. clock: a fingerprint of the instants that were kept."""

    sha256: str
    status: str
    cause: str
    exit_code: int
    seconds: float
    cpu_seconds: float = 0.0
    group: str | None = None
    member: int | None = None
    clock: str = ""
    values: dict[str, Cells] = field(default_factory=dict)


@dataclass(frozen=True)
class Landed:
    """content: the file with all results of a batch; empty where there are none."""

    records: tuple[Record, ...]
    content: bytes


def fly(batch: Batch) -> Landed:
    """Run a batch on one core. Whatever happens to a point is recorded, and never raised."""
    results: dict[str, xr.DataTree] = {}
    records: list[Record] = []
    lone = len(batch.flights) == 1
    with one_core(), own_files():
        hold(batch.plugins)
        for flight in batch.flights:
            for tree, found in _flown(flight, batch.folder):
                group = "" if lone and len(found) == len(batch.points) else str(len(results))
                if tree is not None:
                    results[group] = tree
                    found = [_placed(record, group) for record in found]
                records += found
        return Landed(tuple(records), _file(results))


def own_files() -> AbstractContextManager[Any]:
    """What is written inside no other worker opens; xarray would have Dask's scheduler lock it at each access."""
    return sys.modules["dask"].config.set(scheduler="synchronous") if "dask" in sys.modules else nullcontext()


def _flown(flight: Flight, folder: str) -> Iterator[tuple[xr.DataTree | None, list[Record]]]:
    """The result of a flight; where an ensemble as a whole cannot be run, that of each point by itself."""
    begun, processor = wall.monotonic(), wall.process_time()
    try:
        tree = run(read(flight.values, Source(folder=Path(folder))), warn=lambda message: None)
        found = _records(flight, tree)
    except Exception as error:
        if len(flight.points) > 1:
            for single in flight.alone():
                yield from _flown(single, folder)
            return
        name, cause = _said(error)
        tree, found = None, [Record(flight.points[0], name, cause, 3, 0.0)]
    share = 1 / len(found)
    seconds, cpu = share * (wall.monotonic() - begun), share * (wall.process_time() - processor)
    yield tree, [Record(**{**vars(record), "seconds": seconds, "cpu_seconds": cpu}) for record in found]


def _records(flight: Flight, tree: xr.DataTree) -> list[Record]:
    numerics = tree.children["numerics"].to_dataset(inherit=False)
    clock = hashlib.sha256(tree.to_dataset()["time"].values.tobytes()).hexdigest()[:16]
    values = scalars(tree)
    if "seed" not in tree.dims:
        told = tree["numerics"].attrs
        ending = (str(told["status"]), str(told["status_cause"]), int(told["exit_code"]))
        return [Record(flight.points[0], *ending, 0.0, clock=clock, values=values[0])]
    endings = zip(*(numerics[name].values.tolist() for name in ("status", "status_cause", "exit_code")), strict=True)
    return [
        Record(point, str(name), str(cause), int(code), 0.0, member=member, clock=clock, values=values[member])
        for member, (point, (name, cause, code)) in enumerate(zip(flight.points, endings, strict=True))
    ]


def _placed(record: Record, group: str) -> Record:
    return Record(**{**vars(record), "group": group})


def _said(error: Exception) -> tuple[str, str]:
    """The status and the cause that an exception stands for."""
    if isinstance(error, FlowsimError):
        return REFUSED, str(error)
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY, f"there was not enough memory: {error}" if str(error) else "there was not enough memory"
    where = traceback.extract_tb(error.__traceback__)[-1]
    return RAISED, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


def _file(results: dict[str, xr.DataTree]) -> bytes:
    """A NetCDF file: a lone result as it is, several as groups named by numbers."""
    if not results:
        return b""
    groups: dict[str, Any] = {
        f"/{name}{node.path if node.path != '/' or not name else ''}": node.to_dataset(inherit=False)
        for name, tree in results.items()
        for node in tree.subtree
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "batch.nc"
        write(xr.DataTree.from_dict({path.replace("//", "/"): dataset for path, dataset in groups.items()}), file)
        return file.read_bytes()
