"""Surgery on what neurons have learned: change chosen coefficients, attack again, go on training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ...arrays import Booleans, Floats
from ...errors import UsageError
from ...evaluate.case import Result, reopened
from ...evaluate.claim import evidence_of
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness.evaluation import evaluated
from ...kinds.names import nearest
from ...observe import Setting
from ...problem import Weights
from ...scenario import Scenario
from ...solve import Snapshot
from .ledger import mixture_of
from .setting import coefficients_at, large_at, network_data

#: log of the norm of neurons of which nothing is left.
NOTHING = -300.0
#: Names of groups of coefficients -> what they are; `large` as in the ledger, at the instant of the operation.
GROUPS = {
    "large": "sqrt(k) b(t) and more",
    "small": "all others",
    "mixture": "the part of the small ones along w*, the dense mixture",
    "dropped": "large ones that are not large at the donor's instant",
    "unlearned": "all of the neurons that have no large one",
}


@dataclass(frozen=True)
class Operated:
    """A network after an operation. time: the flow time of its weights. mask (m, K): which coefficients were chosen;
    changed: how many of them are others now. weights: to go on with, ``flowsim.run(operated.scenario(...),
    init=operated.weights)``."""

    asked: Scenario
    setting: Setting
    snapshot: Snapshot
    mask: Booleans
    changed: int

    @property
    def time(self) -> float:
        return float(self.snapshot.time)

    @property
    def weights(self) -> Weights:
        found = self.snapshot
        rows, _ = self.setting.reduced.lift(found.direction)
        return Weights.of_logs(rows, found.log_norm, found.output_sign, found.output_log)

    def robustness(self, asked: Mapping[str, Any] | None = None) -> xr.Dataset:
        """As :func:`flowsim.robustness` has it, of the operated network. asked: keys of ``evaluate.robustness``, in place
        of those of its scenario. Raises UsageError where there are none."""
        scenario = self.asked.replace({f"evaluate.robustness.{key}": value for key, value in (asked or {}).items()})
        if scenario.evaluate.robustness is None:
            raise UsageError("the scenario has no evaluate.robustness; say which radii")
        return evaluated(scenario, self.setting, self.snapshot)

    def scenario(self, stages: Sequence[str] = ()) -> Scenario:
        """To go on training: only these stages, by their names, from b where it is. By default those that begin later.

        Claims are left out, as they are about what training itself has learned. Raises UsageError where there is no such
        stage, or none is left.
        """
        known = {stage.name: stage for stage in self.asked.stage}
        later, begin = [], 0.0
        for name, stage in known.items():
            if begin >= self.time * (1 - 1e-9):
                later.append(name)
            begin += stage.until.time or 0.0
        for name in stages:
            if name not in known:
                raise UsageError(f'no stage is called "{name}"; {nearest(name, known)}there are {", ".join(known)}')
        if not (chosen := [known[name] for name in stages or later]):
            raise UsageError("no stage begins after the operation; name those to go on with")
        threshold = self.asked.model.common_threshold
        assert threshold is not None
        written = [stage.model_dump(exclude_unset=True, exclude_none=True) for stage in chosen]
        changes = {"stage": written, "model.threshold": float(threshold.at(self.time)), "evaluate.claims": []}
        return self.asked.replace(changes)


def coefficients_of(result: Result, *, at: int = -1, seed: int | None = None) -> Floats:
    """(m, K): <w_i, M_j> sign(w*_j) at an instant at which weights were kept; `at` as in :func:`operate`."""
    with reopened(result, seed) as case:
        evidence = evidence_of(case.scenario, case.setting, case.trajectory)
        return coefficients_at(evidence, _kept(evidence, at, "at"))


def operate(
    result: Result,
    chosen: str | ArrayLike,
    *,
    at: int = -1,
    donor: int | None = None,
    seed: int | None = None,
) -> Operated:
    """Set chosen coefficients <w_i, M_j> of a network to 0, or to those that it has at another instant.

    chosen: one of GROUPS, or an array (m, K) of true and false. at: which of the instants at which weights were kept, 0 the
    start; below 0 from the last one back. donor: the instant that coefficients are transplanted from; None sets them to 0.
    seed: the member of an ensemble. A neuron of which nothing is left keeps its direction, at a norm of e^-300.
    Raises UsageError for another group, shape or instant, and NotApplicable where the run is not of a network of kind
    "symmetric_relu" on sparse coding.
    """
    with reopened(result, seed) as case:
        evidence = evidence_of(case.scenario, case.setting, case.trajectory)
        network_data(evidence)
        patient = _kept(evidence, at, "at")
        other = None if donor is None else _kept(evidence, donor, "donor")
        mask = _mask(evidence, patient, chosen, other)
        found = changed_coefficients(evidence, patient, chosen, other)
        changed = int((found != coefficients_at(evidence, patient)).sum())
        return Operated(case.scenario, case.setting, with_coefficients(evidence, patient, found), mask, changed)


def changed_coefficients(
    evidence: Evidence, patient: Snapshot, chosen: str | ArrayLike, donor: Snapshot | None = None
) -> Floats:
    """The coefficients (m, K) after an operation"""
    found = coefficients_at(evidence, patient)
    given = np.zeros_like(found) if donor is None else coefficients_at(evidence, donor)
    if isinstance(chosen, str) and chosen == "mixture":
        weight = evidence.problem.samples.label_weight
        assert weight is not None
        small = ~large_at(evidence, patient)
        return np.asarray(found + mixture_of(given - found, small, weight))
    return np.where(_mask(evidence, patient, chosen, donor), given, found)


def _mask(evidence: Evidence, patient: Snapshot, chosen: str | ArrayLike, donor: Snapshot | None) -> Booleans:
    large = large_at(evidence, patient)
    if not isinstance(chosen, str):
        mask = np.asarray(chosen)
        if mask.shape != large.shape or mask.dtype != bool:
            given = f"an array of shape {mask.shape} and type {mask.dtype}"
            raise UsageError(
                f"chosen: {given}; allowed: true and false, of shape {large.shape}, or one of {', '.join(GROUPS)}"
            )
        return mask
    if chosen not in GROUPS:
        raise UsageError(f'chosen: "{chosen}" is no group; {nearest(chosen, GROUPS)}allowed: {", ".join(GROUPS)}')
    if chosen == "unlearned":
        return np.broadcast_to(~large.any(axis=1, keepdims=True), large.shape)
    if chosen == "dropped":
        if donor is None:
            raise UsageError('chosen: "dropped" is told by the donor; say which instant that is')
        return large & ~large_at(evidence, donor)
    return large if chosen == "large" else ~large


def with_coefficients(evidence: Evidence, snapshot: Snapshot, found: Floats) -> Snapshot:
    """The same instant with other coefficients (m, K), in place of all of the weights: M is orthogonal and complete."""
    reduced = evidence.setting.reduced
    centers = evidence.problem.centers
    if len(centers) != centers.shape[1] or reduced.basis is not None:
        raise NotApplicable("surgery needs all of the weights; set flow.reduce to false")
    rows = found @ centers
    size = np.linalg.norm(rows, axis=1)
    kept, _ = reduced.lift(snapshot.direction)
    direction = np.where((size > 0)[:, None], rows / np.where(size > 0, size, 1.0)[:, None], kept)
    with np.errstate(divide="ignore"):
        log_norm = np.where(size > 0, np.log(size), NOTHING)
    return replace(snapshot, direction=reduced.lower(direction, np.zeros(len(rows))), log_norm=log_norm)


def _kept(evidence: Evidence, at: int, name: str) -> Snapshot:
    count = len(evidence.weights.time)
    if not -count <= at < count:
        raise UsageError(f"{name}: {at}; allowed: {-count} to {count - 1}, the {count} instants with weights")
    return evidence.weights[at]
