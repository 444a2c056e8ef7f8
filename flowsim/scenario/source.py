"""The text a scenario came from, and the line of each of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..kinds.network import Handed
from .arrays import Attached, outside
from .places import KeyPath

#: What messages call a scenario that no file holds.
PYTHON = "Scenario"


def path_of(key: str) -> KeyPath:
    """The path that a dotted key names: ``a.b[1]`` is ("a", "b", 1), and ``a."b.c"`` is ("a", "b.c")."""
    parts = re.findall(r'"[^"]*"|[^.\[\]]+|\[\d+\]', key)
    return tuple(int(part[1:-1]) if part.startswith("[") else part.strip('"') for part in parts)


@dataclass(frozen=True)
class Source:
    """text: TOML with its comments, changes included; "" where there is none. values: the same as plain values, or those
    that were given from Python. name: how messages call it. folder: what relative paths start from. lines: key path ->
    line. changed: key path -> what set it in place of the file, such as ``--set``. arrays: section -> what it has in place
    of a file. handed: the network, where Python has handed over its function."""

    text: str = ""
    name: str = ""
    folder: Path = field(default_factory=Path)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    changed: Mapping[KeyPath, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Attached] = field(default_factory=dict)
    handed: Handed | None = None

    def held(self, name: str, section: Any) -> Attached | None:
        """What the section of this name has in place of what it would read."""
        found = self.arrays.get(name)
        return found if found is not None and found.stands_for == outside(section) else None

    def place(self, key: Sequence[str | int]) -> str:
        """``file.toml:LINE`` of the key, or of the closest enclosing key that the file has; what set it otherwise."""
        path = tuple(key)
        for changed, by in self.changed.items():
            if path[: len(changed)] == changed or changed[: len(path)] == path:
                return by
        if self.name in ("", PYTHON):
            return self.name
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"
