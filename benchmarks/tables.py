"""What the scripts print: tables as text and as markdown, and the machine and the versions above them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from solvers import cores

Row = Sequence[str]


def short(number: float) -> str:
    """A number to one digit, as 2e-7."""
    return f"{number:.0e}".replace("e-0", "e-")


def text_table(columns: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Lines of a table whose first column holds names and the others numbers."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for name, *numbers in (columns, *rows):
        cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *cells])


def write_markdown(path: Path, columns: Row, rows: Sequence[Row]) -> None:
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, ("---", *["---:"] * (len(columns) - 1)), *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def machine(libraries: Sequence[str]) -> Iterator[str]:
    """Two lines: the cores, and the versions of those libraries that are installed."""
    yield f"cores: {cores()}, {platform.machine()}, Python {platform.python_version()}"
    yield ", ".join(f"{library} {found}" for library in libraries if (found := _version(library)))


def claim(words: str, holds: bool) -> str:
    return f"{'holds' if holds else 'DOES NOT HOLD'}: {words}"


def say(message: str) -> None:
    """What is under way, beside the output."""
    print(message, file=sys.stderr)


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
