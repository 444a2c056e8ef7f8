"""Whether a flow still gets anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kinds.network import Network, unit_sizes
from ..kinds.stop import Watched
from ..problem import Reduced
from ..scenario import Scenario
from .constants import A_WHILE, FIRST_MOTION, OUTPUT_FLOOR, SAME_SIZE, SETTLED_LOSS, SETTLED_MOTION, TURNS_AWAY
from .goals import Watch
from .snapshot import Snapshot

#: and one whose smallest loss has fallen by less than a factor of e while no neuron has moved by so many tolerances: where
#: an explicit solver's steps are as long as its stability allows, its errors keep it at such a distance from where it goes.
FACTOR, TOLERANCES = 1.0, 10.0
#: Where a loss falls for ever, all goes by log of the time: while that grows e-fold, the angle to a goal has to fall by
#: this part of itself.
NEARER = 0.1

NOT_SAVED = ("rtol", "settled", "look", "target", "network", "mortal")

AT_REST = "the flow came to rest"
TURNED = "the neurons hardly turn any more"


class Target:
    """How far the neurons are from the goal until.alignment, as an angle."""

    def __init__(self, reduced: Reduced, alignment: float):
        self._watch, self._goal = Watch.of(reduced), math.acos(alignment)

    def angle(self, snapshot: Snapshot) -> float:
        """Of the worst targeted neuron, beyond the angle that the goal allows."""
        watch = self._watch
        direction = (snapshot.direction * watch.feature)[watch.targeted]
        center = watch.center[watch.targeted]
        cosine = np.einsum("jr,jr->j", direction, center) / np.linalg.norm(direction, axis=1)
        return float(np.arccos(np.clip(cosine, -1.0, 1.0)).max()) - self._goal


@dataclass
class Rest:
    """What is looked back at. settled: what was found, in words, or "". next_look: the time of the next look; look: the
    snapshot's arrays at the last one, log_loss: the smallest until then; smallest: until now. next_turn, next_log_time: the
    time, and log10 of it, from which the next look at the angle to the goal is due; angle: that at the last one. mortal:
    whether neurons may die, as TURNS_AWAY says."""

    rtol: float
    next_look: float
    settled: str = ""
    log_loss: float = math.inf
    smallest: float = math.inf
    next_turn: float = 0.0
    next_log_time: float = 1.0
    angle: float = math.inf
    look: tuple[Floats, ...] = ()
    target: Target | None = None
    network: Network | None = None
    mortal: bool = False

    @classmethod
    def of(cls, scenario: Scenario, reduced: Reduced, first_step: float) -> Rest | None:
        """None where rest ends nothing: in descent, and where steps or a time are what is to be reached."""
        flow = scenario.flow
        if flow.descends or flow.until.time is not None or set(flow.until.goals) == {"steps"}:
            return None
        soon = A_WHILE * first_step / FIRST_MOTION
        problem, target = reduced.problem, _target(scenario, reduced)
        mortal = problem.two_layers and problem.trained_output and problem.activation.degree is not None
        mortal = mortal and problem.activation.homogeneity == 1
        return cls(flow.rtol, soon, next_turn=soon, target=target, network=problem.network, mortal=mortal)

    def note(self, snapshot: Snapshot, log_loss: float, by_loss: bool) -> None:
        """Look at an instant, later than those before it. by_loss: whether the loss clock runs, on which the engine itself
        sees a loss that falls no further."""
        if self.target is not None:
            self._note_turn(snapshot, self.target)
        if by_loss:
            return
        self.smallest = min(self.smallest, log_loss)
        if snapshot.time < self.next_look:
            return
        look = self._arrays(snapshot)
        if self.look:
            fallen, moved = self.log_loss - self.smallest, self._motion(self.look, look)
            still = fallen < SETTLED_LOSS and moved < SETTLED_MOTION
            if still or (fallen < FACTOR and moved < TOLERANCES * self.rtol):
                self.settled = AT_REST
        self.look, self.log_loss, self.next_look = look, self.smallest, math.e * float(snapshot.time)

    def _motion(self, before: tuple[Floats, ...], after: tuple[Floats, ...]) -> float:
        """The largest change of a unit relative to what it was."""
        if self.network is None:
            return _motion(before, after, self.mortal)
        sizes = [unit_sizes(array, leaf.units, np) for array, leaf in zip(before, self.network.leaves, strict=True)]
        change = [now - then for then, now in zip(before, after, strict=True)]
        return float(self.network.relative(change, sizes, np).max())

    def _arrays(self, snapshot: Snapshot) -> tuple[Floats, ...]:
        """What is looked at of an instant."""
        if self.network is not None:
            return snapshot.arrays(self.network)
        return snapshot.direction, snapshot.log_norm, snapshot.output_sign, snapshot.output_log

    def _note_turn(self, snapshot: Snapshot, target: Target) -> None:
        log_time = -math.inf if snapshot.time == 0 else float(snapshot.log10_time or math.log10(snapshot.time))
        if snapshot.time < self.next_turn or log_time < self.next_log_time:
            return
        angle = target.angle(snapshot)
        if angle > (1.0 - NEARER) * self.angle:
            self.settled = TURNED
        self.angle, self.next_log_time = angle, math.e * log_time

    def saved(self) -> dict[str, Any]:
        """Named arrays, which `restore` takes."""
        return _numbers(self) | {f"look_{place}": array for place, array in enumerate(self.look)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        numbers = _numbers(self)
        for name in numbers:
            setattr(self, name, saved[name].item())
        self.look = tuple(saved[f"look_{place}"] for place in range(len(saved) - len(numbers)))


def _numbers(rest: Rest) -> dict[str, Any]:
    names = [field.name for field in fields(rest) if field.name not in NOT_SAVED]
    return {name: np.array(getattr(rest, name)) for name in names}


def _target(scenario: Scenario, reduced: Reduced) -> Target | None:
    """None where there is no goal until.alignment, where another may end the flow, and where the loss has an end."""
    until = scenario.flow.until
    aligning = until.watched(Watched.ALIGNMENT)
    alone = set(until.goals) == {*aligning, *until.watched(Watched.STEPS)}
    if not aligning or not alone or not scenario.loss.formulas.endless:
        return None
    return Target(reduced, min(aligning.values()))


def _motion(before: tuple[Floats, ...], after: tuple[Floats, ...], mortal: bool) -> float:
    """The largest change of a neuron's direction, log norm or output weight, relative to what it was; of one that dies, of
    its direction alone."""
    (u, rho, sign, log), (u_now, rho_now, sign_now, log_now) = before, after
    largest = np.maximum(np.maximum(log, log_now), rho_now + math.log(OUTPUT_FLOOR))
    turned = np.linalg.norm(u_now - u, axis=1)
    scaled = np.abs(sign_now * np.exp(log_now - largest) - sign * np.exp(log - largest))
    moved = np.maximum(np.maximum(turned, np.abs(rho_now - rho)), scaled)
    if mortal:
        dies = (rho_now < rho) & (sign_now == sign) & (log_now - rho_now >= np.log1p(-SAME_SIZE))
        moved = np.where(dies, np.minimum(moved, TURNS_AWAY * turned), moved)
    return float(moved.max())
