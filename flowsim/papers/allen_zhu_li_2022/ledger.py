"""The feature ledger: which features neurons gain and lose over time, and what the weights' movement is spent on.

A pair of a neuron and a feature is *large* where |<w_i, M_j>| >= sqrt(k) b(t): the feature then lifts the neuron over its
threshold by itself, at its usual size 1/sqrt(k). M is orthogonal, so movement is the sum of that of all coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Booleans, Floats
from ...evaluate.case import Result, reopened
from ...evaluate.claim import evidence_of
from ...evaluate.evidence import Evidence
from ...solve import Snapshot
from . import lottery
from .setting import coefficients_at, large_at

#: What movement is spent on -> what that is
BUDGET = {
    "kept": "coefficients that were large and stay so",
    "born": "coefficients that become large",
    "died": "coefficients that were large and are not any more",
    "mixture": "small coefficients along w*: the dense mixture",
    "other": "small coefficients, what is left of them",
}
_TEXTS = {
    "large": (("time",), "pairs of neuron and feature that are large"),
    "born": (("time",), "pairs that have become large since the instant before"),
    "died": (("time",), "pairs that were large at the instant before and are not any more"),
    "learned": (("time",), "neurons with a large coefficient"),
    "covered": (("time",), "share of the features that are large in a neuron, with the sign of w*"),
    "sure": (("time",), "pairs in S_j,sure(t)"),
    "potential": (("time",), "pairs in S_j,pot(t)"),
    "expected": (("time",), "share of the neurons in S_ept(t)"),
    "sure_kept": (("time",), "share of the pairs in S_j,sure(0) that are in S_j,sure(t)"),
    "large_from_potential": (("time",), "share of the large pairs that are in S_j,pot(0)"),
    "movement": (("time", "part"), "sum |w_i(t) - w_i(t')|^2 since the instant t' before, by what moves"),
    "size": (("time",), "sum |w_i(t)|^2"),
}


def ledger(result: Result, *, seed: int | None = None) -> xr.Dataset:
    """Births, deaths and tickets at the instants at which a run kept its weights, along `time`; `movement` along `part`
    too, whose parts add up to all of the movement.

    result: of a network of kind "symmetric_relu" on sparse coding. seed: the member of an ensemble. S_sure, S_pot and S_ept
    are those of Definition B.1 with sigma_w(t) = sigma_0 b(t)/b(0). Raises NotApplicable where the run is another one, or
    kept no weights.
    """
    with reopened(result, seed) as case:
        return ledger_of(evidence_of(case.scenario, case.setting, case.trajectory))


def ledger_of(evidence: Evidence) -> xr.Dataset:
    """The same of a run as claims see it."""
    first, times = lottery.at_start(evidence), evidence.weights.time
    rows: list[dict[str, Any]] = []
    before: Snapshot | None = None
    for place in range(len(times)):
        snapshot = evidence.weights[place]
        rows.append(_row(evidence, before, snapshot, first))
        before = snapshot
    data = {
        name: (dims, np.array([row[name] for row in rows]), {"long_name": text, "units": "1"})
        for name, (dims, text) in _TEXTS.items()
    }
    told = {"long_name": "time at which the weights are kept", "units": "1"}
    parts = np.array(list(BUDGET))
    return xr.Dataset(data, {"time": ("time", times, told), "part": ("part", parts, {"long_name": "what moves"})})


def _row(evidence: Evidence, before: Snapshot | None, now: Snapshot, first: Any) -> dict[str, Any]:
    found, large = coefficients_at(evidence, now), large_at(evidence, now)
    was = large if before is None else large_at(evidence, before)
    tickets = lottery.later(evidence, now)
    return {
        "large": large.sum(),
        "born": (large & ~was).sum(),
        "died": (was & ~large).sum(),
        "learned": large.any(axis=1).sum(),
        "covered": (large & (found > 0)).any(axis=0).mean(),
        "sure": tickets.sure.sum(),
        "potential": tickets.potential.sum(),
        "expected": tickets.expected.mean(),
        "sure_kept": tickets.sure[first.sure].mean() if first.sure.any() else np.nan,
        "large_from_potential": first.potential[large].mean() if large.any() else np.nan,
        "movement": list(spent(evidence, now if before is None else before, now).values()),
        "size": (found**2).sum(),
    }


def spent(evidence: Evidence, before: Snapshot, after: Snapshot) -> dict[str, float]:
    """The parts of BUDGET of sum |w_i(after) - w_i(before)|^2"""
    was, large = large_at(evidence, before), large_at(evidence, after)
    move = coefficients_at(evidence, after) - coefficients_at(evidence, before)
    weight = evidence.problem.samples.label_weight
    assert weight is not None
    small = ~was & ~large
    mixed = mixture_of(move, small, weight)
    squares = {"kept": was & large, "born": large & ~was, "died": was & ~large}
    found = {name: float((move[chosen] ** 2).sum()) for name, chosen in squares.items()}
    found["mixture"] = float((mixed**2).sum())
    found["other"] = float(((move - mixed)[small] ** 2).sum())
    return found


def mixture_of(found: Floats, chosen: Booleans, weight: Floats) -> Floats:
    """(m, K): the part along w* of each neuron's chosen coefficients, 0 at the others, from (m, K), (m, K) and |w*| (K,)"""
    direction = np.where(chosen, weight, 0.0)
    square = (direction**2).sum(axis=1, keepdims=True)
    share = (found * direction).sum(axis=1, keepdims=True) / np.where(square > 0, square, 1.0)
    return np.asarray(share * direction)
