"""From a TOML file and overrides to a validated scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import Issue, ScenarioError, UsageError
from .changes import Changes
from .edit import edited
from .explain import explain
from .files import missing_files
from .places import locate
from .reading import check_bounds, parsed, strange, text_of
from .scenario import Scenario, valid
from .source import Source


def load(
    path: str | PathLike[str], overrides: Mapping[str, Any] | None = None, *, unset: Iterable[str] = ()
) -> Scenario:
    """Read and validate a scenario file.

    overrides: dotted key -> value, e.g. ``{"data.noise.total": 0.2}``; None, or a key in `unset`, takes the key out of the
    file. Keys of a kind that an override leaves go with it, as in :meth:`flowsim.Scenario.replace`.
    Raises ScenarioError with every problem found, each with its file, line and key.
    """
    return load_changed(path, Changes(overrides or {}, tuple(unset)))


def loads(
    text: str,
    name: str = "",
    folder: str | PathLike[str] = "",
    overrides: Mapping[str, Any] | None = None,
    *,
    unset: Iterable[str] = (),
) -> Scenario:
    """The same from TOML text; `name` is what messages call it, `folder` where relative paths start."""
    return _loads(text, name, Path(folder), Changes(overrides or {}, tuple(unset)))


#: What a scenario may be given as: itself, a mapping of its sections, or the path of its file.
ScenarioLike = Scenario | Mapping[str, Any] | str | PathLike[str]


def as_scenario(source: ScenarioLike) -> Scenario:
    """The scenario that is meant. Raises ScenarioError where it is wrong, UsageError for what is none."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario(source)
    if isinstance(source, str | PathLike):
        return load(source)
    raise UsageError(f"a scenario is a flowsim.Scenario, the path of a file or a mapping, not {type(source).__name__}")


def load_changed(path: str | PathLike[str], changes: Changes) -> Scenario:
    """A scenario file with changes."""
    file = Path(path)
    return _loads(text_of(file), str(file), file.parent, changes)


def _loads(text: str, name: str, folder: Path, changes: Changes, files: bool = True) -> Scenario:
    values = parsed(text, name)
    return read_changed(values, Source(text, name, folder, locate(text)), changes, files)


def reread(text: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario whose text a result holds. The files that it names need not be there."""
    return _loads(text, "", Path(), Changes(overrides or {}), files=False)


def read(values: Mapping[str, Any], source: Source, files: bool = True) -> Scenario:
    """The scenario that plain values say. files: whether those that it names must be there.

    Raises ScenarioError with every problem found, placed by the source.
    """
    values = dict(values)
    complete = not any(strange(values))
    try:
        if complete:
            scenario = valid(values)
            complete = not (files and any(missing_files(scenario, source)))
    except ValidationError:
        complete = False
    if not complete:
        raise ScenarioError(explain(values, source, files))
    scenario._source = replace(source, values=values)
    return scenario


def read_changed(values: Mapping[str, Any], source: Source, changes: Changes, files: bool = True) -> Scenario:
    """The same with changes, also of the source's text."""
    paths = changes.paths()
    if not paths:
        return read(values, source, files)
    after = changes.apply(values)
    text = edited(source.text, after) if source.text else ""
    return read(after, replace(source, text=text, changed={**source.changed, **changes.places}), files)


def parse_assignment(text: str) -> tuple[str, Any]:
    """``a.b=value`` of the command line, as (key, value); a value that is not TOML is taken as a string."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ScenarioError([Issue("", f"{text!r} is not of the form section.key=value", "--set")])
    check_bounds(value, "--set")
    try:
        values = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()
    if len(values) > 1:
        raise ScenarioError([Issue(key.strip(), "takes one value, and this has more lines", "--set")])
    return key.strip(), values["value"]
