"""TOML from outside: texts within bounds, and their values."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..errors import Issue, ScenarioError
from ..gate import limit, obstacle, raised, size
from .places import TOKEN, KeyPath

#: TOML's integers have 64 bits; those without a sign are let through, for keys to say what they allow.
MOST = 2**64
#: A key and a value that is a word without quotes.
UNQUOTED = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*=\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?:#.*)?$")


def text_of(file: Path) -> str:
    """The text of a scenario file, its ends of lines as Python has them. Raises ScenarioError where it cannot be read."""
    why = obstacle(file)
    if why:
        _refuse(why, str(file))
    most = int(limit("scenario-bytes"))
    try:
        with file.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        _refuse(f"cannot be read: {error.strerror}", str(file))
    if len(content) > most:
        _too_large(file.stat().st_size, str(file))
    try:
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse("cannot be read: not a UTF-8 text file", f"{file}:{line}")


def parsed(text: str, name: str = "") -> dict[str, Any]:
    """The values of a TOML text. name: what messages call it. Raises ScenarioError where it is none, or beyond a bound."""
    name = name or "scenario"
    check_bounds(text, name)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_issue(error, name, text)]) from None
    except RecursionError:
        _refuse("nested deeper than this Python can follow", name)


def check_bounds(text: str, name: str) -> None:
    """Raise ScenarioError for a text beyond a bound: the library that reads TOML has none."""
    if len(text) > limit("scenario-bytes"):
        _too_large(len(text), name)
    depth, digits = limit("scenario-depth"), limit("scenario-digits")
    nested = dots = 0
    for token in TOKEN.finditer(text):
        kind, content = token.lastgroup, token[0]
        if kind == "word" and len(content) > digits:
            _refuse(
                f"{content[:12]}… has {len(content)} characters; a number or bare key has at most {digits:g}; "
                f"{raised('scenario-digits', len(content))} allows it",
                f"{name}:{_line(text, token.start())}",
            )
        if kind != "mark":
            continue
        nested += (content in "[{") - (content in "]}")
        dots = dots + 1 if content == "." else 0 if content in "\n=,{[" else dots
        if max(nested, dots + 1) > depth:
            _refuse(
                f"nested more than {depth:g} levels deep; {raised('scenario-depth', 2 * depth)} allows more",
                f"{name}:{_line(text, token.start())}",
            )


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def strange(values: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """(path, what is wrong) of values that no key of a scenario takes: dates, and integers of more bits than TOML has."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from strange(value, (*path, str(key)))
    elif isinstance(values, list | tuple):
        for index, value in enumerate(values):
            yield from strange(value, (*path, index))
    elif isinstance(values, int) and abs(values) >= MOST:
        yield path, f"an integer of {values.bit_length()} bits is not allowed; those of TOML have 64"
    elif isinstance(values, datetime.date | datetime.time):
        yield path, "a date or time is not allowed; write a string, number, boolean, array or table"


def _syntax_issue(error: tomllib.TOMLDecodeError, name: str, text: str) -> Issue:
    what, _, where = str(error).rpartition(" (at ")
    line = text.rstrip("\n").count("\n") + 1
    if where.startswith("line "):
        line = int(where.removeprefix("line ").split(",")[0])
    hint = _unquoted(text.split("\n")[line - 1])
    return Issue("", f"not valid TOML: {what or error}{hint}", f"{name}:{line}")


def _unquoted(line: str) -> str:
    """What was probably meant by a value that is a bare word; "" where there is none."""
    found = UNQUOTED.match(line)
    if not found:
        return ""
    key, word = found.groups()
    if word.lower() in ("true", "false"):
        return f"; in small letters: {key} = {word.lower()}"
    return f'; a text stands in quotes: {key} = "{word}"'


def _too_large(count: float, name: str) -> NoReturn:
    most = limit("scenario-bytes")
    _refuse(
        f"has {size(count)}; scenarios of up to {size(most)} are read; {raised('scenario-bytes', count)} allows it",
        name,
    )


def _refuse(message: str, place: str) -> NoReturn:
    raise ScenarioError([Issue("", message, place)])
