"""The loss clock s, with dt/ds = e^phi, phi = g - log L: the loss falls at d log L/ds = -e^-g |dtheta/ds|^2.

g = (1 - L/2) log(1 + |theta|^2) for a network whose output is homogeneous of degree L in what is trained: then log|theta|
moves with s at a rate of order 1, however small the loss has become. Flow time is kept as its logarithm. Where phi
changes little within a step of a pair, time is integrated by the pair like any other part of the state; elsewhere from
cubics with phi's values and slopes at their ends: of a step of a pair from several, one after the other.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt

from ...arrays import Floats
from ..constants import BISECTIONS, NEGLIGIBLE, PIECES
from .compiled import compiled
from .formulas import log_add
from .layout import (
    BEGIN,
    BEGIN_LOG_SPEED,
    BEGIN_LOG_TIME,
    BEGIN_SLOPE,
    END_SLOPE,
    LENGTH,
    LOG_SPEED,
    PIECED,
    TIME,
    Data,
    Network,
    State,
    Work,
)
from .tableau import Tableau

#: Where the logarithm of dt/ds changes by less than this in a step of a pair, time is integrated by the pair.
SMOOTH = 1.0
#: Gauss's five nodes and weights on [0, 1].
NODES = (0.046910077030668, 0.2307653449471585, 0.5, 0.7692346550528415, 0.953089922969332)
WEIGHTS = (0.1184634425280945, 0.2393143352496832, 0.2844444444444444, 0.2393143352496832, 0.1184634425280945)


@compiled
def growth(y: Floats, network: Network, data: Data) -> float:
    """g"""
    if network.growth == 0.0:
        return 0.0
    return network.growth * log1p(_products(y, y, y, network, data)[0])


@compiled
def slope_of(y: Floats, velocity: Floats, network: Network, data: Data) -> tuple[float, float]:
    """(dg/ds, d log L/ds)"""
    size, along, speed = _products(y, velocity, velocity, network, data)
    factor = network.growth
    return 2.0 * factor * along / (1.0 + size), -speed * exp(-factor * log1p(size)) if factor != 0.0 else -speed


@compiled
def loss_change(y: Floats, velocity: Floats, change: Floats, network: Network, data: Data) -> float:
    """What a change of the state is to log L, to first order."""
    size, _, along = _products(y, velocity, change, network, data)
    return -along * exp(-network.growth * log1p(size))


@compiled
def _products(y: Floats, velocity: Floats, change: Floats, network: Network, data: Data) -> tuple[float, float, float]:
    """(|theta|^2, <theta, theta'>, <theta', a change of theta>) over what is trained"""
    r = y.shape[1] - 2
    size, along, across = 0.0, 0.0, 0.0
    for j in range(len(y)):
        if network.polar:
            square, rate = exp(2.0 * y[j, r]), velocity[j, r]
            turning = 0.0
            for c in range(r):
                turning += velocity[j, c] * change[j, c]
            size += square
            along += square * rate
            across += square * (turning + rate * change[j, r])
            if network.trained:
                ratio = data.output_sign[j] if network.balanced else y[j, r + 1]
                first = ratio * rate + (0.0 if network.balanced else velocity[j, r + 1])
                second = ratio * change[j, r] + (0.0 if network.balanced else change[j, r + 1])
                size += square * ratio * ratio
                along += square * ratio * first
                across += square * first * second
        else:
            for c in range(r + 2 if network.trained else r):
                if c != r:
                    size += y[j, c] * y[j, c]
                    along += y[j, c] * velocity[j, c]
                    across += velocity[j, c] * change[j, c]
    return size, along, across


@compiled
def log_time_inside(part: float, tableau: Tableau, state: State, work: Work) -> float:
    """log of flow time at a part of the last step's whole length, of which an event may have cut off the end. Needs its
    dense output, but at its end."""
    clock = state.clock
    if part <= 0.0:
        return clock[BEGIN_LOG_TIME]
    begin = clock[BEGIN_LOG_SPEED]
    if by_pair(tableau, state, work):
        total = 0.0
        for stage in range(len(tableau.dense)):
            weight = tableau.weights[stage]
            if part < 1.0:
                weight = 0.0
                for p in range(tableau.dense.shape[1] - 1, -1, -1):
                    weight = (weight + tableau.dense[stage, p]) * part
            if weight != 0.0:
                total += weight * exp((work.log_speed[stage] if stage > 0 else begin) - begin)
        return log_add(clock[BEGIN_LOG_TIME], log(clock[LENGTH] * total) + begin)
    if state.counts[PIECED]:
        return _log_time_of_pieces(part, state)
    length = clock[TIME] - clock[BEGIN]
    return log_time_of_cubic(min(part * clock[LENGTH] / length, 1.0), length, clock[LOG_SPEED], clock[END_SLOPE], state)


@compiled
def by_pair(tableau: Tableau, state: State, work: Work) -> bool:
    """Whether time is integrated by the pair in the last step."""
    change = work.log_speed[tableau.stages - 1] - state.clock[BEGIN_LOG_SPEED]
    return not tableau.chebyshev and abs(change) < SMOOTH


@compiled
def _log_time_of_pieces(part: float, state: State) -> float:
    speed, slope, length = state.pieces[0], state.pieces[1], state.clock[LENGTH] / PIECES
    log_time = state.clock[BEGIN_LOG_TIME]
    for piece in range(PIECES):
        covered = min(part * PIECES - piece, 1.0)
        if covered > 0.0:
            first, last = length * slope[piece], length * slope[piece + 1]
            gone = _log_integral(covered, speed[piece], speed[piece + 1], first, last)
            log_time = log_add(log_time, log(length) + gone)
    return log_time


@compiled
def log_time_of_cubic(part: float, length: float, log_speed: float, slope: float, state: State) -> float:
    """log of flow time at a part of this length from where the last step began, with phi and its slope at the end of it."""
    clock = state.clock
    first, last = length * clock[BEGIN_SLOPE], length * slope
    gone = _log_integral(part, clock[BEGIN_LOG_SPEED], log_speed, first, last)
    return log_add(clock[BEGIN_LOG_TIME], log(length) + gone)


@compiled
def part_at(log_time: float, tableau: Tableau, state: State, work: Work) -> float:
    """The inverse: the part of the last step's whole length at which flow time has this log."""
    low, high = 0.0, (state.clock[TIME] - state.clock[BEGIN]) / state.clock[LENGTH]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if log_time_inside(middle, tableau, state, work) < log_time:
            low = middle
        else:
            high = middle
    return high


