"""The text a scenario came from, and the line of each of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..kinds.network import Handed
from .arrays import Attached, outside

#: What messages call a scenario that no file holds.
PYTHON = "Scenario"

KeyPath = tuple[str | int, ...]


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


def locate(text: str) -> dict[KeyPath, int]:
    """Line of every key of a valid TOML text, by path: ``("data", "noise", "total")``, ``("stage", 1, "name")``.

    Tables, dotted keys, inline tables, arrays and arrays of tables are all followed.
    """
    import tomllib

    import tree_sitter
    import tree_sitter_toml

    tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language())).parse(text.encode())
    lines: dict[KeyPath, int] = {}
    latest: dict[KeyPath, int] = {}  # array of tables -> index of its latest element

    def names(node: tree_sitter.Node) -> tuple[str, ...]:
        if node.type == "dotted_key":
            return tuple(name for child in node.named_children for name in names(child))
        word = (node.text or b"").decode()
        return (next(iter(tomllib.loads(f"{word} = 0"))),) if node.type == "quoted_key" else (word,)

    def header(node: tree_sitter.Node, element: bool) -> KeyPath:
        """Path of a table's header; enclosing arrays of tables are entered at their latest element."""
        parts = names(node.named_children[0])
        path: KeyPath = ()
        for depth, name in enumerate(parts, start=1):
            path = (*path, name)
            if element and depth == len(parts):
                latest[path] = latest.get(path, -1) + 1
            if path in latest:
                path = (*path, latest[path])
        return path

    def value(node: tree_sitter.Node, path: KeyPath) -> None:
        if node.type == "inline_table":
            pairs(node, path)
        elif node.type == "array":
            elements = (child for child in node.named_children if child.type != "comment")
            for index, child in enumerate(elements):
                lines[(*path, index)] = child.start_point.row + 1
                value(child, (*path, index))

    def pairs(node: tree_sitter.Node, path: KeyPath) -> None:
        for pair in (child for child in node.named_children if child.type == "pair"):
            key, content = pair.named_children[:2]
            target = path
            for name in names(key):
                target = (*target, name)
                lines.setdefault(target, key.start_point.row + 1)
            value(content, target)

    pairs(tree.root_node, ())
    for node in tree.root_node.named_children:
        if node.type not in ("table", "table_array_element"):
            continue
        path = header(node, element=node.type == "table_array_element")
        for depth in range(1, len(path) + 1):
            lines.setdefault(path[:depth], node.start_point.row + 1)
        pairs(node, path)
    return lines
