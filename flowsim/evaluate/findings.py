"""What a run has to say to claims, and the group `claims` of its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from .claim import Claim, Premise, Window, number, selected
from .evidence import Evidence, NotApplicable, NotCovered
from .global_error import FACTOR
from .verdicts import CONSTANT, FAILS, HOLDS, NOT_APPLICABLE, NOT_COVERED, OUTSIDE, PREMISE, VACUOUS, VERDICTS

#: Note of what neither confirms nor refutes, as 0/0 and inf - inf do not.
NO_NUMBER = "what was measured, or its bound, is no number"


@dataclass(frozen=True)
class Finding:
    """measured, bound: NaN where there is none. constants: name -> (value, origin). note: why the verdict is neither
    "holds" nor "fails", and what of it the error of a certified run could turn."""

    claim: Claim
    verdict: str
    measured: float = math.nan
    bound: float = math.nan
    premises: tuple[Premise, ...] = ()
    constants: tuple[tuple[str, float, str], ...] = ()
    window: Window | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.verdict == HOLDS

    @property
    def prediction(self) -> str:
        return self.claim.prediction(self.bound)


def judged(claim: Claim, evidence: Evidence) -> Finding:
    """Hold a run against a claim.

    A run that the statement is not about is not_applicable. Where a premise is not met the verdict is outside, whatever was
    measured: the paper says nothing there. A bound that cannot be broken is vacuous. Where the span is not covered the
    verdict is not_covered; but what is past its bound on a part of an interval fails, as more of it cannot mend that.
    What is no number is past no bound: it is not_covered.
    """
    found = Finding(claim, NOT_APPLICABLE)
    try:
        found = replace(found, premises=_premises(claim, evidence))
        found = _measured(found, evidence)
        trivial = _trivial(found, evidence)
    except NotApplicable as reason:
        return replace(found, note=str(reason))
    unmet = [premise.refusal for premise in found.premises if not premise.met]
    if unmet:
        return replace(found, verdict=OUTSIDE, note="; ".join(unmet))
    if claim.kept_by(trivial, found.bound):
        return replace(found, verdict=VACUOUS, note=f"{claim.prediction(trivial)} holds of everything")
    keeps = claim.kept_by(found.measured, found.bound)
    window = found.window
    numbers = not (math.isnan(found.measured) or math.isnan(found.bound))
    missing = found.note or (window.missing if window else "") or ("" if numbers else NO_NUMBER)
    seen = window is not None and window.begin < window.end and len(window.inside) > 0
    refuted = seen and not keeps and numbers
    if missing and not refuted:
        return replace(found, verdict=NOT_COVERED, note=missing)
    return replace(found, verdict=HOLDS if keeps else FAILS)


def wary(found: Finding, other: Finding) -> Finding:
    """A finding with a note where the run's error could turn its verdict. other: the same claim asked of the companion.

    The error of a measured number is what stated errors of variables are: FACTOR times what it is in the companion beyond.
    """
    notes = [found.note, *_turns(found, other)]
    return replace(found, note="; ".join(filter(None, notes)))


def _turns(found: Finding, other: Finding) -> Iterator[str]:
    if other.verdict != found.verdict:
        there = f"{other.verdict} ({_number(other.measured)})"
        yield f"the run's error could turn this: in its companion the verdict is {there}"
        return
    if found.verdict in (HOLDS, FAILS):
        error = _apart(found.measured, other.measured) + _apart(found.bound, other.bound)
        if abs(found.measured - found.bound) <= error and error > 0:
            yield f"the run's error could turn this: {_number(found.measured)} is known to {error:.1g}"
    margins = {premise.name: premise.margin for premise in other.premises}
    for premise in found.premises:
        error = _apart(premise.margin, margins.get(premise.name, premise.margin))
        if abs(premise.margin) <= error and error > 0:
            yield f"the run's error could turn the premise {premise.name}: its margin is known to {error:.1g}"


def _apart(one: float, other: float) -> float:
    """The error of a number, where the companion has the other one; 0 where neither is one."""
    if one == other or math.isnan(one):
        return 0.0
    return math.inf if math.isnan(other) else FACTOR * abs(one - other)


def _number(value: float) -> str:
    return "no number" if math.isnan(value) else f"{value:.6g}"


def _premises(claim: Claim, evidence: Evidence) -> tuple[Premise, ...]:
    found = tuple(claim.premises(evidence))
    names = [premise.name for premise in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{claim.where}: a premise is there twice, of {', '.join(names)}")
    return found


def _measured(found: Finding, evidence: Evidence) -> Finding:
    """With measured, bound, constants and window as far as the run has them; note: what it did not keep, "" where nothing
    is missing."""
    claim, missing = found.claim, ""
    try:
        if claim.span is not None:
            found = replace(found, window=claim.span(evidence))
        found = replace(found, measured=float(claim.measure(evidence)))
    except NotCovered as reason:
        found, missing = replace(found, measured=reason.measured), str(reason)
    try:
        found = replace(found, bound=number(claim.bound, evidence))
        found = replace(found, constants=tuple(_constants(found, evidence)))
    except NotCovered as reason:
        missing = missing or str(reason)
    return replace(found, note=missing)


def _trivial(found: Finding, evidence: Evidence) -> float:
    """What holds of everything; NaN where that is not known, or there is no bound"""
    trivial = found.claim.trivial
    if trivial is None or math.isnan(found.bound):
        return math.nan
    try:
        return number(trivial, evidence)
    except NotCovered:
        return math.nan


def _constants(found: Finding, evidence: Evidence) -> list[tuple[str, float, str]]:
    return [
        (constant.name, found.measured if constant.value is None else number(constant.value, evidence), constant.origin)
        for constant in found.claim.constants
    ]


#: variable -> (long name, type, its value in a finding), along `claim`
COLUMNS: dict[str, tuple[str, type, Callable[[Finding], Any]]] = {
    "statement": ("what is claimed, as the paper prints it", str, lambda found: found.claim.statement),
    "where": ("where the paper says it", str, lambda found: found.claim.where),
    "measures": ("what is measured", str, lambda found: found.claim.measures),
    "prediction": ("what the claim predicts", str, lambda found: found.prediction),
    "bound": ("number in the prediction", float, lambda found: found.bound),
    "measured": ("measured value", float, lambda found: found.measured),
    "holds": ("whether the verdict is that it holds", bool, lambda found: found.holds),
    "verdict": (", ".join(VERDICTS), str, lambda found: found.verdict),
    "note": (
        "why the claim neither holds nor fails, or what the run's error could turn",
        str,
        lambda found: found.note,
    ),
    "span": ("what the statement speaks of", str, lambda found: str(found.window or "")),
    "span_begin": ("begin of the span, on its clock", float, lambda found: _of_window(found, "begin")),
    "span_end": ("end of the span", float, lambda found: _of_window(found, "end")),
    "span_last": ("last kept instant of the run", float, lambda found: _of_window(found, "instants")),
    "span_instants": ("kept instants in the span", float, lambda found: _of_window(found, "inside")),
    "span_gap": ("longest part of the span without a kept instant", float, lambda found: _of_window(found, "gap")),
}


def held_against(claims: Mapping[str, Claim], names: Iterable[str], evidence: Evidence) -> xr.Dataset:
    """The findings of a run along dimension `claim`. A claim that is not applicable is left out where only its paper is
    named, and gets its row with the reason where it is named itself."""
    named = tuple(names)
    insisted = selected(claims, (name for name in named if "." in name))
    asked = selected(claims, named)
    findings = {name: judged(claim, evidence) for name, claim in asked.items()}
    if evidence.companion is not None:
        findings = {name: wary(found, judged(asked[name], evidence.companion)) for name, found in findings.items()}
    return layout(
        {name: found for name, found in findings.items() if found.verdict != NOT_APPLICABLE or name in insisted}
    )


def layout(findings: Mapping[str, Finding]) -> xr.Dataset:
    """The group `claims` of a result: variables along `claim`, those of premises along `premise` too, and those of
    constants along `constant`; NaN, or "", where a claim does not have one."""
    variables: dict[str, tuple[Any, ...]] = {
        name: ("claim", np.array([of(found) for found in findings.values()], dtype=kind), _said(long_name))
        for name, (long_name, kind, of) in COLUMNS.items()
    }
    rows = list(findings.values())
    premises = [
        {premise.name: (premise.value, premise.bound, premise.margin) for premise in found.premises} for found in rows
    ]
    constants = [{name: (value, origin) for name, value, origin in found.constants} for found in rows]
    coordinates = {"claim": ("claim", np.array(list(findings), dtype=str), _said("claim"))}
    for dim, columns, cells in (("premise", PREMISE, premises), ("constant", CONSTANT, constants)):
        names = list(dict.fromkeys(name for row in cells for name in row))
        coordinates[dim] = (dim, np.array(names, dtype=str), _said(dim))
        for place, (variable, (long_name, kind, missing)) in enumerate(columns.items()):
            table = [[row[name][place] if name in row else missing for name in names] for row in cells]
            values: Any = np.array(table, dtype=kind).reshape(len(rows), len(names))
            variables[variable] = (("claim", dim), values, _said(long_name))
    return xr.Dataset(variables, coordinates)


def _said(long_name: str) -> dict[str, str]:
    return {"long_name": long_name, "units": "1"}


def _of_window(found: Finding, what: str) -> float:
    if found.window is None:
        return math.nan
    value = getattr(found.window, what)
    if what == "instants":
        return float(value[-1]) if len(value) else math.nan
    return float(len(value)) if what == "inside" else float(value)
