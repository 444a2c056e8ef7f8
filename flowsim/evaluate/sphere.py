"""How far a network is from another on a sphere, up to scale: inf_{c > 0} sup_{|x| = radius} |c f(x) - F(x)|."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linprog

from ..arrays import Floats
from ..kinds.streams import stream
from .robustness.classifier import TwoLayer, restricted

#: Ascents begin at no more than so many neurons of each network, at the points opposite them and at random ones.
STARTS = 48
#: Ascents take so many steps of a length that falls from LONGEST radii to SHORTEST, for the sake of kinks, and then as
#: many whose length each of them chooses by its success.
STEPS, LONGEST, SHORTEST = 80, 1.0, 1e-3
#: The best of the ascents go on until so many steps in a row have brought no more than CONVERGED, at most REFINED in all.
KEPT, PATIENCE, CONVERGED, REFINED = 24, 20, 1e-6, 1000
#: Scales are tried until the supremum is this close to the largest value at the points found before, at most ROUNDS times.
TOLERANCE, ROUNDS = 1e-4, 12


@dataclass(frozen=True)
class Distance:
    """up_to_scale: inf_{c > 0} sup |c f - F|; factor: that c; as_it_is: sup |f - F|; size: sup |F|."""

    up_to_scale: float
    factor: float
    as_it_is: float
    size: float


def sphere_distance(network: TwoLayer, ideal: TwoLayer, radius: float = 1.0, starts: int = STARTS) -> Distance:
    """The distance of f = `network` from F = `ideal` on the sphere of this radius.

    Only the span of the neurons of both matters. A supremum is the largest value that gradient ascent from many points
    finds, so a lower bound of the true one. The infimum is over the points found so far, to which each round adds those
    where its c is worst, until no worse ones are found.
    """
    difference, _ = restricted(Difference(network, ideal))
    assert isinstance(difference, Difference)
    found = Search(difference, radius, starts)
    own = float(np.exp(network.log_scale))
    size, as_it_is = found.supremum(0.0), found.supremum(own)
    best, factor = min((size, 0.0), (as_it_is, own))
    for _ in range(ROUNDS):
        trial, lower = found.best_factor()
        best, factor = min((best, factor), (found.supremum(trial), trial))
        if best <= lower * (1 + TOLERANCE):
            break
    with np.errstate(over="ignore"):
        return Distance(best, float(factor * np.exp(-network.log_scale)), as_it_is, size)


@dataclass(frozen=True)
class Difference:
    """factor f - F, f without its log_scale"""

    network: TwoLayer
    ideal: TwoLayer
    factor: float = 1.0
    name: str = "difference"

    @property
    def dimension(self) -> int:
        return self.network.dimension

    @property
    def directions(self) -> Floats:
        return np.concatenate([self.network.direction, self.ideal.direction])

    def within(self, basis: Floats) -> Difference:
        return replace(self, network=self.network.within(basis), ideal=self.ideal.within(basis))

    def value(self, x: Floats) -> Floats:
        return self.factor * self.network.value(x) - self.ideal(x)

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        value, gradient = self.network.value_and_gradient(x)
        return self.factor * value - self.ideal(x), self.factor * gradient - self.ideal.gradient(x)


@dataclass
class Search:
    """The points of a sphere at which factor f - F has been seen to be large, for any of the factors asked for."""

    difference: Difference
    radius: float
    starts: int
    points: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.points = np.zeros((0, self.difference.dimension))
        self._begin = self._first_points()

    def supremum(self, factor: float) -> float:
        """sup |factor f - F|; where ascents end is added to the points."""
        function = replace(self.difference, factor=factor)
        begin = np.concatenate([self._begin, self._largest(function, self.points)])
        value = function.value(begin)
        sign = np.where(value < 0, -1.0, 1.0)
        # from where ascents begin both signs may be reached, at what they found before only one is large
        count = len(self._begin)
        begin, sign = np.concatenate([begin, begin[:count]]), np.concatenate([sign, -sign[:count]])
        ends = ascend(function, sign, begin, self.radius)
        self.points = np.concatenate([self.points, ends])
        return float(np.abs(function.value(ends)).max())

    def best_factor(self) -> tuple[float, float]:
        """(the factor >= 0 with the smallest max |factor f - F| over the points, that maximum), a linear programme"""
        network, ideal = self.difference.network.value(self.points), self.difference.ideal(self.points)
        size, unit = np.abs(ideal).max(initial=0.0), np.abs(network).max(initial=0.0)
        if size == 0 or unit == 0:
            return 0.0, float(size)
        above = np.column_stack([network / unit, -np.ones(len(network))])
        below = np.column_stack([-network / unit, -np.ones(len(network))])
        found = linprog(
            [0.0, 1.0],
            A_ub=np.concatenate([above, below]),
            b_ub=np.concatenate([ideal, -ideal]) / size,
            bounds=[(0, None), (0, None)],
            method="highs",
        )
        factor = float(found.x[0] * size / unit)
        return factor, float(np.abs(factor * network - ideal).max())

    def _first_points(self) -> Floats:
        generator = stream(0, "distance.sphere")
        neurons = [
            part.direction[generator.permutation(len(part.direction))[: self.starts]]
            for part in (self.difference.network, self.difference.ideal)
        ]
        random = generator.standard_normal((self.starts, self.difference.dimension))
        return on_sphere(np.concatenate([*neurons, *(-part for part in neurons), random]), self.radius)

    def _largest(self, function: Difference, points: Floats) -> Floats:
        return points[np.argsort(-np.abs(function.value(points)))[: 2 * KEPT]]


def ascend(function: Difference, sign: Floats, points: Floats, radius: float) -> Floats:
    """The points (n, d) of the sphere with the largest sign (n,) times the function on ways uphill from these."""
    points, value = points.copy(), sign * function.value(points)
    at = points.copy()
    for length in np.geomspace(LONGEST, SHORTEST, STEPS):
        new, gradient = function.value_and_gradient(at)
        better = sign * new > value
        points[better], value[better] = at[better], (sign * new)[better]
        at = on_sphere(at + length * on_sphere(_along(sign[:, None] * gradient, at), radius), radius)
    points = _adaptively(function, sign, points, radius, STEPS)
    best = np.argsort(-sign * function.value(points))[:KEPT]
    points[best] = _adaptively(function, sign[best], points[best], radius, REFINED)
    return points


def _adaptively(function: Difference, sign: Floats, points: Floats, radius: float, steps: int) -> Floats:
    """Steps uphill, each point's longer after one that led up and shorter after one that did not."""
    value, gradient = function.value_and_gradient(points)
    value, tangent = sign * value, _along(sign[:, None] * gradient, points)
    length, top, waited = np.full(len(points), SHORTEST), value.max(), 0
    for _ in range(steps):
        new = on_sphere(points + (length * radius)[:, None] * on_sphere(tangent, 1.0), radius)
        reached, gradient = function.value_and_gradient(new)
        better = sign * reached > value
        points[better], value[better] = new[better], (sign * reached)[better]
        tangent[better] = _along(sign[better, None] * gradient[better], new[better])
        length = np.clip(np.where(better, 1.5 * length, 0.5 * length), 1e-12, LONGEST)
        waited = 0 if value.max() > top * (1 + CONVERGED) else waited + 1
        top = max(top, value.max()) if waited == 0 else top
        if waited > PATIENCE:
            break
    return points


def _along(gradient: Floats, points: Floats) -> Floats:
    """The part of the gradient along the sphere"""
    square = (points**2).sum(axis=1, keepdims=True)
    return gradient - (gradient * points).sum(axis=1, keepdims=True) / np.where(square > 0, square, 1.0) * points


def on_sphere(x: Floats, radius: float) -> Floats:
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return radius * x / np.where(norm > 0, norm, 1.0)
