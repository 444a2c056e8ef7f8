"""Certified radii of two-layer networks: within them no perturbation changes the class.

Over the ball |delta| <= r every neuron's s_j + <u_j, delta> stays in an interval. There its response is bounded on the side
that matters by a line or a parabola, so that with D = sum_j q_j u_j u_j^T

    f(x + delta) >= c + <g, delta> - delta^T D delta/2,

whose minimum over the ball is a trust-region problem in the neurons' span. Neurons that are almost orthogonal cannot all be
moved at once, which a bound neuron by neuron would miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...errors import UsageError
from .classifier import Classifier, TwoLayer, restricted

#: How often a bound's lines are laid anew at the worst point of the bound before.
ITERATIONS = 4
#: Halvings and doublings of the radius, and halvings of a trust region's multiplier.
HALVINGS, DOUBLINGS, MULTIPLIER_HALVINGS = 14, 20, 30
#: What rounding may have added, relative to a radius and to the sum of all terms of a value.
SHAVED, ROUNDING = 1e-9, 1e-13
#: Samples are treated so many numbers (samples x neurons) at a time.
CHUNK = 200_000


def has_certificate(classifier: Classifier) -> TypeGuard[TwoLayer]:
    """Two-layer networks with a single output, whose activations are powers or bend as tanh does."""
    return isinstance(classifier, TwoLayer) and (
        classifier.activation.degree is not None or classifier.activation.bend is not None
    )


def certified_radius(classifier: Classifier, x: Floats) -> Floats:
    """(n,): a lower bound of each sample's distance from the nearest point where the network has not its sign.

    0 where the network is 0. Raises UsageError for what `has_certificate` does not know.
    """
    if not has_certificate(classifier):
        raise UsageError(f'there are no certified radii for the classifier "{classifier.name}"')
    inside, basis = restricted(classifier)
    assert isinstance(inside, TwoLayer)
    points = x if basis is None else x @ basis
    value, radius = inside.value(points), np.zeros(len(x))
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(sign * value > 0)
        bound = BallBound(inside * sign)
        for part in _chunks(rows, len(inside.weight)):
            radius[part] = _largest(bound, points[part])
    return radius * (1 - SHAVED)


def lipschitz_radius(classifier: Classifier, steepness: float, x: Floats) -> Floats:
    """(n,): |f| over a bound of |f(x) - f(z)|/|x - z|, a lower bound of the same distance."""
    return np.abs(classifier.value(x)) / max(steepness, np.finfo(float).tiny) * (1 - SHAVED)


def _chunks(rows: Integers, neurons: int) -> Iterator[Integers]:
    size = max(CHUNK // neurons, 1)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _largest(bound: BallBound, x: Floats) -> Floats:
    """(n,): the largest radii found for which the bound is positive; each of them has been looked at."""
    value, gradient = bound.network.value_and_gradient(x)
    length = np.linalg.norm(x, axis=1) + np.abs(bound.network.offset).max(initial=0.0)
    steepness = np.linalg.norm(gradient, axis=1)
    with np.errstate(over="ignore"):  # where the network is flat, the samples' own size is the guess
        guess = 4 * value / np.where(steepness > 0, steepness, np.finfo(float).tiny)
    high = np.minimum(guess, np.maximum(length, 1e-300))
    low, going = np.zeros(len(x)), np.arange(len(x))
    for _ in range(DOUBLINGS):
        going = going[bound(x[going], high[going]) > 0]
        low[going] = high[going]
        high[going] *= 2
        if not len(going):
            break
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        holds = bound(x, middle) > 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


@dataclass(frozen=True)
class Side:
    """A bound of responses on one side over intervals around s: value + slope (t - s) +- curvature (t - s)^2/2 (n, m)."""

    value: Floats
    slope: Floats
    curvature: Floats


class BallBound:
    """(x (n, d), radius (n,)) -> a lower bound (n,) of the network on the ball around x."""

    def __init__(self, network: TwoLayer):
        self.network = network
        self.size = np.linalg.norm(network.direction, axis=1)
        self.shape = _shape_of(network)
        # D <= eta D_0 with a sample's own eta and one D_0 for all
        raises = (network.weight < 0) | (not self.shape.convex)
        scale = np.where(raises, np.abs(network.weight), 0.0) * self.shape.steepness
        self.steepness = self.shape.steepness
        eigenvalues, self.axes = np.linalg.eigh((scale[:, None] * network.direction).T @ network.direction)
        # what rounding may have taken away is given back
        self.eigenvalues = np.maximum(eigenvalues, 0.0) + ROUNDING * len(scale) * scale.sum()

    def __call__(self, x: Floats, radius: Floats) -> Floats:
        network, shape = self.network, self.shape
        s = x @ network.direction.T + network.offset
        half = radius[:, None] * self.size
        response, slope = network.responses(x)
        margin = ROUNDING * len(network.weight) * ((np.abs(response) + np.abs(slope) * half) @ np.abs(network.weight))
        below, above = network.weight > 0, network.weight < 0
        best = np.full(len(x), -np.inf)
        for lower, upper in shape.sides:
            gradient = (slope * network.weight) @ network.direction
            steepness = np.linalg.norm(gradient, axis=1, keepdims=True)
            move = -radius[:, None] * gradient / np.where(steepness > 0, steepness, 1.0)
            for _ in range(ITERATIONS):
                at = np.clip(s + move @ network.direction.T, s - half, s + half)
                found, move = self._minimum(lower(s, half, at), upper(s, half, at), below, above, radius)
                best = np.maximum(best, found)
        return best - margin

    def _minimum(
        self, lower: Side, upper: Side, below: Booleans, above: Booleans, radius: Floats
    ) -> tuple[Floats, Floats]:
        """(lower bound (n,) over the ball with these bounds of the responses, the point (n, d) at which it is reached)"""
        weight = self.network.weight
        value = np.where(below, lower.value, upper.value) @ weight
        gradient = (np.where(below, lower.slope, upper.slope) * weight) @ self.network.direction
        curvature = np.where(below, lower.curvature, np.where(above, upper.curvature, 0.0))
        eta = (curvature / self.steepness).max(axis=1, initial=0.0)
        least, move = trust_region(gradient @ self.axes, eta[:, None] * self.eigenvalues, radius)
        return value + least, move @ self.axes.T


def trust_region(gradient: Floats, eigenvalues: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """(a lower bound (n,) of <g, z> - sum_i e_i z_i^2/2 over |z| <= radius, close to the minimum, the z it is near to).

    gradient, eigenvalues (n, r), e_i >= 0. Any multiplier lambda > max e gives the bound
    -sum_i g_i^2/(lambda - e_i)/2 - lambda radius^2/2.
    """
    top = eigenvalues.max(axis=1, initial=0.0)
    length = np.linalg.norm(gradient, axis=1)
    tiny = np.finfo(float).tiny
    # at the upper end |z| <= radius; at the lower one it may be anything
    low, high = top * (1 + 1e-9), top * (1 + 1e-9) + length / np.maximum(radius, tiny) + tiny
    # without curvature the upper end is the multiplier
    for _ in range(MULTIPLIER_HALVINGS if top.any() else 0):
        middle = (low + high) / 2
        inside = np.linalg.norm(gradient / (middle[:, None] - eigenvalues), axis=1) <= radius
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    move = -gradient / (high[:, None] - eigenvalues)
    bound = (gradient * move).sum(axis=1) / 2 - high * radius**2 / 2
    return bound, move


Bound = Callable[[Floats, Floats, Floats], Side]


@dataclass(frozen=True)
class Shape:
    """How an activation is bounded. sides: pairs of functions (s, half, at), all (n, m), giving a bound from below and one
    from above over s +- half; a line may be laid at the point `at` of the interval. convex: whether bounds from below
    have no curvature. steepness (m,): what curvatures of a neuron are measured in."""

    sides: tuple[tuple[Bound, Bound], ...]
    convex: bool
    steepness: Floats


def _shape_of(network: TwoLayer) -> Shape:
    activation, log_norm = network.activation, network.log_norm
    degree = activation.degree

    def response(s: Floats) -> tuple[Floats, Floats]:
        return activation.response(s, log_norm, np)

    def tangent(s: Floats, half: Floats, at: Floats) -> Side:
        value, slope = response(at)
        return Side(value + slope * (s - at), slope, np.zeros_like(s))

    def chord(s: Floats, half: Floats, at: Floats) -> Side:
        low, high = response(s - half)[0], response(s + half)[0]
        slope = np.where(half > 0, (high - low) / np.where(half > 0, 2 * half, 1.0), 0.0)
        return Side((low + high) / 2, slope, np.zeros_like(s))

    def parabola(s: Floats, half: Floats, at: Floats) -> Side:
        """Tangent at s, through the end of the interval: above k where k'' does not fall"""
        value, slope = response(s)
        rise = response(s + half)[0] - value - slope * half
        return Side(value, slope, np.where(half > 0, 2 * np.maximum(rise, 0) / np.where(half > 0, half, 1.0) ** 2, 0.0))

    def kinked(s: Floats, half: Floats, at: Floats) -> Side:
        """ReLU below (t - low)^2 high/(high - low)^2 where the middle s <= 0, mirrored where it is not; leaky ReLU alike"""
        inactive = activation.inactive_slope
        short, wide = np.maximum(half - np.abs(s), 0.0), np.where(half > 0, half, 1.0)
        value, slope = np.maximum(s, 0) + short / 4, (s > 0) - np.sign(s - 0.0) * short / (2 * wide)
        slope = np.where(s == 0, 0.5, slope)
        gain = 1 - inactive
        return Side(inactive * s + gain * value, inactive + gain * slope, gain * short / (2 * wide**2))

    one = np.ones(len(network.weight))
    if degree is None:
        assert activation.bend is not None
        return Shape(_bending(response, activation.bend, tangent, chord, log_norm), False, np.exp(log_norm))
    curved = ((tangent, kinked),) if degree == 1 else ((tangent, parabola),) if degree >= 2 else ()
    return Shape(((tangent, chord), *curved), True, one)


def _bending(
    response: Callable[[Floats], tuple[Floats, Floats]],
    bend: Callable[[Floats, Floats], Floats],
    tangent: Bound,
    chord: Bound,
    log_norm: Floats,
) -> tuple[tuple[Bound, Bound], ...]:
    """k = f(|w| s)/|w|, such as that of tanh, convex for s < 0, concave for s > 0, its derivative smallest at an end of
    every interval."""

    def line(lower: bool) -> Bound:
        def bound(s: Floats, half: Floats, at: Floats) -> Side:
            (low, low_slope), (high, high_slope) = response(s - half), response(s + half)
            slope = np.minimum(low_slope, high_slope)
            parallel = low + slope * half if lower else high - slope * half
            bent = s + half <= 0 if lower else s - half >= 0
            straight = s - half >= 0 if lower else s + half <= 0
            touching, through = tangent(s, half, at), chord(s, half, at)
            value = np.where(bent, touching.value, np.where(straight, through.value, parallel))
            return Side(value, np.where(bent, touching.slope, np.where(straight, through.slope, slope)), 0 * s)

        return bound

    def parabola(lower: bool) -> Bound:
        norm = np.exp(log_norm)

        def bound(s: Floats, half: Floats, at: Floats) -> Side:
            """|k''| is |w| times that of f"""
            value, slope = response(s)
            sign = 1.0 if lower else -1.0
            ends = np.sort(np.stack([sign * norm * (s - half), sign * norm * (s + half)]), axis=0)
            return Side(value, slope, norm * bend(ends[0], ends[1]))

        return bound

    return ((line(True), line(False)), (parabola(True), parabola(False)))
