"""The papers: their ideal classifiers, their predictions, and how a run is held against them."""

from __future__ import annotations

from collections.abc import Iterable

import xarray as xr

from ..evaluate.case import Result, reopened
from ..evaluate.claim import CLAIMS, Claim, evidence_of, followed
from ..evaluate.evidence import Evidence
from ..evaluate.findings import held_against
from ..kinds.registry import import_modules
from ..threads import blas_threads
from .relu import distance_up_to_scale, relu_network

import_modules(__name__)

__all__ = [
    "CLAIMS",
    "Claim",
    "Evidence",
    "distance_up_to_scale",
    "evaluate",
    "followed",
    "held_against",
    "relu_network",
]


def evaluate(result: Result, claims: Iterable[str] = (), *, seed: int | None = None) -> xr.Dataset:
    """Hold the result of a run against claims, along dimension `claim`.

    claims: names of papers or theorems, such as "li_2025" or "li_2025.theorem_4_5"; by default those of its scenario.
    seed: the member of an ensemble. Raises ScenarioError where a name is unknown.
    """
    chosen = list(claims)
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        scenario = case.asking({"evaluate.claims": chosen} if chosen else {})
        evidence = evidence_of(scenario, case.setting, case.trajectory)
        return held_against(CLAIMS, scenario.evaluate.claims, evidence)
