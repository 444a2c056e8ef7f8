"""What a theorem predicts of a run, and what the run has to say to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from ..kinds import sorts
from ..kinds.registry import Registry
from ..observe import Setting
from ..scenario import Scenario
from .evidence import Evidence, NotApplicable

HOLDS, FAILS, SILENT = "holds", "does not hold", "not applicable"
#: A claim that does not hold where the paper does not say that it should.
OUTSIDE = "outside the assumptions"


def _nothing(evidence: Evidence) -> str:
    return ""


@dataclass(frozen=True)
class Claim:
    """One number that a theorem bounds.

    where: the place in the paper. statement: what is measured, and which number stands for what the paper leaves to an
    O(.) or o(.). measure raises NotApplicable where the run has nothing to say. bound: a number, or a function of the
    evidence where the paper's own constants depend on the setting. at_least: whether it is a lower bound.
    observables: what the measurement follows over time. unmet: which assumptions of the theorem the run is outside of, as
    far as they can be checked; empty where there is none.
    """

    where: str
    statement: str
    measure: Callable[[Evidence], float]
    bound: float | Callable[[Evidence], float]
    at_least: bool = False
    observables: tuple[str, ...] = ()
    unmet: Callable[[Evidence], str] = _nothing


@dataclass(frozen=True)
class Finding:
    """measured and bound are NaN where the verdict is that the claim is not applicable, which `note` then explains.
    unmet: where the claim does not hold, the assumptions that the run is outside of."""

    claim: Claim
    measured: float
    bound: float
    note: str = ""
    unmet: str = ""

    @property
    def holds(self) -> bool:
        return self.measured >= self.bound if self.claim.at_least else self.measured <= self.bound

    @property
    def verdict(self) -> str:
        return SILENT if self.note else HOLDS if self.holds else OUTSIDE if self.unmet else FAILS

    @property
    def prediction(self) -> str:
        return "" if self.note else f"{'at least' if self.claim.at_least else 'at most'} {self.bound:.4g}"


#: paper.theorem or paper.theorem.part -> Claim
CLAIMS: Registry[Claim] = sorts.CLAIMS


def register_all(paper: str, claims: Mapping[str, Claim]) -> None:
    """Register a paper's claims; theorem or theorem.part -> Claim."""
    for name, claim in claims.items():
        CLAIMS.register(f"{paper}.{name}", claim)


def selected(claims: Mapping[str, Claim], names: Iterable[str]) -> dict[str, Claim]:
    """The claims that these names stand for: a paper, a theorem of it, or a part of a theorem."""
    wanted = tuple(names)
    return {
        name: claim
        for name, claim in claims.items()
        if any(name == chosen or name.startswith(f"{chosen}.") for chosen in wanted)
    }


def held_against(claims: Mapping[str, Claim], names: Iterable[str], evidence: Evidence) -> xr.Dataset:
    """The findings of a run along dimension `claim`. A claim that is not applicable is left out where only its paper is
    named, and gets its row with the reason where it is named itself."""
    named = tuple(names)
    insisted = selected(claims, (name for name in named if "." in name))
    findings = {name: _finding(claim, evidence) for name, claim in selected(claims, named).items()}
    return layout({name: found for name, found in findings.items() if not found.note or name in insisted})


def layout(findings: Mapping[str, Finding]) -> xr.Dataset:
    """The group `claims` of a result."""
    columns: dict[str, tuple[str, list[Any], type]] = {
        "statement": ("what is claimed", [found.claim.statement for found in findings.values()], str),
        "where": ("where the paper says it", [found.claim.where for found in findings.values()], str),
        "prediction": ("what the claim predicts", [found.prediction for found in findings.values()], str),
        "bound": ("number in the prediction", [found.bound for found in findings.values()], float),
        "measured": ("measured value", [found.measured for found in findings.values()], float),
        "holds": ("whether the prediction holds", [found.holds for found in findings.values()], bool),
        "verdict": (
            "holds, does not hold, outside the assumptions, or not applicable",
            [found.verdict for found in findings.values()],
            str,
        ),
        "note": (
            "why the claim is not applicable, or which assumptions the run is outside of",
            [found.note or found.unmet for found in findings.values()],
            str,
        ),
    }
    variables: dict[str, tuple[Any, ...]] = {
        name: ("claim", np.array(values, dtype=kind), {"long_name": long_name, "units": "1"})
        for name, (long_name, values, kind) in columns.items()
    }
    names = np.array(list(findings), dtype=str)
    return xr.Dataset(variables, {"claim": ("claim", names, {"long_name": "claim", "units": "1"})})


def _finding(claim: Claim, evidence: Evidence) -> Finding:
    try:
        measured = float(claim.measure(evidence))
        found = Finding(claim, measured, float(claim.bound(evidence) if callable(claim.bound) else claim.bound))
        return found if found.holds else replace(found, unmet=claim.unmet(evidence))
    except NotApplicable as reason:
        return Finding(claim, np.nan, np.nan, str(reason))


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
