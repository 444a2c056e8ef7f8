"""From a TOML file and overrides to a validated scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import Issue, ScenarioError
from .explain import explain
from .files import missing_files
from .scenario import Scenario
from .source import Source, locate


def load(path: str | PathLike[str], overrides: Mapping[str, Any] | None = None) -> Scenario:
    """Read and validate a scenario file.

    overrides: dotted key -> value, e.g. ``{"data.noise.total": 0.2}``; they become part of the scenario's text.
    Raises ScenarioError with every problem found, each with its file, line and key.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ScenarioError([Issue("", "no such file", str(file))]) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a UTF-8 text file"
        raise ScenarioError([Issue("", f"cannot be read: {reason}", str(file))]) from None
    return loads(text, name=str(file), folder=file.parent, overrides=overrides)


def loads(
    text: str, name: str = "", folder: str | PathLike[str] = "", overrides: Mapping[str, Any] | None = None
) -> Scenario:
    """The same from TOML text; `name` is what messages call it, `folder` where relative paths start."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_issue(error, name, text)]) from None
    return _validated(Source(text, name, Path(folder), locate(text)), raw, overrides or {})


def of_values(values: dict[str, Any], folder: str | PathLike[str] = "") -> Scenario:
    """The scenario with these values, as ``tomllib`` reads them; its text is written anew, without comments."""
    import tomlkit

    text = tomlkit.dumps(values)
    return _validated(Source(text, "", Path(folder), locate(text)), values, {})


def reread(text: str, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario whose text a result holds. The files that it names need not be there."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_issue(error, "", text)]) from None
    return _validated(Source(text, lines=locate(text)), raw, overrides or {}, files=False)


def with_seeds(scenario: Scenario, seeds: Iterable[int]) -> Scenario:
    """The scenario as an ensemble of these seeds, its text included. Raises ScenarioError where it cannot be one."""
    return _validated(scenario.source, tomllib.loads(scenario.source.text), {"seed": list(seeds)})


def _validated(source: Source, raw: dict[str, Any], overrides: Mapping[str, Any], files: bool = True) -> Scenario:
    """files: whether those that the scenario names must be there."""
    if overrides:
        source, raw = _override(source, raw, overrides)
    try:
        scenario = Scenario.model_validate(raw)
        complete = not (files and any(missing_files(scenario, source.folder)))
    except ValidationError:
        complete = False
    if not complete:
        raise ScenarioError(explain(raw, source, files))
    scenario._source = source
    return scenario


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


def _override(source: Source, raw: dict[str, Any], overrides: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """The source with its text changed and the values it then holds."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    values = deepcopy(raw)
    for key, value in overrides.items():
        _assign(values, key, _toml_value(key, value), dict)
    document = tomlkit.parse(source.text)
    try:
        for key, value in overrides.items():
            _assign(document, key, _toml_value(key, value), tomlkit.table)
        text = tomlkit.dumps(document)
        kept = tomllib.loads(text) == values
    except (TOMLKitError, ValueError):
        kept = False
    if not kept:  # tomlkit cannot insert everywhere; then the comments are lost, the values are not
        text = tomlkit.dumps(values)
    changed = frozenset(tuple(key.split(".")) for key in overrides)
    return replace(source, text=text, overridden=source.overridden | changed), values


def _assign(table: Any, key: str, value: Any, new_table: Callable[[], Any]) -> None:
    *parents, last = key.split(".")
    for part in parents:
        if part not in table:
            table[part] = new_table()
        table = table[part]
        if not isinstance(table, MutableMapping):
            raise ScenarioError([Issue(key, f"{part} is not a table", "--set")])
    table[last] = value


def _toml_value(key: str, value: Any) -> Any:
    """The value in types that TOML has; NumPy's numbers and arrays become Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _toml_value(key, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_toml_value(key, item) for item in value]
    if isinstance(value, str | bool | int | float):
        return value
    raise ScenarioError([Issue(key, f"{value!r} is not a string, number, boolean, array or table", "--set")])
