"""Points put together to what one worker does at a time: points that differ in their seed alone fly as one ensemble."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from ..errors import FlowsimError
from ..kinds.plugins import files
from ..problem.operations import Work
from ..run.cost import COPIES, data_bytes, times
from ..run.prepare import Prepared
from ..scenario import Scenario, read
from .plan import Plan, Point

#: A batch is no more work than this, some seconds, or a single point where that is more …
BATCH_OPERATIONS = 2e11
#: … and no more points, or bytes kept, than these …
BATCH_POINTS, BATCH_BYTES = 250, 64 * 2**20
#: … nor more than one in so many of those that are left to a worker, so batches get smaller towards the end, when workers
#: would wait for the last of them …
SHARES = 4
#: … but no less than so much work, which a file and a message pay for, if each worker gets so many batches.
LEAST_OPERATIONS, LEAST_BATCHES = 4e10, 8
#: So many points are prepared for an estimate, but none whose data alone are larger.
SAMPLED, SAMPLED_BYTES = 8, 256 * 2**20


@dataclass(frozen=True)
class Estimate:
    """What a point takes, a mean over `sampled` of them: operations and seconds in all, where flows are reckoned with
    EVALUATIONS, and bytes that it keeps. memory: of the largest of them."""

    sampled: int
    operations: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True)
class Flight:
    """What is run at once: one point, or the members of an ensemble. values: of its scenario, an ensemble's array of seeds
    included. points: the SHA-256 of each member, in the order of its seeds."""

    values: Mapping[str, Any]
    points: tuple[str, ...]

    def alone(self) -> Iterator[Flight]:
        """Its points, each as a flight of its own."""
        seeds = self.values.get("seed")
        if not isinstance(seeds, list):
            yield self
            return
        for seed, point in zip(seeds, self.points, strict=True):
            yield Flight({**self.values, "seed": seed}, (point,))


@dataclass(frozen=True)
class Batch:
    """Flights that go to a worker together and whose results share a file. folder: what relative paths start from.
    plugins: path and content of the files that register kinds. suspect: whether it is a point of a batch that has killed
    its worker."""

    flights: tuple[Flight, ...]
    folder: str
    plugins: tuple[tuple[str, bytes], ...] = ()
    suspect: bool = False

    @property
    def points(self) -> tuple[str, ...]:
        return tuple(point for flight in self.flights for point in flight.points)

    def suspects(self) -> Iterator[Batch]:
        """Its points, each as a batch of its own."""
        for flight in self.flights:
            for single in flight.alone():
                yield Batch((single,), self.folder, self.plugins, suspect=True)


def estimate(plan: Plan, points: Sequence[Point]) -> Estimate:
    """Prepare some of the points, evenly chosen, and take means. Points that cannot be prepared count as nothing."""
    chosen = np.unique(np.linspace(0, len(points) - 1, min(SAMPLED, len(points))).astype(int))
    found: list[Estimate] = []
    for index in chosen:
        try:
            found.append(_of_one(read(plan.resolved(points[index]), plan.source)))
        except FlowsimError:
            continue
    if not found:
        return Estimate(0)
    operations, seconds, kept = (
        sum(getattr(one, name) for one in found) / len(found) for name in ("operations", "seconds", "bytes")
    )
    return Estimate(len(found), operations, seconds, kept, max(one.memory for one in found))


def _of_one(scenario: Scenario) -> Estimate:
    """Of a point; of large data without drawing them."""
    samples = float(getattr(scenario.data, "samples", None) or 0)
    features = scenario.data.stored_features(scenario.model.neurons if scenario.model.has_neurons else 0) or 0
    large = 8 * samples * features > SAMPLED_BYTES
    if large:
        work, kept, held = Work.of_drawn(scenario), BATCH_BYTES, int(8 * samples * features)
    else:
        prepared = Prepared(scenario)
        work, kept = Work.of(prepared.reduced), prepared.selection.bytes
        held = data_bytes(prepared.problem, prepared.reduced)
    parts, members = times(scenario.member(0), work), len(scenario.seeds)
    operations, seconds = (members * sum(getattr(part, name) for part in parts) for name in ("operations", "seconds"))
    return Estimate(1, operations, seconds, float(kept), float(held + COPIES * kept))


def batches(plan: Plan, points: Sequence[Point], of_each: Estimate, workers: int) -> list[Batch]:
    """All of these points, in their order as far as their families allow."""
    each = max(of_each.operations, 1.0)
    most = min(BATCH_POINTS, int(BATCH_OPERATIONS / each), int(BATCH_BYTES / max(of_each.bytes, 1.0)))
    least = min(int(LEAST_OPERATIONS / each), -(-len(points) // (LEAST_BATCHES * max(workers, 1))))

    def size(left: int) -> int:
        return max(min(max(-(-left // (SHARES * max(workers, 1))), least), most), 1)

    found: list[Batch] = []
    plugins = files()
    waiting: list[Flight] = []
    left = len(points)
    for flight in _flights(plan, points, size):
        if sum(len(other.points) for other in waiting) + len(flight.points) > size(left):
            found.append(Batch(tuple(waiting), str(plan.folder), plugins))
            left -= len(found[-1].points)
            waiting = []
        waiting.append(flight)
    found.append(Batch(tuple(waiting), str(plan.folder), plugins))
    return [batch for batch in found if batch.flights]


def _flights(plan: Plan, points: Sequence[Point], size: Callable[[int], int]) -> Iterator[Flight]:
    """size: how many may fly together, where so many are left."""
    left = len(points)
    families: dict[str, list[Point]] = {}
    for point in points:
        others = {key: value for key, value in point.values.items() if key != "seed"}
        families.setdefault(json.dumps(others, sort_keys=True), []).append(point)
    for family in families.values():
        if "seed" not in family[0].values:
            yield from (Flight(plan.resolved(point), (point.sha256,)) for point in family)
            left -= len(family)
            continue
        begin = 0
        while begin < len(family):
            together = family[begin : begin + size(left)]
            yield from _together(plan, together)
            begin += len(together)
            left -= len(together)


def _together(plan: Plan, family: Sequence[Point]) -> Iterator[Flight]:
    """As an ensemble where these points can be one, else one by one."""
    points = tuple(point.sha256 for point in family)
    values = {**plan.resolved(family[0]), "seed": [point.values["seed"] for point in family]}
    ensemble = Flight(values, points)
    if len(family) > 1 and _can_be_ensemble(values):
        yield ensemble
    else:
        yield from ensemble.alone()


def _can_be_ensemble(values: Mapping[str, Any]) -> bool:
    """wall_time would be that of all members together."""
    try:
        return Scenario.model_validate(values).flow.wall_time is None
    except ValidationError:
        return False
