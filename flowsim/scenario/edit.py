"""Changes of a TOML text that leave its comments where they are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import toml
from .places import KeyPath, Place, places


class _Change(NamedTuple):
    """What stands from start to end becomes another text."""

    start: int
    end: int
    text: str


def edited(text: str, after: Mapping[str, Any]) -> str:
    """The text of these values: the given one with what differs changed, or a new one where that would not say the same."""
    found = {path: place for path, _, place in places(text)}
    changes = [*_changes(text, tomllib.loads(text), after, found)]
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    try:
        return text if tomllib.loads(text) == after else toml.dumps(after)
    except tomllib.TOMLDecodeError:
        return toml.dumps(after)


def _changes(
    text: str, before: Mapping[str, Any], after: Mapping[str, Any], found: Mapping[KeyPath, Place], path: KeyPath = ()
) -> Iterator[_Change]:
    """Of a table at a path."""
    for key, value in before.items():
        place, here = found.get((*path, key)), (*path, key)
        if key not in after:
            yield from _removed(text, found, here)
        elif isinstance(value, dict) and isinstance(after[key], dict) and _inside(found, here):
            yield from _changes(text, value, after[key], found, here)
        elif value != after[key] and place is not None:
            yield _Change(place.value, place.end, toml.inline(after[key]))
    added = {key: value for key, value in after.items() if key not in before}
    if added:
        yield _added(text, found, path, added)


def _inside(found: Mapping[KeyPath, Place], path: KeyPath) -> bool:
    """Whether something in a table stands at a place of its own, so that the table need not be written as a whole."""
    return any(len(other) > len(path) and other[: len(path)] == path for other in found)


def _removed(text: str, found: Mapping[KeyPath, Place], path: KeyPath) -> Iterator[_Change]:
    """The lines of what stands at a path and in it; where others share them, the result says something else."""
    for other, place in found.items():
        if other[: len(path)] == path and not _within_another(found, other, path):
            begin, end = text.rfind("\n", 0, place.start) + 1, text.find("\n", place.end)
            yield _Change(begin, len(text) if end < 0 else end + 1, "")


def _within_another(found: Mapping[KeyPath, Place], path: KeyPath, top: KeyPath) -> bool:
    """Whether a place is in that of an enclosing key, up to the one at the top."""
    enclosing = (found.get(path[:length]) for length in range(len(top), len(path)))
    return any(place is not None and not place.header for place in enclosing)


def _added(text: str, found: Mapping[KeyPath, Place], path: KeyPath, added: Mapping[str, Any]) -> _Change:
    """New keys of a table: below its header, in its braces, at the beginning, or as tables at the end."""
    place = found.get(path)
    if path and place is None:  # a table that dotted keys speak of
        return _Change(
            0, 0, "".join(f"{_dotted((*path, key))} = {toml.inline(value)}\n" for key, value in added.items())
        )
    if path and place is not None and place.header:
        end = text.find("\n", place.end)
        lines = "".join(f"{toml.spelt(key)} = {toml.inline(value)}\n" for key, value in added.items())
        return _Change(len(text), len(text), f"\n{lines}") if end < 0 else _Change(end + 1, end + 1, lines)
    if path and place is not None:
        inner = ", ".join(f"{toml.spelt(key)} = {toml.inline(value)}" for key, value in added.items())
        separator = ", " if any(len(other) == len(path) + 1 for other in found if other[: len(path)] == path) else " "
        return _Change(place.value + 1, place.value + 1, f" {inner}{separator.rstrip()}")
    tables = {key: value for key, value in added.items() if isinstance(value, dict)}
    if tables == dict(added):
        return _Change(
            len(text), len(text), ("" if text.endswith("\n") or not text else "\n") + "\n" + toml.dumps(added)
        )
    return _Change(0, 0, "".join(f"{toml.spelt(key)} = {toml.inline(value)}\n" for key, value in added.items()))


def _dotted(path: KeyPath) -> str:
    return ".".join(toml.spelt(str(part)) for part in path)
