"""Predictions of the memory, disk and time that a run takes; what cannot fit is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from ..errors import UsageError
from ..gate import disk_limit, duration, limit, raised, size
from ..problem import Problem, Reduced
from ..problem.operations import Part, Work
from ..scenario import Scenario
from ..scenario.flow import Flow, Stage

#: Evaluations that a prediction assumes for a flow. Iterations of descent are known.
EVALUATIONS = 1500
#: A certified run has a companion, which makes somewhat more evaluations than itself.
CERTIFIED = 2.2
#: What is kept is in memory twice while it is laid out and written.
COPIES = 2


def evaluations(scenario: Scenario) -> float:
    """Evaluations of all stages: the iterations of descent, EVALUATIONS for a flow; of a certified run those of its
    companion, too."""
    runs = CERTIFIED if scenario.certified else 1.0
    return runs * sum(map(_evaluations, (part.flow for part in scenario.stages)))


def times(scenario: Scenario, work: Work) -> list[Part]:
    """How long the parts of one member take: each stage, and what [evaluate] asks for."""
    return [*flow_times(scenario, work), *evaluate_times(scenario, work)]


def evaluate_times(scenario: Scenario, work: Work) -> list[Part]:
    """How long what [evaluate] asks for takes, for one member."""
    if not scenario.evaluate.anything:
        return []
    # attacks, papers and optimisers, which other runs do without
    from ..evaluate.durations import times as of_evaluate

    return [*of_evaluate(scenario, work)]


def flow_times(scenario: Scenario, work: Work) -> Iterator[Part]:
    """How long each stage takes, for one member."""
    for key, flow in scenario.flows():
        name, steps, copies = "flow", 0, 1
        if isinstance(flow, Stage):
            name = flow.name
            steps = flow.attack.iterations if flow.attack is not None else 0
            copies = flow.noise.draws if flow.noise is not None else 1
        count, whole = _evaluations(flow) * (CERTIFIED if scenario.certified else 1.0), work.samples
        keys = {f"{key}.{'iterations' if flow.iterations else 'until'}": count}
        keys |= {f"{key}.attack.steps": float(steps)} if steps else {}
        keys |= {f"{key}.noise.draws": float(copies)} if copies > 1 else {}
        seen = flow.batch or whole
        part = work.gradients(name, count * (1 + steps), copies * (seen if flow.fresh else min(seen, whole)), keys)
        yield part if flow.wall_time is None else _within(part, flow.wall_time)


def data_bytes(problem: Problem, reduced: Reduced) -> int:
    """Bytes of the samples, of training and of test."""
    samples = problem.samples
    held = [samples.stored, *([reduced.stored] if reduced.stored is not samples.stored else [])]
    if problem.test is not None:
        held.append(problem.test.stored)
    return sum(stored.nbytes for stored in held)


def check_cost(scenario: Scenario, reduced: Reduced, kept: int) -> None:
    """Raise ScenarioError where a run would take longer than its limit, or more memory than there is.

    kept: bytes of the trajectory.
    """
    most, count = limit("seconds"), len(scenario.seeds)
    parts = times(scenario.member(0), Work.of(reduced))
    in_all = count * sum(part.seconds for part in parts)
    if in_all > most:
        raise scenario.error(*_too_long(parts, count, in_all, most))
    available = limit("memory")
    if COPIES * kept > available:
        told = f"what is kept takes {size(COPIES * kept)} while it is written, and {size(available)} of memory is available"
        raise scenario.error(("observe.times", f"{told}; keep fewer instants, observe.snapshots or observe.variables"))


def check_disk(kept: float, place: Path, what: str, advice: str) -> None:
    """Raise UsageError where a folder's disk has no room for so many bytes. what, advice: parts of the message."""
    room = disk_limit(place)
    if kept > room:
        raise UsageError(
            f"{what} would write {size(kept)}, and {size(room)} are free in {place.absolute()}; {advice}, "
            f"or write elsewhere; {raised('disk', kept)} tries it all the same"
        )


def _evaluations(flow: Flow) -> float:
    step, until = flow.step, flow.until
    if not step:
        return EVALUATIONS
    return float(until.steps or (until.time / step if until.time else EVALUATIONS))


def _within(part: Part, seconds: float) -> Part:
    """The part, cut short after so many seconds."""
    share = min(1.0, seconds / part.seconds)
    return Part(part.name, share * part.operations, share * part.seconds, part.keys)


def _too_long(parts: list[Part], count: int, in_all: float, most: float) -> Iterator[tuple[str, str]]:
    """(key, message) for each part that alone takes too long; if none does, for the longest one."""
    longest = {part.name: part for part in sorted(parts, key=lambda part: part.seconds)}
    alone = [part for part in longest.values() if count * part.seconds > most]
    for part in alone or [max(parts, key=lambda part: part.seconds)]:
        seconds = count * part.seconds
        left = most if alone else most - (in_all - seconds)
        fits = math.floor(part.keys[part.key] * left / seconds)
        advice = f"; at most about {fits:.3g} fits" if fits > 0 else ""
        of_all = "" if alone else f" of {duration(in_all)} in all"
        yield (
            part.key,
            f"would take of the order of {duration(seconds)}{of_all}, and {duration(most)} is the limit{advice}, "
            f"or {raised('seconds', in_all)}",
        )