@compiled
def _log_integral(part: float, begin: float, end: float, first: float, last: float) -> float:
    """log of the integral of e^H from 0 to `part`, H the cubic on [0, 1] with these values and slopes at its ends.

    H may rise by thousands, and between its ends above both: pieces over which it changes by about 1, from `part` down,
    until nothing is left.
    """
    if part <= 0.0:
        return -inf
    hill = _hill(begin, end, first, last)
    top = _highest(part, hill, begin, end, first, last)
    total, right = 0.0, part
    while right > 0.0:
        width = min(right, 0.5 / _steepness(right, begin, end, first, last))
        left = right - width
        for node in range(len(NODES)):
            height = _cubic(left + width * NODES[node], begin, end, first, last)
            total += width * WEIGHTS[node] * exp(height - top)
        right = left
        if _highest(right, hill, begin, end, first, last) < top - NEGLIGIBLE:
            break
    return top + log(total)


@compiled
def _highest(part: float, hill: float, begin: float, end: float, first: float, last: float) -> float:
    """The largest value of H on [0, part]; hill: where it is highest inside."""
    height = max(_cubic(part, begin, end, first, last), begin)
    return max(height, _cubic(hill, begin, end, first, last)) if hill < part else height


@compiled
def _hill(begin: float, end: float, first: float, last: float) -> float:
    """Where in (0, 1) H has a local maximum; inf where it has none."""
    rise = end - begin
    # H' = first + 2 bend part + 3 twist part^2
    bend, twist = 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise
    square = bend * bend - 3.0 * twist * first
    if square <= 0.0:
        return inf
    root = sqrt(square)
    below = root - bend  # of the two roots, where H' falls, in the form that does not cancel
    place = first / below if bend < 0.0 else -(bend + root) / (3.0 * twist) if twist != 0.0 else inf
    return place if 0.0 < place < 1.0 else inf


@compiled
def _cubic(part: float, begin: float, end: float, first: float, last: float) -> float:
    rise = end - begin
    return begin + part * (first + part * (3.0 * rise - 2.0 * first - last + part * (first + last - 2.0 * rise)))


@compiled
def _steepness(part: float, begin: float, end: float, first: float, last: float) -> float:
    """The inverse of how far from there H changes by about 1, by each of its derivatives; at least 1."""
    rise = end - begin
    bend, twist = 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise
    slope = abs(first + part * (2.0 * bend + 3.0 * twist * part))
    return max(1.0, slope, sqrt(abs(2.0 * bend + 6.0 * twist * part)), (6.0 * abs(twist)) ** (1.0 / 3.0))
