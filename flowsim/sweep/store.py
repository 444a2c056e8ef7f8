"""The folder of a sweep: its scenario, its manifest, the results of its batches.

The manifest has a line of JSON for each point that has ended. A batch's file is written aside, brought to the disk and
renamed before the lines of its points are appended, so a kill at any instant leaves neither half a point nor a line without
its result. Of several lines on one point the last one counts; a last line without its end is not there. A batch's file is
named by its content: points that run again never replace the file that others of their batch are in, and damage shows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..durable import remove_left_overs, written_aside, written_elsewhere
from ..errors import NotWritten, UsageError
from ..gate import obstacle
from ..results.points import MANIFEST, RUNS, damage, entries, is_named, name_of
from .plan import Plan, Point
from .scalars import Cells
from .worker import Landed, Record

SCENARIO, DATASET = "sweep.toml", "sweep.nc"


@dataclass(frozen=True)
class Line:
    """A point in the manifest. file: of its batch, within RUNS; empty where it has no result."""

    record: Record
    file: str
    point: Mapping[str, Any]

    @property
    def done(self) -> bool:
        return self.record.exit_code == 0

    @property
    def text(self) -> str:
        """As it stands in the manifest."""
        told = {name: value for name, value in vars(self.record).items() if name != "values"}
        values = {name: cells.json for name, cells in self.record.values.items()}
        return json.dumps({**told, "file": self.file, "point": dict(self.point), "values": values}, allow_nan=False)

    @classmethod
    def of(cls, told: dict[str, Any]) -> Line:
        """The inverse of `text`, parsed."""
        file, point = told.pop("file"), told.pop("point")
        values = {name: Cells.of(saved) for name, saved in told.pop("values").items()}
        return cls(Record(**told, values=values), file, point)


class Store:
    """A folder that this process alone writes to: see :func:`flowsim.durable.held`."""

    def __init__(self, folder: Path, plan: Plan):
        self.folder, self.plan = folder, plan
        self._points = {point.sha256: point for point in plan.points}
        self._manifest: Any = None
        self._ended: dict[str, bool] = {}
        #: Why files of results were not taken for what was written, each with how many points were in it.
        self.damaged: dict[str, int] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike[str], plan: Plan, *, resume: bool, overwrite: bool) -> Store:
        """Raises UsageError where the folder is not one to write to: it has something in it and is not to be resumed or
        overwritten, or it is the folder of another sweep."""
        store = cls(Path(folder), plan)
        try:
            store._prepare(resume, overwrite)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None
        return store

    @property
    def manifest(self) -> Path:
        return self.folder / MANIFEST

    @property
    def missing(self) -> list[Point]:
        """The points that have not ended, or failed, in the order of the plan."""
        return [point for point in self.plan.points if not self._ended.get(point.sha256, False)]

    @property
    def failed(self) -> list[Point]:
        """The points that ended otherwise than asked."""
        return [point for point in self.plan.points if self._ended.get(point.sha256) is False]

    def keep(self, landed: Landed) -> None:
        """Bring what a batch has given to the disk. Raises NotWritten."""
        file = name_of(landed.content) if landed.content else ""
        if landed.content:
            self._keep_file(file, landed.content)
        lines = [
            Line(record, file if record.group is not None else "", self._points[record.sha256].values)
            for record in landed.records
        ]
        self._append("".join(f"{line.text}\n" for line in lines).encode())
        for line in lines:
            self._ended[line.record.sha256] = line.done

    def _keep_file(self, name: str, content: bytes) -> None:
        """Raises NotWritten, with where it has been written instead."""
        file = self.folder / RUNS / name
        try:
            _write(file, content)
        except NotWritten as error:
            elsewhere = written_elsewhere(file, lambda other: _write(other, content))
            kept = f"; what it was to hold is in {elsewhere}" if elsewhere is not None else ""
            raise NotWritten(f"{error}{kept}", elsewhere=elsewhere) from None

    def _append(self, content: bytes) -> None:
        """Bring whole lines to the manifest, or nothing. Raises NotWritten."""
        end = os.fstat(self._manifest.fileno()).st_size
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._manifest.write(rest) :]
            os.fsync(self._manifest.fileno())
        except OSError as error:
            self._manifest.truncate(end)
            raise NotWritten(f"{self.manifest}: could not be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._manifest = opened.enter_context(self.manifest.open("ab", buffering=0))
            self._cut_torn_line()
            self._take_over()
            opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manifest.close()
        self._remove_superseded()

    def _remove_superseded(self) -> None:
        """Remove files of results in no line: their points have run again, or a kill came before the lines."""
        named = {file for _, file in self._latest().values()}
        for path in (self.folder / RUNS).glob("*.nc"):
            if is_named(path) and path.name not in named:
                path.unlink()

    def _latest(self) -> dict[str, tuple[bool, str]]:
        """Whether each point in the manifest is done, and the file of its result, as the last line on it has it."""
        return {line["sha256"]: (line["exit_code"] == 0, line["file"] or "") for line in entries(self.folder)}

    def _take_over(self) -> None:
        """Note which points of the plan have ended. Those whose results are damaged have not."""
        latest = {sha256: ended for sha256, ended in self._latest().items() if sha256 in self._points}
        why = {file: damage(self.folder / RUNS / file) for file in {file for _, file in latest.values()} if file}
        for sha256, (done, file) in latest.items():
            if told := why.get(file):
                place = f"{self.folder / RUNS / file}: {told}"
                self.damaged[place] = self.damaged.get(place, 0) + 1
            else:
                self._ended[sha256] = done

    def _prepare(self, resume: bool, overwrite: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder}: is a file; give a folder")
        for folder in (self.folder, self.folder / RUNS):
            remove_left_overs(folder)
        there = self.folder.is_dir() and any(self.folder.iterdir())
        if there and overwrite:
            self._clear()
        elif there and not resume:
            raise UsageError(
                f"{self.folder}: is not empty; --resume goes on with the sweep in it, --overwrite replaces it"
            )
        elif there and (self.folder / SCENARIO).exists():
            self._check_files()
            self._check_same()
        elif there:
            raise UsageError(f"{self.folder}: has no sweep to go on with; use an empty folder")
        (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
        header = f"# flowsim {version('flowsim')}, base {self.plan.identity}\n"
        _write(self.folder / SCENARIO, f"{header}{self.plan.scenario.to_toml()}".encode())

    def _check_files(self) -> None:
        for file in (self.folder / SCENARIO, self.manifest, self.folder / DATASET):
            if file.exists() and (why := obstacle(file)):
                raise UsageError(f"{file}: {why}")

    def _check_same(self) -> None:
        header = (self.folder / SCENARIO).read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if header.rpartition(" ")[2] != self.plan.identity:
            raise UsageError(
                f"{self.folder}: was made with another base scenario, {self.folder / SCENARIO}, or its files have changed, "
                "or its plugins; only title and [sweep] may differ"
            )

    def _clear(self) -> None:
        """Remove a sweep, and nothing else."""
        for name in (MANIFEST, DATASET, SCENARIO):
            (self.folder / name).unlink(missing_ok=True)
        for file in (self.folder / RUNS).glob("*.nc"):
            file.unlink()

    def _cut_torn_line(self) -> None:
        """A kill while a line was written has left a part of it."""
        content = self.manifest.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._manifest.truncate(whole)


def lines(folder: Path) -> Iterator[Line]:
    """The manifest, one line at a time. Raises UsageError where there is none, or where it cannot be read."""
    for number, told in enumerate(entries(folder), start=1):
        try:
            yield Line.of(told)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise UsageError(f"{folder / MANIFEST}:{number}: is not a line of a manifest") from None


def points_of(folder: Path) -> Iterator[str]:
    """The SHA-256 of each line's point."""
    return (line["sha256"] for line in entries(folder))


def _write(file: Path, content: bytes) -> None:
    with written_aside(file, len(content)) as aside:
        aside.write_bytes(content)
