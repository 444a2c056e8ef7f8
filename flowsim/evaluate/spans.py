"""A trajectory's consecutive parts, told apart by its phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ..errors import UsageError
from ..kinds.losses import LOSSES
from ..kinds.names import nearest
from ..results.stored import keys_of
from .member import member
from .phases import phases

#: part of a trajectory -> what happens in it, and the instants that may end it
STAGES = {
    "burn_in": ("neurons choose their cluster", ("burn_in",)),
    "alignment": (
        "neurons turn towards their targets",
        ("alignment", "averaging", "amplification", "median_alignment"),
    ),
    "growth": ("aligned neurons grow, until the loss has halved", ("half_loss",)),
    "convergence": ("the network fits the labels", ("convergence",)),
    "late": ("what follows, to the end of the run", ()),
}
#: Whether by logarithms -> dimension -> the coordinate that has its instants.
CLOCKS = {
    False: {"time": "time", "snapshot": "snapshot"},
    True: {"time": "log10_time", "snapshot": "snapshot_log10_time"},
}


@dataclass(frozen=True)
class Span:
    """A part of a trajectory, from one flow time to another, or from one log10 of it to another."""

    name: str
    begin: float
    end: float


def spans(trajectory: xr.Dataset, logarithms: bool = False) -> tuple[Span, ...]:
    """The consecutive parts of a trajectory, named as in STAGES; empty ones are left out.

    logarithms: they go from one log10 of flow time to another, of a run on the loss clock.

    Each ends at the first of its instants in STAGES that the run reaches, and reaches no later than a later part's end. The
    part that follows the last one reached goes on to the end of the run. Of an ensemble, instants are medians over the
    members that reach them.
    """
    instants = phases(trajectory)["log10_instant" if logarithms else "instant"]
    if "seed" in instants.dims:
        reached = instants.notnull().any("seed")
        instants = instants.isel(phase=np.flatnonzero(reached.values)).median("seed")
    found = {str(name): float(instants.sel(phase=name)) for name in instants["phase"].values}
    ends = map(float, trajectory["log10_time" if logarithms else "time"].values[[0, -1]])
    return told_apart(found, endless(keys_of(trajectory.attrs).get("loss", {})), *ends)


def told_apart(instants: Mapping[str, float], endless: bool, first: float, last: float) -> tuple[Span, ...]:
    """The parts that the phases' instants, NaN where they are not reached, tell apart between the ends of a trajectory.

    endless: whether the loss converges for ever: its late phase begins as soon as all margins are positive.
    """
    found = {name: instant for name, instant in instants.items() if not np.isnan(instant)}
    ends: dict[str, float] = {}
    limit = np.inf
    for name in reversed(STAGES):
        candidates = ("separation",) if name == "convergence" and endless else STAGES[name][1]
        possible = [found[instant] for instant in candidates if instant in found and found[instant] <= limit]
        if name == "convergence" and possible and "half_loss" in found:
            possible = [max(possible[0], found["half_loss"])]
        if possible:
            ends[name] = limit = possible[0]
    return _consecutive(ends, first, last)


def shares(parts: Sequence[Span]) -> tuple[list[float], list[float]]:
    """Instants, and the share of the parts of a trajectory that lies behind each: every part of STAGES has as much as any
    other, and is gone through in proportion to time, so that between the instants the share is linear."""
    names = [*STAGES]
    behind = [(names.index(part.name) + 1) / len(names) for part in parts]
    return [parts[0].begin, *(part.end for part in parts)], [0.0, *behind]


def phase(trajectory: xr.Dataset, name: str, seed: int | None = None) -> xr.Dataset:
    """The part of a trajectory with this name, its first and its last instant included; see :func:`spans`.

    Raises UsageError where there is none of this name.
    """
    run = member(trajectory, seed)
    logarithms = "log10_time" in run.coords
    there = spans(run, logarithms)
    for span in there:
        if span.name == name:
            kept = {dim: run[clock].values for dim, clock in CLOCKS[logarithms].items() if dim in run.dims}
            return run.isel({dim: np.flatnonzero((at >= span.begin) & (at <= span.end)) for dim, at in kept.items()})
    known = ", ".join(span.name for span in there) or "none"
    if name in STAGES:
        raise UsageError(f'this run has no part "{name}"; it has {known}')
    raise UsageError(f'no part of a trajectory is called "{name}"; {nearest(name, STAGES)}this run has {known}')


def _consecutive(ends: dict[str, float], begin: float, last: float) -> tuple[Span, ...]:
    found = []
    for name, end in sorted(ends.items(), key=lambda item: [*STAGES].index(item[0])):
        if end > begin:
            found.append(Span(name, begin, end))
            begin = end
    names = [*STAGES]
    following = names[max((names.index(name) for name in ends), default=-1) + 1]
    if ends and begin < last:
        found.append(Span(following, begin, last))
    return tuple(found)


def endless(keys: Mapping[str, Any]) -> bool:
    """Whether the loss of these keys of [loss] converges for ever."""
    kind = LOSSES.get(keys.get("kind", ""))
    return kind is not None and kind.model_validate(keys).formulas.endless
