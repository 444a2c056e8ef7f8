"""Where everything stands in a TOML text: tokens of any text, and the place of each key of a valid one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

KeyPath = tuple[str | int, ...]

#: A string that does not end is all that follows, so that no text is gone through twice.
TOKEN = re.compile(
    r"""
    (?P<gap>[ \t\r]+|\#[^\n]*)
  | (?P<string>\"{3}(?:\\.|[^\\])*?(?:\"{3}(?!\")|\Z)|'{3}.*?(?:'{3}(?!')|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'[^'\n]*(?:'|$))
  | (?P<word>[^\s\#"'\[\]{},=.]+)
  | (?P<mark>.|\n)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(NamedTuple):
    """kind: "string", "word" or "mark". start, end: offsets. line: from 1."""

    kind: str
    text: str
    start: int
    end: int
    line: int


def tokens(text: str) -> Iterator[Token]:
    """What stands between gaps and comments, ends of lines included."""
    line = 1
    for found in TOKEN.finditer(text):
        kind, content = str(found.lastgroup), found[0]
        if kind != "gap":
            yield Token(kind, content, *found.span(), line)
        line += content.count("\n")


@dataclass(frozen=True)
class Place:
    """line: of the key, the element or the header. start, end: offsets of the key and of its value, of an element, or of a
    header. value: offset at which the value begins. header: whether it is that of a table."""

    line: int
    start: int
    value: int
    end: int
    header: bool = False


def locate(text: str) -> dict[KeyPath, int]:
    """Line of every key of a valid TOML text, by path: ``("data", "noise", "total")``, ``("stage", 1, "name")``.

    Tables, dotted keys, inline tables, arrays and arrays of tables are all followed.
    """
    lines: dict[KeyPath, int] = {}
    for path, depth, place in places(text):
        for length in range(depth, len(path) + 1):
            lines.setdefault(path[:length], place.line)
    return lines


def places(text: str) -> Iterator[tuple[KeyPath, int, Place]]:
    """(path, length of the shortest part of it that stands here, place) of all headers, pairs and elements of arrays of a
    valid TOML text; what is inside of a value comes after that, and of it a pair of an inline table or an element."""
    return _Reader(text).document()


class _Reader:
    """Goes through the tokens of a valid text, from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = [*tokens(text), Token("mark", "", len(text), len(text), text.count("\n") + 1)]
        self._at = 0
        #: array of tables -> index of its latest element
        self._latest: dict[KeyPath, int] = {}

    def document(self) -> Iterator[tuple[KeyPath, int, Place]]:
        table: KeyPath = ()
        while (token := self._tokens[self._at]).text:
            if token.text == "\n":
                self._at += 1
            elif token.text == "[":
                table = self._header()
                yield table, 1, Place(token.line, token.start, token.start, self._tokens[self._at - 1].end, header=True)
            else:
                yield from self._pair(table)

    def _header(self) -> KeyPath:
        """Path of a header; enclosing arrays of tables are entered at their latest element."""
        is_element = self._tokens[self._at + 1].text == "["
        self._at += 1 + is_element
        names = self._names()
        self._at += 1 + is_element
        path: KeyPath = ()
        for depth, name in enumerate(names, start=1):
            path = (*path, name)
            if is_element and depth == len(names):
                self._latest[path] = self._latest.get(path, -1) + 1
            if path in self._latest:
                path = (*path, self._latest[path])
        return path

    def _names(self) -> list[str]:
        """The parts of a dotted key."""
        names = []
        while True:
            kind, text = self._tokens[self._at][:2]
            names.append(next(iter(tomllib.loads(f"{text} = 0"))) if kind == "string" else text)
            self._at += 1
            if self._tokens[self._at].text != ".":
                return names
            self._at += 1

    def _pair(self, table: KeyPath) -> Iterator[tuple[KeyPath, int, Place]]:
        first = self._tokens[self._at]
        path = (*table, *self._names())
        self._at += 1
        begin = self._tokens[self._at]
        inner = [*self._value(path)]
        yield path, len(table) + 1, Place(first.line, first.start, begin.start, self._tokens[self._at - 1].end)
        yield from inner

    def _value(self, path: KeyPath) -> Iterator[tuple[KeyPath, int, Place]]:
        opening = self._tokens[self._at]
        if opening.kind != "mark":
            while (token := self._tokens[self._at]).kind != "mark" or token.text == ".":
                self._at += 1  # 1.5 is three tokens, and a date with a space two
            return
        closing, index = {"{": "}", "[": "]"}[opening.text], 0
        self._at += 1
        while (token := self._tokens[self._at]).text != closing:
            if token.text in (",", "\n"):
                self._at += 1
            elif closing == "}":
                yield from self._pair(path)
            else:
                inner = [*self._value((*path, index))]
                last = self._tokens[self._at - 1]
                yield (*path, index), len(path) + 1, Place(token.line, token.start, token.start, last.end)
                yield from inner
                index += 1
        self._at += 1
