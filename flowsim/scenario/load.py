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
from . import toml
from .changes import Changes, assign, remove
from .explain import explain
from .files import missing_files
from .scenario import Scenario, valid
from .source import KeyPath, Source, locate


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
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError([Issue("", "no such file", str(file))]) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
        raise ScenarioError([Issue("", f"cannot be read: {reason}", str(file))]) from None
    return _loads(text, str(file), file.parent, changes)


def _loads(text: str, name: str, folder: Path, changes: Changes, files: bool = True) -> Scenario:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_issue(error, name, text)]) from None
    return read_changed(values, Source(text, name, folder, locate(text)), changes, files)


def reread(text: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario whose text a result holds. The files that it names need not be there."""
    return _loads(text, "", Path(), Changes(overrides or {}), files=False)


def read(values: Mapping[str, Any], source: Source, files: bool = True) -> Scenario:
    """The scenario that plain values say. files: whether those that it names must be there.

    Raises ScenarioError with every problem found, placed by the source.
    """
    values = dict(values)
    try:
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
    text = _edited(source.text, paths, after) if source.text else ""
    return read(after, replace(source, text=text, changed={**source.changed, **changes.places}), files)


def _edited(text: str, paths: Mapping[KeyPath, Any], after: Mapping[str, Any]) -> str:
    """The text with its values changed to those after, its comments kept where that is possible."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    document = tomlkit.parse(text)
    try:
        for path, value in paths.items():
            if value is not None:
                assign(document, path, value, tomlkit.table)
        for path in _surplus(tomllib.loads(tomlkit.dumps(document)), after):
            remove(document, path)
        edited = tomlkit.dumps(document)
        kept = tomllib.loads(edited) == after
    except (TOMLKitError, ValueError, LookupError, TypeError):
        kept = False
    return edited if kept else toml.dumps(after)  # tomlkit cannot insert everywhere


def _surplus(values: Any, wanted: Any, path: KeyPath = ()) -> list[KeyPath]:
    """Paths of the keys that are not wanted."""
    if isinstance(values, dict) and isinstance(wanted, dict):
        gone = [(*path, key) for key in values if key not in wanted]
        return gone + [inner for key in wanted for inner in _surplus(values.get(key), wanted[key], (*path, key))]
    if isinstance(values, list) and isinstance(wanted, list):
        pairs = enumerate(zip(values, wanted, strict=False))
        return [inner for index, (value, other) in pairs for inner in _surplus(value, other, (*path, index))]
    return []


def parse_assignment(text: str) -> tuple[str, Any]:
    """``a.b=value`` of the command line, as (key, value); a value that is not TOML is taken as a string."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ScenarioError([Issue("", f"{text!r} is not of the form section.key=value", "--set")])
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _syntax_issue(error: tomllib.TOMLDecodeError, name: str, text: str) -> Issue:
    message = str(error)
    what, _, where = message.rpartition(" (at ")
    line = len(text.splitlines()) or 1
    if where.startswith("line "):
        line = int(where.removeprefix("line ").split(",")[0])
    return Issue("", f"not valid TOML: {what or message}", f"{name or 'scenario'}:{line}")
