"""The file of a run: checkpoints as it goes on, and the result at its end."""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from pathlib import Path

import xarray as xr

from ..durable import written_elsewhere
from ..errors import NotWritten
from ..results import write

#: Wall seconds until the first checkpoint, and at least between any two.
EARLY = 5.0
#: The part of a run's time that its checkpoints may take.
SHARE = 0.02


class Output:
    """The file of a run, if it has one, or its address.

    every: wall seconds between two checkpoints; None for as often as costs no more than SHARE of the time. warn: called
    where a checkpoint could not be written; the next one is tried all the same.
    """

    def __init__(self, file: Path | str | None, every: float | None, warn: Callable[[str], None]):
        self._file, self._every, self._warn = file, every, warn
        self._begun = self._last = wall.monotonic()
        self._spent = self._cost = 0.0
        self._told = ""

    @property
    def _due(self) -> bool:
        """Whether it is time for a checkpoint."""
        if self._file is None:
            return False
        now, first = wall.monotonic(), self._last == self._begun
        if self._every is not None:
            return now - self._last >= (min(self._every, EARLY) if first else self._every)
        affordable = first or self._spent + self._cost <= SHARE * (now - self._begun)
        return affordable and now - self._last >= EARLY

    def checkpoint_if_due(self, result: Callable[[], xr.DataTree]) -> None:
        """Write a checkpoint if it is time for one. result: makes it."""
        if self._due:
            begun = wall.monotonic()
            self.checkpoint(result())
            self._cost = self._last - begun
            self._spent += self._cost

    def checkpoint(self, result: xr.DataTree) -> None:
        """Write a checkpoint. A failure is a warning."""
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
        """Write the result. Raises NotWritten, which names the file that has it instead."""
        if self._file is None:
            return
        try:
            write(result, self._file)
        except NotWritten as error:
            raise self._rescued(str(error), result) from None

    def _rescued(self, why: str, result: xr.DataTree) -> NotWritten:
        """Write the result to another folder. Returns the error to raise. why: what the first attempt met."""
        assert self._file is not None
        elsewhere = written_elsewhere(Path(self._file), lambda file: write(result, file))
        if elsewhere is not None:
            return NotWritten(f"{why}; the whole of it is in {elsewhere}", result, elsewhere)
        kept = f"; {self._file} is as it was before" if isinstance(self._file, Path) and self._file.exists() else ""
        return NotWritten(f"{why}, nor to any other folder{kept}; make room, and run it again with --resume", result)
