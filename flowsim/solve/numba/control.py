"""What a step is judged by: the error of each neuron, relative to that neuron, and how far neurons are aligned."""

from __future__ import annotations

from math import hypot, inf, isfinite, sqrt

from ...arrays import Floats
from ..constants import OUTPUT_FLOOR, SAME_SIZE, TURNS_AWAY
from .compiled import compiled
from .field import dot, norm_of
from .layout import Aims, Network, State
from .tableau import Tableau

#: A force on a weight is known to this part of the output weight.
ROUNDING = 1e-14


@compiled
def add(factor: float, first: Floats, second: Floats) -> None:
    """second += factor first"""
    for c in range(len(second)):
        second[c] += factor * first[c]


@compiled
def step_error(
    length: float,
    rtol: float,
    polar: bool,
    tableau: Tableau,
    k: Floats,
    before: Floats,
    after: Floats,
    output: Floats,
    estimate: Floats,
) -> float:
    """The largest local error of any neuron, relative to that neuron, inf where it is not finite."""
    worst, single = 0.0, tableau.error[1, 0] == 0.0
    for which in range(1 if single else 2):
        combine(tableau.error[which], length, k, estimate[which])
    for j in range(len(before)):
        least = 0.0 if polar else least_size(rtol, output[j])
        error = relative(j, before, after, estimate[0], least, polar)
        if not single:
            # Hairer's combination of two estimates (dop853)
            third = relative(j, before, after, estimate[1], least, polar)
            if third != 0.0:  # in a form whose squares do not underflow, for neurons that all but rest
                error *= error / hypot(error, 0.1 * third)
        if not isfinite(error):
            return inf
        worst = max(worst, error)
    return worst


@compiled
def combine(coefficients: Floats, length: float, k: Floats, out: Floats) -> None:
    """length times the combination of the stages k, into out."""
    flat = out.reshape(out.size)
    flat[:] = 0.0
    for stage in range(len(coefficients)):
        if coefficients[stage] != 0.0:
            add(length * coefficients[stage], k[stage].reshape(out.size), flat)


@compiled
def least_size(rtol: float, output: float) -> float:
    """What a neuron's change counts relative to at least: a part of its output weight below which forces are rounding."""
    return ROUNDING / rtol * output


@compiled
def relative(j: int, before: Floats, after: Floats, change: Floats, least: float, polar: bool) -> float:
    """The size of a change of neuron j, relative to the neuron: angle, log norm and output weight, the largest; nan where
    one is."""
    r = change.shape[1] - 2
    output = max(abs(before[j, r + 1]), abs(after[j, r + 1]))
    if polar:
        square = 0.0
        for c in range(r):
            square += change[j, c] * change[j, c]
        first, second, output = sqrt(square), abs(change[j, r]), max(output, OUTPUT_FLOOR)
    else:
        size = max(least, norm_of(before[j, :r]), norm_of(after[j, :r]))
        first, second = norm_of(change[j, :r]) / (size if size > 0.0 else 1.0), 0.0
        output = max(output, OUTPUT_FLOOR * size)
    third = abs(change[j, r + 1]) / (output if output > 0.0 else 1.0)
    return max(first, second, third) + 0.0 * (first + second + third)


@compiled
def pace(j: int, rtol: float, y: Floats, velocity: Floats, output: float, network: Network) -> float:
    """How fast neuron j moves, relative to itself, where what dies does not move: see TURNS_AWAY."""
    rate = relative(j, y, y, velocity, least_size(rtol, output), network.polar)
    if not network.trained or network.homogeneity != 1.0 or network.degree == 0.0:
        return rate
    r = y.shape[1] - 2
    growth, ratio, size = velocity[j, r], 1.0 if network.balanced else abs(y[j, r + 1]), 1.0
    if not network.polar:
        size, growth = norm_of(y[j, :r]), 0.0
        if size == 0.0:
            return rate
        ratio = abs(y[j, r + 1]) / size
        for c in range(r):
            growth += (y[j, c] / size) * (velocity[j, c] / size)
    if growth >= 0.0 or ratio < 1.0 - SAME_SIZE:
        return rate
    square = 0.0
    for c in range(r):
        turning = velocity[j, c] / size if network.polar else (velocity[j, c] - growth * y[j, c]) / size
        square += turning * turning
    return min(rate, TURNS_AWAY * sqrt(square))


@compiled
def all_aligned(aims: Aims, network: Network, state: State) -> bool:
    """Whether every targeted neuron's cosine with its target is at least the goal."""
    r, some = state.y.shape[1] - 2, False
    for j in range(len(state.y)):
        if aims.targeted[j]:
            some = True
            along = dot(state.y[j, :r], aims.center[j])
            size = 0.0
            for c in range(r):
                size += (aims.feature[c] * state.y[j, c]) ** 2
            if along < aims.alignment * sqrt(size):
                return False
    return some
