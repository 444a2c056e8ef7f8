"""Which instants of a run are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

import numpy as np

from ..scenario import Scenario

#: A logarithmic grid reaches back from its end, or forward from its first instant, by this factor.
LOG_SPAN = 1e6
#: Where no end is known, the first spacing of a linear grid is the first trial step times this.
OPEN_SPACING = 100.0


@dataclass
class Schedule:
    """Time 0, then a grid: linear (k spacing), logarithmic (spacing ratio^(k-1)), or every accepted step. Of kind
    "log10_time" instants are logarithms of times: -inf, then spacing + (k-1) ratio.

    With an open end the grid starts fine and is coarsened, every other instant dropped, whenever it would reach twice the
    wanted count, so that between `count` and 2 `count` evenly spaced instants remain at any time. Of descent whose end is
    known the grid is `listed`; fewer instants than wanted where there are no more iterations. So are instants of one's own:
    time 0, those before the end, and the end where it is known; of descent, the iterations nearest to these.
    """

    kind: str
    count: int
    end: float
    open_ended: bool
    spacing: float
    ratio: float = 1.0
    index: int = 0
    listed: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, scenario: Scenario, first_step: float, reading: str = "time") -> Schedule:
        observe, until = scenario.observe, scenario.flow.until
        end, open_ended = until.time or math.inf, scenario.open_ended
        if observe.listed:
            return cls._of_list(scenario, observe.listed)
        assert isinstance(observe.times, int)
        if scenario.flow.step is not None:
            return cls._of_descent(scenario, scenario.flow.step)
        if reading == "log10_time":
            first, last = math.log10(first_step), math.log10(LOG_SPAN)
            return cls(reading, observe.times, end, open_ended, first, last / max(observe.times - 2, 1))
        if observe.spacing == "log":
            first = first_step if open_ended else end / LOG_SPAN
            return cls("log", observe.times, end, open_ended, first, LOG_SPAN ** (1 / max(observe.times - 2, 1)))
        spacing = OPEN_SPACING * first_step if open_ended else end / (observe.times - 1)
        return cls(observe.spacing, observe.times, end, open_ended, spacing)

    @classmethod
    def _of_list(cls, scenario: Scenario, wanted: tuple[float, ...]) -> Schedule:
        end, step = scenario.flow.until.time or math.inf, scenario.flow.step
        instants = [0.0, *(time for time in wanted if 0 < time < end), *([end] if end < math.inf else [])]
        if step is not None:
            instants = [step * iteration for iteration in np.unique(np.rint(np.array(instants) / step)).tolist()]
        return cls("linear", len(instants), end, False, math.nan, listed=instants)

    @classmethod
    def _of_descent(cls, scenario: Scenario, step: float) -> Schedule:
        """The same grids on whole iterations, in which no iteration comes twice."""
        observe, time = scenario.observe, scenario.flow.until.time
        assert isinstance(observe.times, int)
        if scenario.open_ended or time is None:
            return cls(observe.spacing, observe.times, time or math.inf, True, step)
        last = round(time / step)
        wanted = np.zeros(1)
        if observe.spacing == "linear":
            wanted = np.linspace(0, last, min(observe.times, last + 1))
        elif observe.spacing == "log":
            wanted = np.append(wanted, np.geomspace(last, max(last / LOG_SPAN, 1.0), observe.times - 1))
        instants = [step * iteration for iteration in np.unique(np.rint(wanted)).tolist()]
        return cls(observe.spacing, len(instants), time, False, step, listed=instants)

    @property
    def every_step(self) -> bool:
        return self.kind == "solver"

    @property
    def next(self) -> float:
        """The next instant to keep: inf where there is none, or where it is whichever step comes next."""
        return self._instant(self.index)

    @cached_property
    def instants(self) -> list[float]:
        """All instants of a grid whose end is known."""
        return [self._instant(index) for index in range(self.count)]

    def ahead(self, most: int) -> list[float]:
        """The next instants to keep, at most so many, of those that come before `bound`."""
        if self.every_step:  # only time 0 is known ahead
            return [0.0][self.index :]
        if not self.open_ended:
            return self.instants[self.index : self.index + most]
        instants = (self._instant(index) for index in range(self.index, self.index + most))
        return [*takewhile(lambda instant: instant < self.bound, instants)]

    @property
    def bound(self) -> float:
        """The instant by which the grid has to be coarsened; inf where that will not be."""
        return self._instant(2 * self.count - 1) if self.open_ended and not self.every_step else math.inf

    def coarsen(self) -> None:
        """Leave out every other instant, the second first: 0, 2, 4, … are a grid of the same kind."""
        self.index = (self.index + 1) // 2
        if self.kind == "linear":
            self.spacing *= 2
        elif self.kind == "log10_time":
            self.spacing, self.ratio = self.spacing + self.ratio, 2 * self.ratio
        else:
            self.spacing *= self.ratio
            self.ratio **= 2

    def _instant(self, index: int) -> float:
        if index == 0:
            return -math.inf if self.kind == "log10_time" else 0.0
        if self.listed:
            return self.listed[index] if index < self.count else math.inf
        if self.every_step or (not self.open_ended and index >= self.count):
            return math.inf
        if not self.open_ended and index == self.count - 1:
            return self.end
        if self.kind == "log10_time":
            return self.spacing + (index - 1) * self.ratio
        if self.kind == "linear":
            return index * self.spacing
        try:
            return self.spacing * self.ratio ** (index - 1)
        except OverflowError:
            return math.inf
