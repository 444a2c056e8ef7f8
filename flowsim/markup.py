"""Texts of others where they are shown: on a terminal, and in small pieces of HTML. Whatever is text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape as of_html

#: What moves the cursor, turns the direction of what follows, or is no character at all: all control characters but ends of
#: lines and tabs.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with its control characters written out, such as ``\\x1b``: a terminal would obey them."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def escape(text: str) -> str:
    """A text of a page."""
    return of_html(visible(text))


def table(header: Sequence[str], rows: Iterable[Sequence[object]], attributes: str = "") -> str:
    """A table whose first column names its rows; other cells repeat their heading in `data-label`, for narrow screens."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{_cells(header, row)}</tr>" for row in rows)
    return f"<table{attributes and ' ' + attributes}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(header: Sequence[str], row: Sequence[object]) -> str:
    first, *others = (escape(str(cell)) for cell in row)
    cells = (f'<td data-label="{escape(name)}">{cell}</td>' for name, cell in zip(header[1:], others, strict=True))
    return f'<th scope="row">{first}</th>{"".join(cells)}'


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """A list of names and what they are."""
    pairs = (f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>" for name, value in rows)
    return f"<dl>{''.join(pairs)}</dl>"


def folded(summary: str, text: str) -> str:
    """Preformatted text that a click unfolds."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"
