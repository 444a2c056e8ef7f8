"""The files that a scenario reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..durable import METADATA, is_store
from ..gate import obstacle
from ..kinds.tables import UNNAMED_DATA
from .arrays import SECTIONS
from .scenario import Scenario
from .source import PYTHON, Source

#: What is to be said of a section that takes arrays from outside and says not which.
UNNAMED = {
    "data": UNNAMED_DATA,
    "init": "is required: the path of an NPZ or NetCDF file; only from Python may it be left out, for weights in memory: "
    "flowsim.run(scenario, init=flowsim.Weights(hidden, output))",
}


def referenced_files(scenario: Scenario, folder: Path | None = None) -> dict[str, Path]:
    """The files a scenario reads, by the key that names them; relative paths start in `folder`, by default its own."""
    folder = scenario.source.folder if folder is None else folder
    return {key: folder / file for key, file in scenario.named_files().items()}


def unnamed(scenario: Scenario, source: Source) -> list[str]:
    """The sections that neither name the file that they take arrays from nor have these with them."""
    sections = {name: getattr(scenario, name) for name in SECTIONS}
    return [name for name, section in sections.items() if section.file == "" and source.held(name, section) is None]


def missing_files(scenario: Scenario, source: Source) -> Iterator[tuple[str, str]]:
    """(key, message) of every file that does not exist, and of those that a file leaves out: Python may add arrays yet."""
    for key, path in referenced_files(scenario, source.folder).items():
        name = key.partition(".")[0]
        file = path / METADATA if is_store(path) else path
        if source.held(name, getattr(scenario, name)) is None and (why := obstacle(file)):
            yield key, f"{why}: {path}"
    if source.name != PYTHON:
        yield from ((f"{name}.path", UNNAMED[name]) for name in unnamed(scenario, source))
