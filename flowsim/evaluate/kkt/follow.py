"""The asymptotic flow from a state of a flow until it is beside a KKT point that attracts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from .asymptotic import Pull, step
from .point import Point
from .state import State, System, View

#: log|theta| goes so far in the first step, at most so far in one, and so far where a step is hard before that is
#: given up.
FIRST, LARGEST, SMALLEST = 0.1, 0.3, 1e-4
#: By how much a step may be longer than the one before it, once the direction turns by less than this in a unit of
#: log|theta|.
GROWTH, SLOW = 1.05, 0.05
#: Where only what dies or turns slowly is left, steps may be longer yet: at most so long, and turning the direction by so
#: much.
TAIL, TURNED = 30.0, 1e-3
#: Steps that may be taken: at most, at least, and between these so many over the pairs of a neuron and a sample.
STEPS, LEAST, PAIR_STEPS = 20_000, 2000, 1e8
#: A step is taken again, half as long, where the normalised margin, which never falls, falls by more than this part.
FALL = 1e-6
#: KKT points are looked for once the flow's distance is below this, when log|theta| has grown by LOOK, and then by this
#: factor again and again.
NEAR, LOOK, AGAIN = 0.03, 2.0, 1.3
#: A KKT point that is isolated and attracts is the flow's own if the asymptotic flow comes within this angle of it,
#: in rad ...
CLOSE = 1e-3
#: ... of a continuum of them, it is wanted to this, if so many steps are enough: at most, at least, and between these
#: so many over the pairs.
EXACT, PATIENCE, SHORT, PAIR_PATIENCE = 1e-7, 1000, 100, 1e7
#: A neuron has faded once its share of |theta|^2 is below this.
FADED = 1e-3
#: States are kept when log|theta| has grown by this part of what it had grown by before.
KEEP = 0.03


@dataclass(frozen=True)
class Followed:
    """How the asymptotic flow went. log_norm (T,): log|theta|; margin (T,): the normalised one, in the units of the
    system; log_share (T, m): of |theta_j|^2 in |theta|^2; distance (T,): between the weights and what pulls at them,
    both at norm 1. faded (m,): log|theta| at which each neuron's share has fallen below FADED, NaN of one that lives.
    point: what was found, None where there is nothing; angle: of the flow's end to it, in rad; reason: in words why
    it is not the flow's own, "" where it is."""

    log_norm: Floats
    margin: Floats
    log_share: Floats
    distance: Floats
    faded: Floats
    point: Point | None
    angle: float
    reason: str


class _Walk:
    """The flow step by step: state, view of it, pull of the last step, log_norm that it began with, steps taken; and
    what of it is kept for the result."""

    def __init__(self, system: System, state: State):
        self.system, self.state, self.view = system, state, View.of(system, state)
        self.pull: Pull | None = None
        self.begun, self.steps = self.view.log_size, 0
        self.faded = np.where(self.view.log_share < np.log(FADED), self.begun, np.nan)
        self.log_norm, self.margin = [self.begun], [float(self.view.margin.min())]
        self.log_share, self.distance = [self.view.log_share], [np.nan]
        self._advance, self._least, self._before = FIRST, -np.inf, state

    @property
    def grown(self) -> float:
        """By how much log|theta| has grown."""
        return self.view.log_size - self.begun

    def forward(self) -> bool:
        """One step, shorter than the last one where that leads nowhere; False where no step leads anywhere."""
        while self._advance >= SMALLEST:
            taken = step(self.system, self.state, self._advance)
            if taken is not None and taken[1].margin >= self._least * (1 - FALL):
                self._take(*taken)
                return True
            # the step before this one is what has gone wrong
            if taken is not None:
                self.state = self._before
            self._advance *= 0.5
        return False

    def _take(self, state: State, pull: Pull) -> None:
        self._before, self.state, self.pull, self._least = self.state, state, pull, pull.margin
        self.steps += 1
        if pull.distance < SLOW:
            longest = min(max(TURNED / max(pull.distance, 1e-300), LARGEST), TAIL)
            self._advance = min(self._advance * GROWTH, longest)
        self.view = View.of(self.system, state)
        share = self.view.log_share
        now = np.where(np.isnan(self.faded), self.view.log_size, self.faded)
        self.faded = np.where(share >= np.log(FADED), np.nan, now)
        if self.grown >= (self.log_norm[-1] - self.begun) * (1 + KEEP):
            self.log_norm.append(self.view.log_size)
            self.margin.append(pull.margin)
            self.log_share.append(share)
            self.distance.append(pull.distance)

    def fading(self, point: Point) -> Floats:
        """(m,): log|theta| at which each neuron's share has fallen below FADED, of those that have not as the
        exponents say"""
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = self.view.log_size + (np.log(FADED) - self.view.log_share) / (2 * (point.exponent - 1))
        return np.where(point.alive, np.nan, np.where(np.isnan(self.faded), ahead, self.faded))


def follow(
    system: System,
    state: State,
    beside: Callable[[State, Pull], Point | None],
    angle: Callable[[Point, State], float],
    ended: Callable[[float, float], bool],
) -> Followed:
    """beside: the KKT point that a state shows; angle: between the two. ended: told after each step how far log|theta| has
    grown and the flow's distance, whether time is up."""
    walk, look, point, apart = _Walk(system, state), LOOK, None, np.inf
    pairs = walk.view.projection.size
    most = int(min(STEPS, max(LEAST, PAIR_STEPS / pairs)))
    patience = min(PATIENCE, max(SHORT, PAIR_PATIENCE / pairs))
    reason = f"the asymptotic flow has not come near a KKT point that attracts it within {most} steps"
    while walk.steps < most:
        if not walk.forward():
            reason = "a step of the asymptotic flow became too small"
            break
        assert walk.pull is not None
        if ended(walk.grown, walk.pull.distance):
            reason = f"the wall time that it may take was over after {walk.steps} steps of the asymptotic flow"
            break
        if walk.grown < look or walk.pull.distance > NEAR:
            continue
        look = AGAIN * walk.grown
        found = beside(walk.state, walk.pull)
        if found is None or not (found.certified and found.attracts):
            continue
        point, apart = found, angle(found, walk.state)
        if apart <= EXACT or (apart <= CLOSE and (found.freedom == 0 or walk.steps >= patience)):
            break
    if point is not None:
        reason = f"the asymptotic flow is still {apart:.2g} rad away from it; {reason}" if apart > CLOSE else ""
    return Followed(
        np.array(walk.log_norm),
        np.array(walk.margin),
        np.array(walk.log_share),
        np.array(walk.distance),
        walk.faded if point is None else walk.fading(point),
        point,
        apart,
        reason,
    )
