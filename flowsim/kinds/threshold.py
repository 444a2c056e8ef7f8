"""A threshold common to all neurons, which changes with time."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Threshold:
    """b(t) = min(start + growth t, cap), with noise of the standard deviation smoothing b(t), late_smoothing b(t) after the
    time `switch`.

    sampled: whether the noise is drawn for every sample, neuron and iteration of descent, rather than integrated out.
    """

    start: float
    growth: float = 0.0
    cap: float = inf
    smoothing: float = 0.0
    sampled: bool = False
    late_smoothing: float = 0.0
    switch: float = inf

    def at(self, time: Any) -> Any:
        """b at a time, or at many."""
        return np.minimum(self.start + self.growth * np.asarray(time), self.cap)

    def spread(self, time: Any) -> Any:
        """Standard deviation of the noise at a time."""
        return np.where(np.asarray(time) <= self.switch, self.smoothing, self.late_smoothing) * self.at(time)

    @property
    def constant(self) -> bool:
        """Whether one function of the input has it at all times."""
        return not (self.growth or self.sampled or self.switch < inf)

    @property
    def smooth(self) -> bool:
        """Whether there is noise at all times"""
        return self.smoothing > 0 and (self.late_smoothing > 0 or self.switch == inf)
