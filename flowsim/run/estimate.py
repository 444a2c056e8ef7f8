"""How long a run will take, measured on this machine as far as that is quick."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..problem.operations import Part, Work
from ..solve import Integrator, make
from ..threads import blas_threads, cores
from .cost import evaluate_times, evaluations, flow_times
from .prepare import Prepared

#: Operations of a measurement, and how many measurements.
MEASURED, LOOKS = 50_000_000, 3


class Outlook(NamedTuple):
    """Predicted seconds: of compiling, of each stage, of each key of [evaluate].

    programs: what has to be compiled. evaluations: how many the prediction assumes. work: of one evaluation of a member.
    """

    programs: tuple[str, ...]
    compiling: float
    stages: dict[str, float]
    evaluating: dict[str, float]
    evaluations: float
    work: Work

    @property
    def running(self) -> float:
        return sum(self.stages.values())


def outlook(prepared: Prepared) -> Outlook:
    """Predict how long a run takes on this machine, to an order of magnitude."""
    waits = {integrator.program: integrator.to_compile() for integrator in integrators(prepared)}
    missing = {name: seconds for name, seconds in waits.items() if seconds}
    member, work = prepared.scenario.member(0), Work.of(prepared.reduced)
    measured = replace(work, speed=_speed(prepared)) if prepared.reduced.direction.size else work
    rounds = -(-len(prepared.scenario.members) // cores())
    stages = _summed(flow_times(member, measured), rounds)
    evaluating = _summed(evaluate_times(member, work), rounds)
    return Outlook(tuple(missing), sum(missing.values()), stages, evaluating, evaluations(member), work)


def _summed(parts: Iterable[Part], rounds: int) -> dict[str, float]:
    """name -> seconds of all parts of that name, times rounds"""
    found: dict[str, float] = {}
    for part in parts:
        found[part.name] = found.get(part.name, 0.0) + rounds * part.seconds
    return found


def integrators(prepared: Prepared) -> Iterator[Integrator]:
    """The integrator of each stage, before its beginning."""
    for part, plan in zip(prepared.scenario.member(0).stages, prepared.plans, strict=True):
        yield make(part, prepared.reduced, plan)


def _speed(prepared: Prepared) -> float:
    """Operations in a second, for a network with neurons: its two matrix products are timed with some of the samples."""
    inputs, direction = prepared.reduced.stored, prepared.reduced.direction
    rows = max(min(len(inputs), MEASURED // (4 * direction.size)), 1)
    few, found = inputs[:rows], np.inf
    with blas_threads(prepared.reduced.operations):
        for _ in range(LOOKS):
            begun = time.perf_counter()
            (few @ direction.T).T @ few
            found = min(found, time.perf_counter() - begun)
    return float(4 * rows * direction.size / found)
