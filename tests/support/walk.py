"""An integrator without any mathematics: one step is one unit of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flowsim.solve import Report, Snapshot


@dataclass
class Walk:
    """A neuron that grows by 1 in a unit of time, up to time `wall`, where the report is as `fields` say."""

    report_at: Callable[..., Report]
    wall: float = np.inf
    fields: dict[str, Any] = field(default_factory=dict)

    def begin(self) -> float:
        return 0.0

    def advance(self, time: float, stop: float, attempts: int) -> float:
        while time < stop and attempts and time < self.wall:
            time, attempts = time + 1, attempts - 1
        return time

    def report(self, time: float) -> Report:
        at_the_wall = self.fields if time >= self.wall else {}
        return self.report_at(time, **{"steps": int(time), "step_size": 1.0, **at_the_wall})

    def at(self, time: float, inside: float) -> Snapshot:
        assert time - 1 <= inside <= time, "an instant outside of the last step cannot be interpolated"
        size = np.array([inside])
        return Snapshot(inside, np.ones((1, 1)), size, np.ones(1), size)

    def now(self, time: float) -> Snapshot:
        return self.at(time, time)
