"""From a TOML file and overrides to a validated scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import Issue, ScenarioError
from .data import CENTERS
from .explain import explain
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
    source = Source(text, name, Path(folder), locate(text))
    if overrides:
        source = _override(source, overrides)
        raw = tomllib.loads(source.text)
    try:
        scenario = Scenario.model_validate(raw)
    except ValidationError as error:
        raise ScenarioError(explain(error, raw, source)) from None
    scenario._source = source
    _check_paths(scenario)
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


def _override(source: Source, overrides: Mapping[str, Any]) -> Source:
    import tomlkit

    document = tomlkit.parse(source.text)
    for key, value in overrides.items():
        *parents, last = key.split(".")
        table: Any = document
        for part in parents:
            if part not in table:
                table[part] = tomlkit.table()
            table = table[part]
            if not isinstance(table, MutableMapping):
                raise ScenarioError([Issue(key, f"{part} is not a table", "--set")])
        table[last] = value
    text = tomlkit.dumps(document)
    changed = frozenset(tuple(key.split(".")) for key in overrides)
    return replace(source, text=text, overridden=changed)


def _check_paths(scenario: Scenario) -> None:
    problems = []
    for key, path in referenced_files(scenario).items():
        if not path.is_file():
            problems.append((key, f"no such file: {path}"))
    if problems:
        raise scenario.error(*problems)


def referenced_files(scenario: Scenario) -> dict[str, Path]:
    """The files a scenario reads, by the key that names them."""
    data = scenario.data
    if data.kind == "table":
        return {"data.path": scenario.source.folder / data.path}
    if data.kind == "gaussian_mixture" and data.centers not in CENTERS:
        return {"data.centers": scenario.source.folder / data.centers}
    return {}
