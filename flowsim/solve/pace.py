"""How many steps to try before the host is asked again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .integrator import Integrator, Report

#: Wall seconds a compiled chunk should take: short enough for Ctrl-C, long enough to cost nothing.
CHUNK_SECONDS = 0.25
#: No chunk is longer than this, however fast the steps.
MOST_ATTEMPTS = 100_000


@dataclass
class Pace:
    """attempts: the steps to try next; one, until it is known how long one takes."""

    attempts: int = 1

    def advance(
        self, integrator: Integrator, carry: Any, report: Report, stop: float, most: int | None
    ) -> tuple[Any, Report]:
        """Advance by a chunk, as :meth:`Integrator.advance`, of at most so many steps and at least one; (carry, report).

        report: that of the carry until now.
        """
        attempts = self.attempts if most is None else max(min(self.attempts, most), 1)
        begun = time.monotonic()
        carry = integrator.advance(carry, stop, attempts)
        after = integrator.report(carry)
        seconds = max(time.monotonic() - begun, 1e-6)
        self.attempts = max(1, min(int((after.tried - report.tried) * CHUNK_SECONDS / seconds), MOST_ATTEMPTS))
        return carry, after
