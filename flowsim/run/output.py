"""The file of a run: checkpoints as it goes on, and the result at its end."""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import xarray as xr

from ..durable import written_elsewhere
from ..errors import NotWritten
from ..results import write

#: Wall seconds until the first checkpoint, and between any two of them at least …
EARLY = 5.0
#: … and the part of the time that all of them may take.
SHARE = 0.02


class Output:
    """Where a run writes, if anywhere.

    every: wall seconds between two checkpoints; None for as often as costs no more than SHARE of the time. warn is called
    with why a checkpoint could not be written: it is tried again later.
    """

    def __init__(self, path: str | PathLike[str] | None, every: float | None, warn: Callable[[str], None]):
        self._file, self._every, self._warn = None if path is None else Path(path), every, warn
        self._begun = self._last = wall.monotonic()
        self._spent = self._cost = 0.0
        self._told = ""

    @property
    def _due(self) -> bool:
        """Whether a checkpoint is to be written now."""
        if self._file is None:
            return False
        now, first = wall.monotonic(), self._last == self._begun
        if self._every is not None:
            return now - self._last >= (min(self._every, EARLY) if first else self._every)
        affordable = first or self._spent + self._cost <= SHARE * (now - self._begun)
        return affordable and now - self._last >= EARLY

    def checkpoint_if_due(self, result: Callable[[], xr.DataTree]) -> None:
        """result: makes what is to be written."""
        if self._due:
            begun = wall.monotonic()
            self.checkpoint(result())
            self._cost = self._last - begun
            self._spent += self._cost

    def checkpoint(self, result: xr.DataTree) -> None:
        """Write what there is, if that is possible."""
        if self._file is None:
            return
        try:
            write(result, self._file)
            self._told = ""
        except NotWritten as error:
            if str(error) != self._told:
                self._warn(f"{error}; the run goes on, and the next checkpoint is tried again")
            self._told = str(error)
        self._last = wall.monotonic()

    def end(self, result: xr.DataTree) -> None:
        """Write the result. Raises NotWritten, with where it has been written instead."""
        if self._file is None:
            return
        try:
            write(result, self._file)
        except NotWritten as error:
            raise self._rescued(str(error), result) from None

    def _rescued(self, why: str, result: xr.DataTree) -> NotWritten:
        """Write the result somewhere else."""
        assert self._file is not None
        elsewhere = written_elsewhere(self._file, lambda file: write(result, file))
        if elsewhere is not None:
            return NotWritten(f"{why}; the whole of it is in {elsewhere}", result, elsewhere)
        kept = f"; {self._file} is as it was before" if self._file.exists() else ""
        return NotWritten(f"{why}, nor to any other folder{kept}; make room, and run it again with --resume", result)
