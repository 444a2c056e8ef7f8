"""Exact radii of networks with few neurons, by branch and bound over the pre-activations.

For a sample of sign + the neurons of positive weight are convex in the input, the others concave. Over a box of the
others' pre-activations each of these is above its chord, so that the network has a convex lower bound there; the nearest
point at which that is <= 0 comes from tangent planes (cuts) and shortest steps into polyhedra. The box is divided at the
neuron whose chord is furthest off. Where k has two straight pieces, as of ReLU, no neuron is divided twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from ...arrays import Floats, Integers
from .classifier import TwoLayer
from .projection import OVERSHOOT, ROUNDING, SHAVED, nearer, shortest_step

#: Tangent planes for one box, at most.
CUTS = 100
#: Nothing is looked for beyond so many times the size of the sample and of the neurons' offsets.
FAR = 100.0
#: Points from which the boundary is first looked for: this share of them random.
TRIES = 20


def radius(network: TwoLayer, x: Floats, tolerance: float, boxes: int) -> tuple[float, float]:
    """A bracket of the distance of x (d,) from the nearest point where the network has not its sign there; no wider than
    tolerance, relatively, unless so many boxes are not enough. The upper end is inf where nothing was found."""
    value = float(network.value(x[None])[0])
    if value == 0:
        return 0.0, 0.0
    search = Search.begin(network * float(np.sign(value)), x)
    first = Box(np.full(len(search.concave), -np.inf), np.full(len(search.concave), np.inf))
    order = count()
    waiting: list[tuple[float, int, Box]] = [(0.0, next(order), search.shrunk(first))]
    closed = np.inf
    for _ in range(boxes):
        if not waiting or waiting[0][0] >= search.upper * (1 - tolerance):
            break
        least, _, box = heappop(waiting)
        bound, parts = search.divide(box, tolerance)
        bound = max(bound, least)
        if bound >= search.upper * (1 - tolerance) or not parts:
            closed = min(closed, bound)
            continue
        for part in parts:
            heappush(waiting, (bound, next(order), part))
    lower = min(closed, waiting[0][0] if waiting else np.inf, search.reach)
    return float(min(lower, search.upper)), search.upper


@dataclass(frozen=True)
class Box:
    """low, high: the bounds of the concave neurons' pre-activations"""

    low: Floats
    high: Floats


