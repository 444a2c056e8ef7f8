"""What a run will take, before it does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..scenario import Scenario
from ..solve import Integrator, make
from ..threads import blas_threads, cores
from .prepare import Prepared

#: Evaluations that a flow is reckoned with before it has run; iterations of descent are known.
EVALUATIONS = 1500
#: What an evaluation takes beside its matrix products, in seconds.
BESIDE = 2e-5
#: How fast the products are is measured with so many operations, so often.
MEASURED, LOOKS = 50_000_000, 3


class Outlook(NamedTuple):
    """In seconds: compiling, 0 where all code is there, and then the run. programs: what has to be compiled. evaluations:
    those that the run is reckoned with."""

    programs: tuple[str, ...]
    compiling: float
    running: float
    evaluations: float


def outlook(prepared: Prepared) -> Outlook:
    """Of the order of what a run will take on this machine."""
    waits = {integrator.program: integrator.to_compile() for integrator in integrators(prepared)}
    missing = {name: seconds for name, seconds in waits.items() if seconds}
    scenario, count = prepared.scenario, evaluations(prepared.scenario.members[0])
    rounds = -(-len(scenario.members) // cores())
    return Outlook(tuple(missing), sum(missing.values()), rounds * count * _seconds(prepared), count)


def integrators(prepared: Prepared) -> Iterator[Integrator]:
    """Of each stage, none of which has begun."""
    for part, plan in zip(prepared.scenario.members[0].stages, prepared.plans, strict=True):
        yield make(part, prepared.reduced, plan)


def evaluations(scenario: Scenario) -> float:
    """Of all stages: of descent as many as there are iterations at most, of a flow as many as most flows take."""
    flows = [part.flow for part in scenario.stages]
    return sum(
        flow.until.steps or (flow.until.time / flow.step if flow.until.time else EVALUATIONS)
        if flow.step
        else EVALUATIONS
        for flow in flows
    )


def _seconds(prepared: Prepared) -> float:
    """Of an evaluation: its two matrix products are tried, with as many samples as is quick. Ordinary networks, whose
    functions may hold anything, are reckoned by what is beside the products."""
    inputs, direction = prepared.reduced.inputs, prepared.reduced.direction
    if not direction.size:
        return BESIDE
    rows = max(min(len(inputs), MEASURED // (4 * direction.size)), 1)
    few, found = inputs[:rows], np.inf
    with blas_threads(prepared.reduced.operations):
        for _ in range(LOOKS):
            begun = time.perf_counter()
            (few @ direction.T).T @ few
            found = min(found, time.perf_counter() - begun)
    return found * prepared.reduced.operations / (4 * rows * direction.size) + BESIDE
