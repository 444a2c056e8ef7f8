"""What the drive asks of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .snapshot import Snapshot


@dataclass(frozen=True)
class Report:
    """Where an integration stands. reached: the loss or alignment goal that is met, in words, or "". stalled: no further
    step is possible. finite: the last trial step had finite values. events: changes of gates, for fields with jumps."""

    time: float
    step_size: float
    steps: int
    rejections: int
    evaluations: int
    events: int
    reached: str
    stalled: bool
    finite: bool


class Integrator(Protocol):
    """An initial value problem made ready to step. The carry is opaque to all but the integrator."""

    def begin(self) -> Any:
        """The carry at time 0."""

    def advance(self, carry: Any, stop: float, attempts: int) -> Any:
        """Step until the time is at or past `stop`, a goal is met, `attempts` steps were tried, or no step is possible."""

    def report(self, carry: Any) -> Report: ...

    def at(self, carry: Any, time: float) -> Snapshot:
        """The state at a time within the last accepted step."""

    def now(self, carry: Any) -> Snapshot: ...

    def save(self, carry: Any) -> dict[str, Any]:
        """Named arrays from which `restore` makes a carry that goes on as this one would."""

    def restore(self, saved: dict[str, Any]) -> Any: ...
