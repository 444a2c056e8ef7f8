"""Curves and phases in a line of text each, and the sheet that they have to fit on."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, TextIO

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..evaluate.phases import moment
from ..present.summary import USUAL, curves, evenly, phase_instants
from ..results.layout import named_by

#: Levels from low to high, and the ends and the middle of a line; the second of each for terminals without Unicode.
LEVELS = ("▁▂▃▄▅▆▇█", "_.:-=+*#")
LINE = ("├─┤", "|-|")
#: Columns that a curve or a line takes where there is room.
COLUMNS = 48
#: What stands before a curve and, at most, after it.
BESIDE = 25 + 32
INDENT = "      "


@dataclass(frozen=True)
class Sheet:
    """width: columns of the terminal; None in a file, where lines are as long as they are. encoding: of the stream."""

    width: int | None = None
    encoding: str = "utf-8"

    @classmethod
    def of(cls, stream: TextIO) -> Self:
        width = shutil.get_terminal_size().columns if stream.isatty() else None
        return cls(width, stream.encoding or "utf-8")

    @property
    def plain(self) -> bool:
        """Whether there are only ASCII characters to draw with."""
        try:
            "".join((LEVELS[0], LINE[0])).encode(self.encoding)
        except UnicodeEncodeError:
            return True
        return False

    @property
    def columns(self) -> int:
        """Columns of a curve."""
        return COLUMNS if self.width is None else max(min(COLUMNS, self.width - BESIDE), 8)

    def fitted(self, lines: Iterable[str]) -> str:
        """The lines, broken where they are wider than the sheet; a character that the encoding lacks becomes "?"."""
        if self.width is not None:
            lines = [part for line in lines for part in self._broken(line, self.width)]
        return "\n".join(lines).encode(self.encoding, "replace").decode(self.encoding)

    def _broken(self, line: str, width: int) -> list[str]:
        if len(line) <= width:
            return [line]
        return textwrap.wrap(line, width, subsequent_indent=INDENT if width > 2 * len(INDENT) else "")


def sparkline(values: Floats, plain: bool = False) -> str:
    """A character for each value, between the smallest and the largest finite one; a gap where there is none."""
    levels = LEVELS[plain]
    finite = np.isfinite(values)
    if not finite.any():
        return " " * len(values)
    low, high = values[finite].min(), values[finite].max()
    if high > low:
        # scaled by a power of two, since the distance of two floats may be too large or too small for one
        _, exponent = np.frexp(max(abs(low), abs(high)))
        scaled, low, high = (np.ldexp(number, -exponent - 1) for number in (values[finite], low, high))
        share = (scaled - low) / (high - low)
        level = np.minimum(share * len(levels), len(levels) - 1).astype(int)
    else:
        level = np.zeros(finite.sum(), int)
    drawn = np.full(len(values), " ")
    drawn[finite] = np.array(list(levels))[level]
    return "".join(drawn)


def over_time(tree: xr.DataTree, sheet: Sheet) -> list[str]:
    """A curve for each of the numbers one looks at first, as far as the run kept them, evenly over the kept instants."""
    root = tree.to_dataset()
    chosen = evenly(root.sizes["time"], sheet.columns)
    found = curves(root.isel(time=chosen), tree["numerics"].to_dataset().isel(time=chosen))
    last = root.isel(time=-1)
    end = f"1e{float(last['log10_time']):.6g}" if named_by(root) == "log10_time" else f"{float(last['time']):.6g}"
    lines = [f"over time    {float(root['time'][0]):.6g} to {end}"]
    for name, words in USUAL.items():
        values = found.get(name, np.zeros(0))
        reached = values[~np.isnan(values)]
        if len(reached):
            ends = f"{reached[0]:.4g} to {reached[-1]:.4g}"
            lines.append(f"  {words:<22} {sparkline(values, sheet.plain)}  {ends}")
    return lines if len(lines) > 1 else []


def timeline(tree: xr.DataTree, sheet: Sheet) -> tuple[list[str], dict[str, str]]:
    """A line from the first kept instant to the last with the phases on it, and the mark of each that was reached; from the
    first after time 0, and over log10 of time, of a run on the loss clock.

    A phase of an ensemble is at the median of the members that reached it. Each has a column of its own.
    """
    time, logarithms = tree["time"].to_numpy(), named_by(tree.to_dataset()) == "log10_time"
    clock = tree["log10_time"].to_numpy()[1:] if logarithms else time
    begin, length = (clock[0], clock[-1] - clock[0]) if len(clock) else (0.0, 0.0)
    reached = {}
    for name, instants in phase_instants(tree["phases"].to_dataset(), logarithms).items():
        there = np.atleast_1d(instants)[~np.isnan(np.atleast_1d(instants))]
        if logarithms:  # of those at time 0 there is none
            there = np.maximum(there, begin)
        if len(there) and length > 0:
            reached[name] = float((np.median(there) - begin) / length)
    if not reached:
        return [], {}
    first, middle, last = tuple(LINE[sheet.plain])
    drawn, names = [middle] * sheet.columns, sorted(reached, key=reached.__getitem__)
    drawn[0], drawn[-1] = first, last
    marks = {name: str(number)[-1] for number, name in enumerate(names, start=1)}
    for name, place in zip(names, _apart([reached[name] for name in names], sheet.columns), strict=True):
        if place >= 0:
            drawn[place] = marks[name]
    end = f"1e{clock[-1]:.6g}, log scale" if logarithms else f"{time[-1]:.6g}"
    return [f"  {'':<22} {''.join(drawn)}  {moment(begin, logarithms, 6)} to {end}"], marks


def _apart(shares: list[float], columns: int) -> list[int]:
    """A column of its own for each rising share of a line; negative where there are not enough."""
    places: list[int] = []
    for share in shares:
        places.append(max(int(share * columns), places[-1] + 1 if places else 0))
    limit = columns
    for index in reversed(range(len(places))):
        limit = places[index] = min(places[index], limit - 1)
    return places
