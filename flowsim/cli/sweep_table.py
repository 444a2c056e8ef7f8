"""The live table of a sweep: on a terminal only, silent in a pipe."""

from __future__ import annotations

import sys
import time as wall
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Wall seconds between two pictures of the table.
EVERY = 0.25
#: Columns of the bar.
BAR = 24


@dataclass(frozen=True)
class Standing:
    """How far a sweep is: numbers of points. elapsed: wall seconds; ended: points that ended in them."""

    done: int
    failed: int
    running: int
    points: int
    elapsed: float
    ended: int

    @property
    def waiting(self) -> int:
        return max(self.points - self.done - self.failed - self.running, 0)

    @property
    def left(self) -> float | None:
        """Wall seconds until all points have ended, at the pace so far; None before the first one has."""
        return self.elapsed * (self.running + self.waiting) / self.ended if self.ended else None


class SweepTable:
    """Shows how many points are done, run, wait and have failed, how long it takes still, and where Dask shows more.

    Entered once; the table goes away at the end. quiet: it is not shown. clock: wall seconds.
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = wall.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._shown = sys.stderr.isatty() and not quiet
        # what goes to standard output is for others to read, and stays there
        self._live = Live(console=Console(file=sys.stderr), auto_refresh=False, transient=True, redirect_stdout=False)
        self._clock = clock
        self._dashboard, self._begun, self._last, self._before = "", 0.0, 0.0, 0

    def __enter__(self) -> Self:
        if self._shown:
            self._live.start()
            self._draw("preparing the points")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._live.stop()

    def begin(self, dashboard: str) -> None:
        self._dashboard = dashboard

    def show(self, done: int, failed: int, running: int, points: int) -> None:
        now = self._clock()
        if not self._begun:
            self._begun, self._before = now, done + failed
        elif now - self._last < EVERY:
            return
        self._last = now
        ended = max(done + failed - self._before, 0)
        if self._shown:
            self._draw(picture(Standing(done, failed, running, points, now - self._begun, ended), self._dashboard))

    def _draw(self, picture: RenderableType) -> None:
        self._live.update(picture, refresh=True)


def picture(standing: Standing, dashboard: str) -> RenderableType:
    """A bar, a table with one row, and the address of Dask's own page."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    ended, points = standing.done + standing.failed, standing.points
    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=points, completed=ended, width=BAR, complete_style="cyan", finished_style="cyan")
    head.add_row("sweep", bar, f"{ended} of {points} points have ended")
    columns = {
        "done": str(standing.done),
        "running": str(standing.running),
        "waiting": str(standing.waiting),
        "failed": str(standing.failed),
        "elapsed": duration(standing.elapsed),
        "left": "?" if standing.left is None else f"about {duration(standing.left)}",
    }
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in columns:
        style = "bold red" if name == "failed" and standing.failed else ""
        table.add_column(name, justify="right", overflow="fold", style=style)
    table.add_row(*columns.values())
    return Group(head, table, Text(f"Dask's dashboard: {dashboard}", overflow="fold"))


def duration(seconds: float) -> str:
    """Such as 0:05, 12:34 or 3:00:00."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
