"""What a stop condition is: a key of `until`, and who watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .registry import Registry


class Watched(StrEnum):
    """Where a condition is looked at: in compiled code at every step, or at the instants that are kept."""

    TIME = "time"
    LOSS = "loss"
    ALIGNMENT = "alignment"
    STEPS = "steps"
    KEPT = "kept instants"


@dataclass(frozen=True)
class Stop:
    """annotation: the type of the key, as pydantic has it. description: of the key.

    level: of a condition in compiled code, its number as that compares it, such as the log of a loss.
    observable, value: of one at kept instants, the observable of no dims that is compared, by its name, or as a function of
    the instants (T,) -> (T,). falls: whether it is met at or below the number, rather than at or above.
    regains: of one at kept instants, observables of no dims, each over what it was where the first adversarial
    training ended; the smallest of these is compared.
    late: whether what it compares goes like the logarithm of time, where the loss has no end.
    of_neurons: whether it takes neurons. of_limit: whether it takes a flow that goes to a KKT point.
    """

    annotation: Any
    description: str
    watched: Watched = Watched.KEPT
    level: Callable[[float], float] = float
    observable: str = ""
    value: Callable[[Any], Any] | None = None
    falls: bool = True
    regains: tuple[str, ...] = ()
    late: bool = False
    of_neurons: bool = False
    of_limit: bool = False


#: key of `until` -> Stop
STOPS: Registry[Stop] = Registry("stop condition", "flowsim.kinds.stops", ("flow.until",))
