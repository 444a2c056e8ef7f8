"""The papers: their ideal classifiers, their predictions, and how a run is held against them."""

from __future__ import annotations

from collections.abc import Iterable

import xarray as xr

from ..analysis.case import Result, reopened
from ..engine.threads import blas_threads
from ..observe import Setting
from ..scenario import Scenario
from . import (
    allen_zhu_li_2022,
    allen_zhu_li_2022_linf,
    allen_zhu_li_2022_perturbations,
    frei_2022,
    frei_vardi_2023,
    li_2025,
    min_vidal_2025,
)
from .claim import Claim, held_against, selected
from .evidence import Evidence
from .relu import distance_up_to_scale, relu_network

#: paper.theorem or paper.theorem.part -> Claim. A claim is one entry in its paper's CLAIMS; the name of its theorem stands
#: in scenario/evaluate.py.
CLAIMS: dict[str, Claim] = {
    f"{paper}.{name}": claim
    for paper, claims in (
        ("allen_zhu_li_2022", allen_zhu_li_2022.CLAIMS),
        ("allen_zhu_li_2022", allen_zhu_li_2022_linf.CLAIMS),
        ("allen_zhu_li_2022", allen_zhu_li_2022_perturbations.CLAIMS),
        ("frei_2022", frei_2022.CLAIMS),
        ("frei_vardi_2023", frei_vardi_2023.CLAIMS),
        ("li_2025", li_2025.CLAIMS),
        ("min_vidal_2025", min_vidal_2025.CLAIMS),
    )
    for name, claim in claims.items()
}

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


def followed(scenario: Scenario) -> tuple[str, ...]:
    """The observables that a scenario's [evaluate] looks at: the sizes of the weights, and what each claim follows over
    time."""
    claims = selected(CLAIMS, scenario.evaluate.claims).values()
    names = [name for claim in claims for name in claim.observables]
    evaluate = scenario.evaluate
    if not claims and evaluate.distance is None and evaluate.robustness is None:
        return ()
    return tuple(dict.fromkeys(["log_norm", "output_weight", *names]))


def evidence_of(scenario: Scenario, setting: Setting, trajectory: xr.Dataset) -> Evidence:
    """A run as claims see it."""
    return Evidence(scenario, setting, trajectory, scenario.flow.step)


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
