"""Which instants of a run are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .scenario import Scenario

#: A logarithmic grid reaches back from its end, or forward from its first instant, by this factor.
LOG_SPAN = 1e6
#: Where no end is known, the first spacing of a linear grid is the first trial step times this.
OPEN_SPACING = 100.0


@dataclass
class Schedule:
    """Time 0, then a grid: linear (k spacing), logarithmic (spacing ratio^(k-1)), or every accepted step.

    With an open end the grid starts fine; whenever twice the wanted count is kept, every other instant is dropped and
    the grid coarsened, so that between `count` and 2 `count` evenly spaced instants remain at any time.
    """

    kind: str
    count: int
    end: float
    open_ended: bool
    spacing: float
    ratio: float = 1.0
    index: int = 0

    @classmethod
    def of(cls, scenario: Scenario, first_step: float) -> Schedule:
        observe, until = scenario.observe, scenario.flow.until
        end, open_ended = until.time or math.inf, until.open_ended
        if observe.spacing == "log":
            first = first_step if open_ended else end / LOG_SPAN
            return cls("log", observe.times, end, open_ended, first, LOG_SPAN ** (1 / max(observe.times - 2, 1)))
        spacing = OPEN_SPACING * first_step if open_ended else end / (observe.times - 1)
        return cls(observe.spacing, observe.times, end, open_ended, spacing)

    @property
    def next(self) -> float:
        """The next instant to keep: inf where there is none, or where it is whichever step comes next."""
        if self.index == 0:
            return 0.0
        if self.kind == "solver" or (not self.open_ended and self.index >= self.count):
            return math.inf
        if not self.open_ended and self.index == self.count - 1:
            return self.end
        return self.index * self.spacing if self.kind == "linear" else self.spacing * self.ratio ** (self.index - 1)

    @property
    def every_step(self) -> bool:
        return self.kind == "solver"

    def advance(self) -> bool:
        """Count the next instant as kept; true where every other kept instant, the second first, is now to be dropped."""
        self.index += 1
        if not self.open_ended or self.every_step or self.index < 2 * self.count:
            return False
        self.index = self.count
        if self.kind == "linear":
            self.spacing *= 2
        else:  # instants 0, 2, 4, … of spacing ratio^(k-1) are again such a grid
            self.spacing *= self.ratio
            self.ratio **= 2
        return True
