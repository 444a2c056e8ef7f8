"""States within and at the end of a step."""

from __future__ import annotations

from math import exp

import numpy as np

from ...arrays import Floats
from ..constants import PIECES
from .clock import by_pair, log_time_of_cubic, slope_of
from .compiled import allocating, compiled
from .control import add, combine
from .field import copy, copy_row, dot, evaluate, norm_of
from .layout import (
    BEGIN,
    BEGIN_LOG_SPEED,
    BEGIN_SLOPE,
    DENSE,
    END_SLOPE,
    LENGTH,
    LOG_SPEED,
    PIECED,
    TIME,
    WALKS,
    Data,
    Network,
    State,
    Work,
)
from .regime import WITH_GATES
from .tableau import Tableau

#: Newton's steps towards an instant of time, how near they come, and where they look first of all.
REFINEMENTS, SAME_TIME, LEAST_PART = 20, 1e-12, 1e-9


@compiled
def densify(network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """The stages that only dense output needs."""
    if state.counts[DENSE] == 0:
        for stage in range(tableau.stages, len(tableau.a)):
            advanced(tableau.a[stage], state.clock[LENGTH], state.k, state.y_begin, work.stage)
            evaluate(work.stage, state.k[stage], stage, 0.0, network, data, state, work)
        state.counts[DENSE] = 1


@compiled
def advanced(coefficients: Floats, length: float, k: Floats, y_begin: Floats, y: Floats) -> None:
    """y_begin + length times the combination of the stages."""
    combine(coefficients, length, k, y)
    add(1.0, y_begin.reshape(y.size), y.reshape(y.size))


@allocating
def interpolate(part: float, tableau: Tableau, state: State, y: Floats) -> None:
    advanced(_coefficients(part, tableau), state.clock[LENGTH], state.k, state.y_begin, y)
    if WITH_GATES:
        for walk in range(state.counts[WALKS]):
            if part > state.walk_part[walk]:
                _walked(walk, part, tableau, state, y[state.walk_row[walk]])


@allocating
def interpolate_row(j: int, part: float, tableau: Tableau, state: State, y: Floats) -> None:
    """The same for neuron j alone, into its row of y."""
    advanced_row(_coefficients(part, tableau), state.clock[LENGTH], state.k[:, j], state.y_begin[j], y[j])
    for walk in range(state.counts[WALKS]):
        if state.walk_row[walk] == j and part > state.walk_part[walk]:
            _walked(walk, part, tableau, state, y[j])


@allocating
def interpolate_rate(j: int, part: float, tableau: Tableau, state: State, y: Floats) -> None:
    """The velocity of neuron j at a part of the last step, into its row of y."""
    k, inside = state.k[:, j], part
    for walk in range(state.counts[WALKS]):
        if state.walk_row[walk] == j and part > state.walk_part[walk]:
            k, inside = state.walk_k[:, walk], (part - state.walk_part[walk]) / (1.0 - state.walk_part[walk])
    weights = rates(inside, tableau)
    y[j] = 0.0
    for stage in range(len(weights)):
        add(weights[stage], k[stage], y[j])


@allocating
def _walked(walk: int, part: float, tableau: Tableau, state: State, row: Floats) -> None:
    left = 1.0 - state.walk_part[walk]
    coefficients = _coefficients((part - state.walk_part[walk]) / left, tableau)
    advanced_row(coefficients, left * state.clock[LENGTH], state.walk_k[:, walk], state.walk_y[walk], row)


@allocating
def _coefficients(part: float, tableau: Tableau) -> Floats:
    coefficients = np.zeros(len(tableau.dense))
    for stage in range(len(coefficients)):
        for p in range(tableau.dense.shape[1] - 1, -1, -1):
            coefficients[stage] = (coefficients[stage] + tableau.dense[stage, p]) * part
    return coefficients


@allocating
def rates(part: float, tableau: Tableau) -> Floats:
    """The derivatives of dense output's coefficients: what weighs the stages' values of anything to give that inside."""
    weights = np.zeros(len(tableau.dense))
    for stage in range(len(weights)):
        for p in range(tableau.dense.shape[1] - 1, -1, -1):
            weights[stage] = weights[stage] * part + (p + 1) * tableau.dense[stage, p]
    return weights


@compiled
def advanced_row(coefficients: Floats, length: float, k: Floats, begin: Floats, row: Floats) -> None:
    """`advanced` for one row: k (stages, r + 2)."""
    copy_row(begin, row)
    for stage in range(len(coefficients)):
        if coefficients[stage] != 0.0:
            add(length * coefficients[stage], k[stage], row)


@compiled
def locate(
    log_time: float, part: float, tableau: Tableau, network: Network, data: Data, state: State, work: Work, y: Floats
) -> float:
    """The part of the last step at which flow time has this log, from a guess. The cubic over a whole step may be off
    by much between its ends, so the field is evaluated there; for that it uses y."""
    made = (state.clock[TIME] - state.clock[BEGIN]) / state.clock[LENGTH]
    for _ in range(REFINEMENTS):
        found, log_speed = time_there(part, tableau, network, data, state, work, y)
        if abs(found - log_time) <= SAME_TIME * (1.0 + abs(log_time)):
            break
        part += (log_time - found) / (state.clock[LENGTH] * exp(log_speed - found))
        part = min(max(part, LEAST_PART), made)
    return part


@allocating
def look_inside(network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """Log of dt/ds and its slope at even places of the last step of a pair, where they change by much within it."""
    clock, counts, last = state.clock, state.counts, tableau.stages - 1
    counts[PIECED] = not tableau.chebyshev and not by_pair(tableau, state, work)
    if not counts[PIECED]:
        return
    densify(network, data, tableau, state, work)
    outputs, at_end = work.outputs.copy(), work.log_speed[last]
    speed, slope = state.pieces[0], state.pieces[1]
    speed[0], slope[0] = clock[BEGIN_LOG_SPEED], clock[BEGIN_SLOPE]
    speed[PIECES], slope[PIECES] = clock[LOG_SPEED], clock[END_SLOPE]
    for piece in range(1, PIECES):
        interpolate(piece / PIECES, tableau, state, work.stage)
        normalise(0, len(work.stage), work.stage, network)
        evaluate(work.stage, work.estimate[0], last, 0.0, network, data, state, work)
        rising, falling = slope_of(work.stage, work.estimate[0], network, data)
        speed[piece], slope[piece] = work.log_speed[last], rising - falling
    copy(outputs, work.outputs)
    work.log_speed[last] = at_end


@compiled
def time_there(
    part: float, tableau: Tableau, network: Network, data: Data, state: State, work: Work, y: Floats
) -> tuple[float, float]:
    """(log of flow time, log of its rate) at a part of the last step, from the field there; the state there into y."""
    clock, last = state.clock, tableau.stages - 1
    interpolate(part, tableau, state, y)
    normalise(0, len(y), y, network)
    at_end = work.log_speed[last]
    evaluate(y, work.estimate[0], last, 0.0, network, data, state, work)
    log_speed, work.log_speed[last] = work.log_speed[last], at_end
    rising, falling = slope_of(y, work.estimate[0], network, data)
    return log_time_of_cubic(1.0, part * clock[LENGTH], log_speed, rising - falling, state), log_speed


@compiled
def settle(begin: int, end: int, y: Floats, network: Network, state: State) -> None:
    """Give back what rounding has taken from sliding neurons and from unit rows, of a range of neurons."""
    if WITH_GATES:
        r = y.shape[1] - 2
        for j in range(begin, end):
            for k in range(state.slide_count[j]):
                part = dot(state.basis[j, k], y[j, :r])
                for c in range(r):
                    y[j, c] -= part * state.basis[j, k, c]
    normalise(begin, end, y, network)


@compiled
def normalise(begin: int, end: int, y: Floats, network: Network) -> None:
    if network.polar:
        r = y.shape[1] - 2
        for j in range(begin, end):
            size = norm_of(y[j, :r])
            for c in range(r):
                y[j, c] /= size
