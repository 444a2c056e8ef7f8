"""The files that a scenario reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .data import CENTERS
from .scenario import Scenario


def referenced_files(scenario: Scenario, folder: Path | None = None) -> dict[str, Path]:
    """The files a scenario reads, by the key that names them; relative paths start in `folder`, by default its own."""
    data, folder = scenario.data, scenario.source.folder if folder is None else folder
    files = {}
    if data.kind == "table":
        files["data.path"] = folder / data.path
    if data.kind == "gaussian_mixture" and data.centers not in CENTERS:
        files["data.centers"] = folder / data.centers
    if data.test is not None and data.test.path is not None:
        files["data.test.path"] = folder / data.test.path
    return files


def missing_files(scenario: Scenario, folder: Path) -> Iterator[tuple[str, str]]:
    """(key, message) of every file that does not exist."""
    for key, path in referenced_files(scenario, folder).items():
        if not path.is_file():
            yield key, f"no such file: {path}"
