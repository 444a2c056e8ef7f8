"""Messages to whoever started a command, and colour where a terminal shows it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import partial
from typing import TextIO

from ..markup import visible

GREEN, YELLOW, RED, BOLD = "32", "33", "31", "1"
#: Pattern -> the colour of its group. Lines are those of `flowsim run`, `show` and `check`, and of what is wrong.
COLOURS = {
    re.compile(pattern, re.MULTILINE): colour
    for pattern, colour in (
        (r"^status +(done)\b", GREEN),
        (r"^status +(running|evaluating|interrupted)\b", YELLOW),
        (r"^status +(?!done|running|evaluating|interrupted)(\w+)", RED),
        (r"^  [\w.]+: (holds)\b", GREEN),
        (r"^  [\w.]+: (not_covered|vacuous|outside|not_applicable)\b", YELLOW),
        (r"^  [\w.]+: (fails)\b", RED),
        (r"^(warning|remedy)\b", YELLOW),
        (r"^([^\s:]+\.toml:\d+: \S+)(?=: )", BOLD),
    )
}


def say(message: str) -> None:
    """A line on standard error, where that can still be written to."""
    with suppress(OSError):
        print(shown(message, sys.stderr), file=sys.stderr, flush=True)


def shown(text: str, stream: TextIO) -> str:
    """A text as this stream shows it: without control characters, and in colour on a terminal, unless NO_COLOR is set."""
    text = visible(text)
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    for pattern, colour in COLOURS.items():
        text = pattern.sub(partial(_painted, colour), text)
    return text


def _painted(colour: str, found: re.Match[str]) -> str:
    begin, end = (place - found.start() for place in found.span(1))
    whole = found[0]
    return f"{whole[:begin]}\x1b[{colour}m{whole[begin:end]}\x1b[0m{whole[end:]}"
