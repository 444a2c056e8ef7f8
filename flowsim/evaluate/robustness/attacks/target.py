"""What is attacked, and what an attack has found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....arrays import Booleans, Floats, Integers
from ..classifier import Classifier, restricted
from ..norms import NORMS, Norm

#: A move is looked at in so many places for where it first crosses the boundary, and the place is then halved so often:
#: to 1e-6 of the move's length.
PLACES, HALVINGS = 4, 18
#: What is cut short reaches this part beyond the boundary, so that rounding does not put it on either side.
BEYOND = 1e-9


@dataclass(frozen=True)
class Target:
    """Samples x (n, d) of labels +1/-1 (n,) that a classifier should tell apart, in a norm.

    goals (g, d): points of known class to aim at, such as centres; goal_label (g,). universal (d,): from the
    negative class to the positive; None where no centres are known.
    """

    classifier: Classifier
    x: Floats
    label: Floats
    goals: Floats
    goal_label: Floats
    universal: Floats | None
    norm: Norm

    @classmethod
    def of(
        cls,
        classifier: Classifier,
        x: Floats,
        label: Floats,
        goals: Floats,
        goal_label: Floats,
        universal: Floats | None = None,
        norm: str = "l2",
    ) -> Target:
        """In the Euclidean norm the target is seen in the span of
        the classifier's directions: nothing outside of it moves the classifier."""
        whole = cls(classifier, x, np.asarray(label, dtype=float), goals, goal_label, universal, NORMS[norm])
        inside, basis = restricted(classifier) if norm == "l2" else (classifier, None)
        if basis is None:
            return whole
        moved = None if universal is None else universal @ basis
        return replace(whole, classifier=inside, x=x @ basis, goals=goals @ basis, universal=moved)

    def __getitem__(self, rows: Any) -> Target:
        """Some of the samples."""
        return replace(self, x=self.x[rows], label=self.label[rows])

    def __len__(self) -> int:
        return len(self.x)

    def margin(self, move: Floats) -> Floats:
        """(n,): label times classifier at the moved samples; the sample is lost where it is 0 or less"""
        return self.label * self.classifier.value(self.x + move)

    def margin_and_gradient(self, move: Floats) -> tuple[Floats, Floats]:
        value, gradient = self.classifier.value_and_gradient(self.x + move)
        return self.label * value, self.label[:, None] * gradient

    def towards(self, most: int) -> Iterator[tuple[Integers, Floats]]:
        """(rows, the moves of these that end at a goal of the other class), for at most so many goals of each class."""
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self.label == -sign)
            if len(rows):
                for goal in self.goals[self.goal_label == sign][:most]:
                    yield rows, goal - self.x[rows]

    def shortened(self, move: Floats) -> tuple[Floats, Floats]:
        """(moves cut short just behind the boundary, their sizes), inf where a move does not seem to cross it."""
        high = np.full(len(move), np.inf)
        for place in range(1, PLACES + 1):
            rows = np.flatnonzero(np.isinf(high))
            if len(rows):
                lost = self[rows].margin(place / PLACES * move[rows]) <= 0
                high[rows[lost]] = place / PLACES
        rows = np.flatnonzero(np.isfinite(high))
        part, moves, upper = self[rows], move[rows], high[rows]
        lower = upper - 1 / PLACES
        for _ in range(HALVINGS if len(rows) else 0):
            middle = (lower + upper) / 2
            beyond = part.margin(middle[:, None] * moves) <= 0
            upper, lower = np.where(beyond, middle, upper), np.where(beyond, lower, middle)
        short, size = move.copy(), np.full(len(move), np.inf)
        short[rows] = (1 + BEYOND) * upper[:, None] * moves
        size[rows] = self.norm.size(short[rows])
        return short, size


@dataclass
class Found:
    """withstands (R, n): whether the attack failed at each radius. closest (n, d): the smallest move found that succeeds,
    of that size, inf where there is none."""

    withstands: Booleans
    closest: Floats
    size: Floats

    @classmethod
    def nothing(cls, target: Target, radii: Floats) -> Found:
        return cls(
            np.ones((len(radii), len(target)), dtype=bool), np.zeros(target.x.shape), np.full(len(target), np.inf)
        )

    def take(self, rows: Any, move: Floats, size: Floats) -> None:
        """Moves of these samples that succeed, where they are smaller than those known."""
        index = np.arange(len(self.size))[rows]
        better = size < self.size[index]
        self.closest[index[better]], self.size[index[better]] = move[better], size[better]


#: (samples, radius, where the attack got at the radius before (n, d)) -> moves (n, d) of at most that size
Perturb = Callable[[Target, float, Floats], Floats]


def rising(target: Target, radii: Floats, perturb: Perturb) -> Found:
    """Attack at one radius after the other, the smallest first. What is lost at one is lost at all larger ones."""
    found, latest = Found.nothing(target, radii), np.zeros(target.x.shape)
    alive = np.arange(len(target))
    for index, radius in enumerate(radii):
        part = target[alive]
        move = perturb(part, float(radius), latest[alive]) if radius > 0 else np.zeros(part.x.shape)
        lost = part.margin(move) <= 0
        latest[alive] = move
        found.take(alive[lost], move[lost], target.norm.size(move[lost]))
        alive = alive[~lost]
        found.withstands[index:] = np.isin(np.arange(len(target)), alive)
        if not len(alive):
            break
    return found


def descend(
    target: Target,
    start: Floats,
    radius: Floats | float,
    steps: int,
    first: float,
    last: float,
    *,
    rest: bool = True,
) -> Floats:
    """The moves with the smallest margins on the ways down from these starts, none larger than the radius (a number or
    (n,)). The size of steps falls from `first` to `last`, in units of the radius. rest: a sample does so as soon as it is
    lost."""
    best, moves = start.copy(), start
    if not len(target):
        return best
    lowest = np.full(len(target), np.inf)
    alive, part, limit = np.arange(len(target)), target, np.broadcast_to(np.asarray(radius, dtype=float), len(target))
    for step in np.geomspace(first, last, steps):
        margin, gradient = part.margin_and_gradient(moves)
        better = margin < lowest[alive]
        best[alive[better]], lowest[alive[better]] = moves[better], margin[better]
        moves = target.norm.within(moves - (step * limit)[:, None] * target.norm.steepest(gradient), limit)
        going = lowest[alive] > 0
        if rest and going.mean() < 0.9:
            alive, moves, limit = alive[going], moves[going], limit[going]
            part = target[alive]
            if not len(alive):
                return best
    better = part.margin(moves) < lowest[alive]
    best[alive[better]] = moves[better]
    return best
