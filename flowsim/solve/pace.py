"""How many steps to try before the host is asked again."""

from __future__ import annotations

from dataclasses import dataclass

#: Wall seconds a compiled chunk should take: short enough for Ctrl-C, long enough to cost nothing.
CHUNK_SECONDS = 0.25
#: No chunk is longer than this, however fast the steps.
MOST_ATTEMPTS = 100_000


@dataclass
class Pace:
    """attempts: the steps to try next; one, until it is known how long one takes."""

    attempts: int = 1

    def note(self, tried: int, seconds: float) -> None:
        """Judge by the last chunk."""
        self.attempts = max(1, min(int(tried * CHUNK_SECONDS / max(seconds, 1e-6)), MOST_ATTEMPTS))
