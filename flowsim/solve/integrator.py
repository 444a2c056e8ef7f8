"""What the drive asks of an engine."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Floats
from .snapshot import Snapshot

#: What a report counts: the numbers that are kept with every instant.
COUNTS = ("steps", "rejections", "evaluations", "updates", "events", "step_size")


@dataclass(frozen=True)
class Report:
    """Where an integration stands. reached: the loss or alignment goal that is met, in words, or "". stalled: no further
    step is possible. finite: the last trial step had finite values. updates: velocities of a single neuron that were
    evaluated, events: changes of gates, both for fields with jumps. log10_time: where the loss clock runs. clock: the
    reading by which the schedule goes where that is not the time. unseparated: the loss will fall no further although a
    sample is on the wrong side. loss_clock_from: the time from which the loss clock has run, where it does. resting: what
    :class:`flowsim.solve.equilibrium.Rest` has found, in words, or ""."""

    time: float
    step_size: float
    steps: int
    rejections: int
    evaluations: int
    reached: str
    stalled: bool
    finite: bool
    updates: int = 0
    events: int = 0
    log10_time: float | None = None
    clock: float | None = None
    unseparated: bool = False
    loss_clock_from: float | None = None
    resting: str = ""

    @property
    def reading(self) -> float:
        """What instants are named by: the time, as far as that is a float, or the clock where the end's time is unknown."""
        return min(self.time, sys.float_info.max) if self.clock is None else self.clock

    @property
    def tried(self) -> int:
        """Steps, accepted or not."""
        return self.steps + self.rejections


class Integrator(Protocol):
    """An initial value problem made ready to step. The carry is opaque to all but the integrator."""

    @property
    def program(self) -> str:
        """The name of what has to be compiled, which others may share; "" where it is nothing."""

    def to_compile(self) -> float:
        """About how many seconds that will take; 0 where it is there."""

    def begin(self) -> Any:
        """The carry at time 0."""

    def advance(self, carry: Any, stop: float, attempts: int) -> Any:
        """Step until the reading is at or past `stop`, a goal is met, `attempts` steps were tried, or no step is
        possible. Fewer steps where they take longer than steps usually do."""

    def report(self, carry: Any) -> Report: ...

    def at(self, carry: Any, reading: float) -> Snapshot:
        """The state at a reading within the last accepted step."""

    def now(self, carry: Any) -> Snapshot: ...

    def save(self, carry: Any) -> dict[str, Any]:
        """Named arrays from which `restore` makes a carry that goes on as this one would."""

    def restore(self, saved: dict[str, Any]) -> Any: ...


@dataclass(frozen=True)
class Passed:
    """Instants that an integration has passed, at least one: its states there along a leading axis (T,), and numerics:
    name of COUNTS -> (T,), the report's number after the step that passed the instant."""

    snapshot: Snapshot
    numerics: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, instants: Sequence[tuple[Snapshot, Report]]) -> Passed:
        snapshots, reports = zip(*instants, strict=True)
        numerics = {name: np.array([getattr(report, name) for report in reports]) for name in COUNTS}
        return cls(Snapshot.stack(snapshots), numerics)

    @classmethod
    def join(cls, parts: Sequence[Passed]) -> Passed:
        """One after the other."""
        numerics = {name: np.concatenate([part.numerics[name] for part in parts]) for name in COUNTS}
        return cls(Snapshot.join([part.snapshot for part in parts]), numerics)

    def __len__(self) -> int:
        return len(self.snapshot.time)

    def __getitem__(self, part: slice) -> Passed:
        return Passed(self.snapshot[part], {name: values[part] for name, values in self.numerics.items()})


@dataclass(frozen=True)
class Inside:
    """An instant within a step. reading: what it is named by. log_loss: of what is trained on. lacking: what the nearest
    goal of loss or alignment lacks there, 0 or less where it is met."""

    snapshot: Snapshot
    reading: float
    log_loss: float
    lacking: float


@runtime_checkable
class Dense(Integrator, Protocol):
    """An integrator of a flow, which knows the state at any instant within a step. Descent has none between iterations."""

    def within(self, carry: Any, part: float) -> Inside:
        """At a part of the last accepted step, between 0 and 1."""

    def goal(self, log_loss: float) -> str:
        """The goal that is met, in words, known that one is."""

    def cautious(self, carry: Any, part: float) -> Any:
        """The carry with a part of the step that it would try next."""


@runtime_checkable
class Flying(Integrator, Protocol):
    """An integrator with a loop of its own through many instants, which does not come back to the host in between."""

    def through(self, carry: Any, instants: Floats, attempts: int, stopped: Booleans) -> Passed | None:
        """Change the carry in place: `advance` to each of the instants, which increase, one after the other, and keep the
        states there, until all are passed, as many steps were tried, a goal is met or no step is possible; what was passed.

        stopped (1,): set from another thread, it ends this soon.
        """
