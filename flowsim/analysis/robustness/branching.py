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

from ...problem.data.samples import Floats, Integers
from .classifier import TwoLayer
from .projection import nearer, shortest_step

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
        bound, parts = search.divide(box)
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
            found.upper = min(found.upper, float(np.linalg.norm(step)) if np.isfinite(least) else np.inf)
        return found

    def look(self, step: Floats) -> None:
        """A step across the boundary, if this one, or one near it, is."""
        self.upper = min(self.upper, nearer(self.network, self.x, step)[0])

    def shrunk(self, box: Box) -> Box:
        """What is left of it within the least radius known."""
        within = min(self.upper, self.reach) * np.linalg.norm(self.network.direction[self.concave], axis=1)
        s = self.s[self.concave]
        return Box(np.maximum(box.low, s - within), np.minimum(box.high, s + within))

    def divide(self, box: Box) -> tuple[float, list[Box]]:
        """(a lower bound of the radius in this box, the parts that have to be looked at; none where the bound is exact)"""
        box = self.shrunk(box)
        if (box.low > box.high).any():
            return np.inf, []
        bound, step = self._relaxed(box)
        if bound >= min(self.upper, self.reach) or not np.isfinite(step).all():
            return bound, []
        self.look(step)
        at = np.clip((self.s + self.network.direction @ step)[self.concave], box.low, box.high)
        gap = self._above(box, at)
        worst = int(gap.argmax()) if len(gap) else 0
        scale = np.abs(self.network.weight) @ np.abs(self._response(self.s))
        if not len(gap) or gap[worst] <= 1e-15 * scale:
            return bound, []
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

    def _relaxed(self, box: Box) -> tuple[float, Floats]:
        """(a lower bound of the distance of the points of the box at which the convex bound is <= 0, the step to there)"""
        network, concave = self.network, self.concave
        low, slope = self._chords(box)
        directions, s = network.direction[concave], self.s[concave]
        rows, least = [directions, -directions], [box.low - s, s - box.high]
        weight = np.where(network.weight > 0, network.weight, 0.0)
        pull, constant = (
            (network.weight[concave] * slope) @ directions,
            network.weight[concave] @ (low + slope * (s - box.low)),
        )
        bound, step, size = 0.0, np.zeros_like(self.x), float(self.network.value(self.x[None])[0])
        for _ in range(CUTS):
            pre = self.s + network.direction @ step
            response, steepness = network.activation.response(pre, network.log_norm, np)
            value = weight @ response + constant + pull @ step
            if value <= 1e-16 * size and bound > 0:
                break
            gradient = (weight * steepness) @ network.direction + pull
            rows.append(-gradient[None])
            least.append(np.array([value - gradient @ step]))
            step, found = shortest_step(np.concatenate(rows), np.concatenate(least))
            bound = max(bound, found)
            if not np.isfinite(found) or bound >= self.upper:
                break
        return bound, step


def _halves(box: Box, neuron: int, at: float, kinked: bool) -> list[Box]:
    """The box divided at the kink, or else where the chord is off, but not too near to an end."""
    low, high = float(box.low[neuron]), float(box.high[neuron])
    cut = 0.0 if kinked else min(max(at, low + 0.2 * (high - low)), high - 0.2 * (high - low))
    first, second = box.high.copy(), box.low.copy()
    first[neuron] = second[neuron] = cut
    return [Box(box.low, first), Box(second, box.high)]
