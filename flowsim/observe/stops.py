"""Stop conditions that are watched at the instants that are kept."""

from __future__ import annotations

import numpy as np

from ..errors import UsageError
from ..kinds.stop import STOPS, Watched
from ..scenario.flow import Until
from .instant import Instant
from .observable import OBSERVABLES


def met(until: Until, instant: Instant) -> str:
    """The first condition that is met at a kept instant, an instant of many with one in it, in words; "" where none is.

    Raises UsageError where a condition gives no number.
    """
    for name, wanted in until.watched(Watched.KEPT).items():
        stop = STOPS[name]
        value = np.asarray((stop.value or OBSERVABLES[stop.observable].value)(instant), dtype=float)
        if value.size != 1:
            raise UsageError(f'the stop condition "{name}" gave an array of shape {value.shape[1:]}, not a number')
        if value.item() <= wanted if stop.falls else value.item() >= wanted:
            return f"{name} {wanted:g}"
    return ""
