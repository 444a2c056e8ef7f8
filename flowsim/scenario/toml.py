"""The canonical text of a scenario: the same values are the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: A table within a section is written in its line up to this length, and under a header of its own beyond it.
LINE = 100


def dumps(values: Mapping[str, Any]) -> str:
    """TOML text of plain values, keys in their order: sections under headers, what is small in them inline."""
    tables = {key: value for key, value in values.items() if _is_table(value)}
    lines = [*_pairs({key: value for key, value in values.items() if key not in tables})]
    for key, value in tables.items():
        for table in value if isinstance(value, list) else [value]:
            lines += ["", f"[[{spelt(key)}]]" if isinstance(value, list) else f"[{spelt(key)}]", *_section(key, table)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _section(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    long = {key: value for key, value in table.items() if isinstance(value, dict) and len(inline(value)) > LINE}
    yield from _pairs({key: value for key, value in table.items() if key not in long})
    for key, value in long.items():
        yield from ("", f"[{spelt(name)}.{spelt(key)}]", *_pairs(value))


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if _is_table(value) and isinstance(value, list):  # a line for each, as messages name lines
            yield from (f"{spelt(key)} = [", *(f"  {inline(item)}," for item in value), "]")
        else:
            yield f"{spelt(key)} = {inline(value)}"


def inline(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        pairs = ", ".join(f"{spelt(key)} = {inline(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return repr(value) if isinstance(value, int | float) else str(value.isoformat())  # dates


def spelt(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if BARE_KEY.fullmatch(name) else inline(name)