@dataclass
class Search:
    """network: positive at x. concave: its neurons of negative weight. s (m,): pre-activations at x. reach: nothing is
    looked for at a greater distance. upper: length of the shortest step known to cross the boundary."""

    network: TwoLayer
    x: Floats
    concave: Integers
    s: Floats
    reach: float
    upper: float = np.inf

    @classmethod
    def begin(cls, network: TwoLayer, x: Floats) -> Search:
        s = network.direction @ x + network.offset
        reach = FAR * float(np.linalg.norm(x) + np.abs(network.offset).max(initial=0.0) + np.finfo(float).tiny)
        found = cls(network, x, np.flatnonzero(network.weight < 0), s, reach)
        generator = np.random.default_rng(0)
        size = float(np.linalg.norm(x)) + float(np.abs(network.offset).max(initial=0.0))
        steps = [-x, *(size * row for row in network.direction), *(-size * row for row in network.direction)]
        steps += [*(size * generator.standard_normal((TRIES, len(x))) / len(x) ** 0.5)]
        for step in steps:
            found.look(step)
        if network.activation.inactive_slope == 0:
            # with no convex neuron active the network is <= 0, often 0 and flat, which no tangent shows
            convex = network.weight > 0
            step, least = shortest_step(-network.direction[convex], s[convex])
            length = float(np.linalg.norm(step))
            if np.isfinite(least) and (s[convex] + network.direction[convex] @ step <= SHAVED * length).all():
                found.upper = min(found.upper, length)
        return found

    def look(self, step: Floats) -> None:
        """A step across the boundary, if this one, or one near it, is."""
        if np.isfinite(step).all():
            self.upper = min(self.upper, nearer(self.network, self.x, step)[0])

    def shrunk(self, box: Box) -> Box:
        """What is left of it within the least radius known."""
        within = min(self.upper, self.reach) * np.linalg.norm(self.network.direction[self.concave], axis=1)
        s = self.s[self.concave]
        return Box(np.maximum(box.low, s - within), np.minimum(box.high, s + within))

    def divide(self, box: Box, tolerance: float) -> tuple[float, list[Box]]:
        """(a lower bound of the radius in this box, the parts that have to be looked at; none where the bound is exact)"""
        box = self.shrunk(box)
        if (box.low > box.high).any():
            return np.inf, []
        bound, step = self._relaxed(box)
        if bound >= min(self.upper, self.reach):
            return bound, []
        self.look(step)
        at = np.clip((self.s + self.network.direction @ step)[self.concave], box.low, box.high)
        negligible = ROUNDING * float(np.abs(self.network.weight) @ np.abs(self._response(self.s)))
        if self._above(box, at).max(initial=0.0) <= negligible:
            # the step ends at the boundary, but straight on from there, as at an edge, the sign may stay
            self.look(self._relaxed(box, OVERSHOOT * float(self.network.value(self.x[None])[0]))[1])
            at = (box.low + box.high) / 2
        gap = self._above(box, at)
        if bound >= self.upper * (1 - tolerance) or gap.max(initial=0.0) <= negligible:
            return bound, []
        worst = int(gap.argmax())
        return bound, _halves(box, worst, float(at[worst]), self.network.activation.degree == 1)

    def _response(self, s: Floats) -> Floats:
        return self.network.activation.response(s, self.network.log_norm, np)[0]

    def _concave_response(self, s: Floats) -> Floats:
        log_norm = self.network.log_norm[self.concave]
        return self.network.activation.response(s, log_norm, np)[0]

    def _chords(self, box: Box) -> tuple[Floats, Floats]:
        """(value at the lower end, slope)"""
        low, high = self._concave_response(box.low), self._concave_response(box.high)
        width = box.high - box.low
        return low, np.where(width > 0, (high - low) / np.where(width > 0, width, 1.0), 0.0)

    def _above(self, box: Box, at: Floats) -> Floats:
        """By how much the chords are off"""
        low, slope = self._chords(box)
        weight = -self.network.weight[self.concave]
        return weight * (low + slope * (at - box.low) - self._concave_response(at))

    def _relaxed(self, box: Box, beyond: float = 0.0) -> tuple[float, Floats]:
        """(a lower bound of the distance of the box's points at which the convex bound is <= -beyond, the step to there)"""
        network, concave = self.network, self.concave
        low, slope = self._chords(box)
        weight, pull = np.where(network.weight > 0, network.weight, 0.0), network.weight[concave] * slope
        rows, least = self._sides(box)
        step, bound = shortest_step(rows, least)
        for _ in range(CUTS):
            if bound >= self.upper:
                break
            pre = self.s + network.direction @ step
            response, steepness = network.activation.response(pre, network.log_norm, np)
            terms = np.append(weight * response, network.weight[concave] * (low + slope * (pre[concave] - box.low)))
            value = float(terms.sum()) + beyond
            if value <= ROUNDING * float(np.abs(terms).sum()):
                break
            gradient = (weight * steepness) @ network.direction + pull @ network.direction[concave]
            rows, least = np.vstack([rows, -gradient]), np.append(least, value - gradient @ step)
            further, found = shortest_step(rows, least)
            # a cut makes the step longer: where it does not, the rest is rounding, and more cuts that are nearly the same
            # would spoil the step
            if found <= bound:
                break
            step, bound = further, found
        return bound, step

    def _sides(self, box: Box) -> tuple[Floats, Floats]:
        """Rows and what they are at least: the box, and where k is 0 on one side, each convex neuron alone is no more than
        all of the concave ones. Near to where all are 0 tangents would get there slowly."""
        network, concave = self.network, self.concave
        directions, s = network.direction[concave], self.s[concave]
        rows, least = np.vstack([directions, -directions]), np.concatenate([box.low - s, s - box.high])
        degree = network.activation.degree
        if network.activation.inactive_slope != 0 or degree is None:
            return rows, least
        convex = np.flatnonzero(network.weight > 0)
        most = float(-network.weight[concave] @ self._concave_response(box.high))
        with np.errstate(over="ignore"):  # neurons of next to no weight: without a bound
            highest = (most / network.weight[convex]) ** (1 / degree)
        reached = min(self.upper, self.reach) * np.linalg.norm(network.direction[convex], axis=1)
        inside = highest < self.s[convex] + reached
        bounded = convex[inside]
        return np.vstack([rows, -network.direction[bounded]]), np.append(least, self.s[bounded] - highest[inside])


def _halves(box: Box, neuron: int, at: float, kinked: bool) -> list[Box]:
    """The box divided at the kink, or else where the chord is off, but not too near to an end."""
    low, high = float(box.low[neuron]), float(box.high[neuron])
    cut = 0.0 if kinked and low < 0 < high else min(max(at, low + 0.2 * (high - low)), high - 0.2 * (high - low))
    first, second = box.high.copy(), box.low.copy()
    first[neuron] = second[neuron] = cut
    return [Box(box.low, first), Box(second, box.high)]
