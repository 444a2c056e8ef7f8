"""The papers: their ideal classifiers, their predictions, and how a run is held against them."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike

import xarray as xr

from ..observe import Setting
from ..problem import build, reduce
from ..scenario import Scenario, loads
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


def evaluate(result: xr.DataTree, claims: Iterable[str] = (), folder: str | PathLike[str] = "") -> xr.Dataset:
    """Hold the result of a run against claims, along dimension `claim`.

    claims: names of papers or theorems, such as "li_2025" or "li_2025.theorem_4_5"; by default those of its scenario.
    folder: where the scenario's relative paths start. Raises ScenarioError where a name is unknown or a file missing.
    """
    chosen = tuple(claims)
    overrides = {"evaluate.claims": list(chosen)} if chosen else {}
    scenario = loads(str(result.attrs["scenario"]), folder=folder, overrides=overrides)
    problem = build(scenario)
    setting = Setting(reduce(problem, project=scenario.project, merge=scenario.merge))
    evidence = evidence_of(scenario, setting, result.to_dataset())
    return held_against(CLAIMS, scenario.evaluate.claims, evidence)
