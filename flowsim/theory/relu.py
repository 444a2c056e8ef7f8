"""Two-layer ReLU networks as plain functions, and how far two of them are apart on a sphere, up to scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..analysis.robustness import TwoLayer
from ..problem.data.samples import Floats
from ..problem.networks import relu
from ..problem.streams import stream
from ..scenario.model import Relu

#: The sphere is searched by gradient ascent from the neurons and from as many random points.
STARTS, STEPS, ROUNDS = 64, 150, 6


RELU = relu.build(Relu(activation="relu"))


def relu_network(hidden: Floats, bias: Floats, output: Floats, name: str = "network") -> TwoLayer:
    """x (n, d) -> sum_j output_j max(<hidden_j, x> + bias_j, 0) (n,); hidden (m, d), bias and output (m,)."""
    return TwoLayer.of(hidden, bias, output, RELU, name)


def distance_up_to_scale(network: TwoLayer, ideal: TwoLayer, radius: float) -> tuple[float, float, float]:
    """(inf_{C > 0} sup_{|x| = radius} |C ideal(x) - network(x)|, that C, sup |network(x)|).

    Only the span of the neurons matters. The suprema are the largest values that gradient ascent finds there. The infimum
    is over the points found so far, to which each round adds those where its C is worst, until no worse ones are found.
    """
    basis = np.linalg.svd(np.concatenate([network.direction, ideal.direction]), full_matrices=False)[2].T
    network, ideal = network.within(basis), ideal.within(basis)
    size, points = _largest(network, radius)
    factor, found = 1.0, np.inf
    for _ in range(ROUNDS):
        factor, lower = _best_factor(ideal(points), network(points))
        found, worst = _largest(ideal * factor - network, radius)
        if found <= lower * (1 + 1e-6):
            break
        points = np.concatenate([points, worst])
    return found, factor, size


def _largest(network: TwoLayer, radius: float) -> tuple[float, Floats]:
    """(largest |f| found on the sphere, the points at which ascents of f and of -f ended)"""
    generator = stream(0, "theory.sphere")
    features = network.dimension
    norm = np.linalg.norm(network.direction, axis=1, keepdims=True)
    neurons = network.direction[norm[:, 0] > 0] / norm[norm[:, 0] > 0]
    neurons = neurons[generator.permutation(len(neurons))[:STARTS]]
    starts = np.concatenate([neurons, -neurons, generator.standard_normal((STARTS, features))])
    ends = [_ascend(network * sign, starts, radius) for sign in (1.0, -1.0)]
    points = np.concatenate(ends)
    return float(np.abs(network(points)).max()), points


def _ascend(network: TwoLayer, starts: Floats, radius: float) -> Floats:
    """The best points on the ways uphill from these directions, steps shrinking from the radius to a thousandth of it."""
    points = _on_sphere(starts, radius)
    best, value = points.copy(), network(points)
    for step in np.geomspace(1.0, 1e-3, STEPS):
        points = _on_sphere(points + step * _on_sphere(network.gradient(points), radius), radius)
        new = network(points)
        better = new > value
        best[better], value[better] = points[better], new[better]
    return best


def _on_sphere(x: Floats, radius: float) -> Floats:
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    return radius * x / np.where(norm > 0, norm, 1.0)


def _best_factor(ideal: Floats, network: Floats) -> tuple[float, float]:
    """(the C >= 0 with the smallest max |C ideal - network|, that maximum): a convex function of one number."""

    def worst(factor: float) -> float:
        return float(np.abs(factor * ideal - network).max())

    # |C ideal - network| <= |network| at the minimum, so C is at most twice the largest ratio
    high = 2 * float(np.abs(network).max()) / max(float(np.abs(ideal).max()), np.finfo(float).tiny)
    factor = _minimise(worst, 0.0, high)
    return factor, worst(factor)


def _minimise(function: Callable[[float], float], low: float, high: float) -> float:
    """Minimum of a convex function between two numbers, by thirds."""
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return (low + high) / 2
