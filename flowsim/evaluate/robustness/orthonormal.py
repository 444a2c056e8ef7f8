"""Exact radii of F^(p) and of other networks with orthonormal neurons, p > 2 and no biases.

With z the products of a point with the neurons, the nearest point of the boundary minimises sum (z_i - x_i)^2 subject to
sum_N c_l max(z_l, 0)^p >= sum_P c_k max(z_k, 0)^p, P the neurons of the sample's sign. Unless z <= 0 in P it has a
multiplier with z_i - x_i = -+ multiplier c_i p max(z_i, 0)^(p - 1). In P that has one solution; in N a near one, which
grows with the multiplier, and a far one, which falls. By the second-order condition at most one neuron of N is at its far
solution, and all of z follows from the multiplier: a search in one dimension, with bounds over intervals that prove it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats
from .classifier import TwoLayer

#: Intervals of the first search, parts that each of them is divided into, and how often, at most.
INTERVALS, PARTS, DIVISIONS = 24, 6, 12
#: Newton steps for a coordinate, and divisions of an interval that holds a multiplier.
NEWTON, SECTIONS = 60, 20
#: No more intervals are divided at once.
DIVIDED = 4096


def radius(network: TwoLayer, x: Floats, tolerance: float) -> tuple[float, float]:
    """A bracket of the distance of x (d,) from the nearest point where the network has not its sign there."""
    value = float(network.value(x[None])[0])
    if value == 0:
        return 0.0, 0.0
    degree = network.activation.degree
    assert degree is not None
    share = np.sign(value) * network.weight
    used = share != 0
    at = Coordinates((network.direction @ x)[used], np.abs(share[used]), share[used] > 0, degree)
    # all of P at 0 is beyond the boundary
    square = float((np.maximum(at.x[at.kept], 0) ** 2).sum())
    upper = min(square, at.all_near())
    lower = upper
    for far in at.undominated():
        found, upper = _search(at, far, upper, tolerance)
        lower = min(lower, found)
    return float(np.sqrt(min(lower, upper))) * (1 - 1e-9), float(np.sqrt(upper))


def _search(at: Coordinates, far: int, upper: float, tolerance: float) -> tuple[float, float]:
    """(a lower bound of the squared distance of solutions with this neuron far, the least squared distance known)"""
    begin, end = at.turning(far), float(at.x[far] + np.sqrt(upper))
    if end <= begin:
        return upper, upper
    points = begin + (end - begin) * np.linspace(0, 1, INTERVALS + 1)
    near, beyond, least = points[:-1], points[1:], np.inf
    for division in range(DIVISIONS):
        upper = min(upper, at.reached(far, np.append(beyond, near[:1])))
        lower, possible = at.bounds(far, near, beyond)
        open_ = possible & (lower < upper * (1 - tolerance))
        if division == DIVISIONS - 1 or open_.sum() > DIVIDED:
            open_[:] = False
        least = min(least, float(lower[possible & ~open_].min(initial=np.inf)))
        if not open_.any():
            break
        share = np.linspace(0, 1, PARTS + 1)
        points = near[open_, None] + (beyond - near)[open_, None] * share
        near, beyond = points[:, :-1].ravel(), points[:, 1:].ravel()
    return least, upper


@dataclass(frozen=True)
class Coordinates:
    """x, size c, kept (whether in P), all (m,), and p = degree"""

    x: Floats
    size: Floats
    kept: Booleans
    degree: float

    def undominated(self) -> list[int]:
        """Neurons of N that may be the far one: one that is nearer and larger than another takes its place."""
        others = np.flatnonzero(~self.kept)
        # sizes that differ by rounding are one
        size = np.round(self.size[others] / self.size.max(), 12)
        order = others[np.lexsort((-self.x[others], -size))]
        best, found = -np.inf, []
        for index in order:
            if self.x[index] > best:
                best = self.x[index]
                found.append(int(index))
        return found

    def turning(self, far: int) -> float:
        """The coordinate at which the near and the far solution of a neuron are one; 0 where there is no near one."""
        return float(max(self.x[far], 0.0) * (self.degree - 1) / (self.degree - 2))

    def multiplier(self, far: int, z: Floats) -> Floats:
        """The multiplier at which a neuron of N is at z: it falls beyond its turning point."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = (z - self.x[far]) / (self.degree * self.size[far] * z ** (self.degree - 1))
        return np.where(z > 0, found, np.inf)

    def greatest(self, without: int | None = None) -> float:
        """The multiplier up to which every neuron of N but one has a near solution"""
        bounds = [
            float(self.multiplier(index, np.array(self.turning(index))))
            for index in np.flatnonzero(~self.kept).tolist()
            if index != without and self.x[index] > 0
        ]
        return min(bounds, default=np.inf)

    def near(self, multiplier: Floats, without: int | None = None) -> tuple[Floats, Floats]:
        """(sum_N c z^p - sum_P c z^p, sum (z - x)^2) (n,) of all neurons but one, those of N at their near solutions"""
        counted = np.arange(len(self.x)) != without
        slope = np.where(self.kept, 1.0, -1.0) * self.degree * self.size * counted
        start = np.maximum(self.x, 0.0)
        turning = start * (self.degree - 1) / (self.degree - 2)
        z = np.broadcast_to(start, (len(multiplier), len(start))).copy()
        finite = np.where(np.isfinite(multiplier), multiplier, 0.0)[:, None] * slope
        for _ in range(NEWTON):
            power = z ** (self.degree - 2)
            gap = z - start + finite * power * z
            rise = 1 + finite * (self.degree - 1) * power
            new = np.maximum(z - gap / np.where(rise > 1e-12, rise, 1e-12), 0.0)
            # Newton's steps all lead one way, but for rounding
            new = np.where(self.kept, np.minimum(new, z), np.clip(new, z, turning))
            settled = np.abs(new - z).max(initial=0.0) <= 4 * np.finfo(float).eps * new.max(initial=0.0)
            z = new
            if settled:
                break
        z = np.where(np.isfinite(multiplier)[:, None], z, np.where(self.kept, 0.0, start))
        terms = np.where(self.kept, -1.0, 1.0) * self.size * z**self.degree
        return terms[:, counted].sum(axis=1), ((z - start) ** 2)[:, counted].sum(axis=1)

    def all_near(self) -> float:
        """The squared distance of the solution at which no neuron is far; inf where there is none."""
        high = self.greatest()
        if not np.isfinite(high) or self.near(np.array([high]))[0][0] < 0:
            return np.inf
        low = 0.0
        for _ in range(SECTIONS):
            points = np.linspace(low, high, PARTS + 1)[1:]
            first = int((self.near(points)[0] >= 0).argmax())
            low, high = points[first - 1] if first else low, points[first]
        return float(self.near(np.array([high]))[1][0])

    def reached(self, far: int, z: Floats) -> float:
        """The least squared distance of these points that are beyond the boundary; inf where none is"""
        multiplier = self.multiplier(far, z)
        rest, square = self.near(np.minimum(multiplier, self.greatest(far)), far)
        beyond = rest + self.size[far] * z**self.degree >= 0
        return float((square + (z - self.x[far]) ** 2)[beyond].min(initial=np.inf))

    def bounds(self, far: int, low: Floats, high: Floats) -> tuple[Floats, Booleans]:
        """(lower bounds of the squared distance, whether the boundary may be there) with the neuron between low and high"""
        greatest = self.greatest(far)
        most, least = self.multiplier(far, low), self.multiplier(far, high)
        most = np.where(low > 0, most, np.inf)
        rest_least, square = self.near(np.minimum(least, greatest), far)
        rest_most, _ = self.near(np.minimum(most, greatest), far)
        own = self.size[far] * np.stack([low, high]) ** self.degree
        slack = 1e-12 * (self.size * np.abs(self.x) ** self.degree).sum()
        possible = (least <= greatest) & (rest_most + own[1] >= -slack) & (rest_least + own[0] <= slack)
        return square + (low - self.x[far]) ** 2, possible
