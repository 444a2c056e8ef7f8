"""Doctored cases: for each claim a run, state or network on which its verdict has to change.

`mutations/PAPER.py` has MUTATIONS, theorem or theorem.part -> Mutation. A case is made once for all of a paper's claims,
and doctored by changing arrays, so that a mutation costs no run. `tests/unit/papers/test_mutations.py` goes through the
registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

import flowsim
from flowsim.evaluate.claim import Claim
from flowsim.observe import Setting
from flowsim.papers import Evidence
from flowsim.problem import reduce


@dataclass(frozen=True)
class Mutation:
    """case: makes what the claim has the verdict `before` of; use functools.cache. doctored: the same, in which it has to
    have the verdict `after`. claimed: of a statement about everything, which no run can break, another statement in its
    place."""

    case: Callable[[], Evidence]
    doctored: Callable[[Evidence], Evidence]
    before: str = "holds"
    after: str = "fails"
    claimed: Callable[[Claim], Claim] = lambda claim: claim

    def __post_init__(self) -> None:
        assert self.before != self.after, "a mutation changes the verdict"


def case(text: str, **overrides: Any) -> Evidence:
    """The run of a scenario as claims see it; keyword `data__samples=8` overrides the key `data.samples`."""
    changed = {key.replace("__", "."): value for key, value in overrides.items()}
    scenario = flowsim.loads(text, overrides=changed)
    return evidence_of(flowsim.run(scenario), scenario)


def evidence_of(run: xr.DataTree, scenario: flowsim.Scenario) -> Evidence:
    setting = Setting(reduce(flowsim.build(scenario)))
    return Evidence(scenario, setting, run.to_dataset(), scenario.flow.step)


def told(evidence: Evidence, **variables: Any) -> Evidence:
    """The same run with variables, or coordinates, of its trajectory told otherwise; what was reckoned is forgotten."""
    trajectory = evidence.trajectory.copy()
    for name, values in variables.items():
        array = trajectory[name]
        trajectory[name] = (array.dims, np.broadcast_to(np.asarray(values), array.shape).copy(), array.attrs)
    return replace(evidence, trajectory=trajectory, known={})


def until(evidence: Evidence, time: float) -> Evidence:
    """The same run, stopped at this time"""
    trajectory = evidence.trajectory
    kept = {
        dim: np.flatnonzero(trajectory[dim].values <= time) for dim in ("time", "snapshot") if dim in trajectory.dims
    }
    return replace(evidence, trajectory=trajectory.isel(kept), known={})


def thinned(evidence: Evidence, index: Any) -> Evidence:
    """The same run, of which only these instants were kept, and those of its kept weights that were kept there"""
    trajectory = evidence.trajectory.isel(time=index)
    if "snapshot" in trajectory.dims:
        there = np.isin(trajectory["snapshot"].values, trajectory["time"].values)
        trajectory = trajectory.isel(snapshot=np.flatnonzero(there))
    return replace(evidence, trajectory=trajectory, known={})


def of_problem(evidence: Evidence, **changes: Any) -> Evidence:
    """The same run of another problem: its samples' arrays, such as stored (n, d), told otherwise"""
    problem = evidence.problem
    other = replace(problem, samples=replace(problem.samples, **changes))
    return replace(evidence, setting=Setting(reduce(other)), known={})


def asking(evidence: Evidence, **overrides: Any) -> Evidence:
    """The same run, whose scenario says other keys, as premises see it"""
    changed = {key.replace("__", "."): value for key, value in overrides.items()}
    return replace(evidence, scenario=evidence.scenario.replace(changed), known={})
