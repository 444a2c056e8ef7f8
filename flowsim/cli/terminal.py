"""Messages to whoever started a command."""

from __future__ import annotations

import sys
from contextlib import suppress

from ..markup import visible


def say(message: str) -> None:
    """A line on standard error, where that can still be written to."""
    with suppress(OSError):
        print(visible(message), file=sys.stderr, flush=True)
