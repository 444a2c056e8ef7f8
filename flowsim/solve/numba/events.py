"""Where within a step a gate first stops fitting: a sign that no longer is the gate's, a sliding gate outside [0, 1]."""

from __future__ import annotations

from math import inf

import numpy as np

from ...arrays import Floats
from ..constants import BISECTIONS
from .compiled import allocating, compiled
from .field import dot
from .gated import ON_PLANE
from .layout import CANDIDATE, LENGTH, Data, Network, State, Work
from .tableau import Tableau

#: Instants of a step at which polynomials are looked at before a root is bracketed.
LOOKS = 16


@compiled
def first_events(margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """The parts of the last step, in (0, 1], at which the first event of each neuron lies, inf without one, in work.where.

    margin: how far a sliding gate may leave [0, 1] before its neuron does; late by so little is an error of its square.
    """
    where, size, begin, k = work.where, work.size, state.y_begin, state.k
    where[:] = inf
    r, length = work.direction.shape[1], state.clock[LENGTH]
    for place in range(state.counts[CANDIDATE]):
        j, i = work.candidate[0, place], work.candidate[1, place]
        sign = 1.0 if state.gate[j, i] == 1 else -1.0
        level = -ON_PLANE * (1.0 if network.polar else size[j]) * data.norm[i]
        end = min(where[j], 1.0)
        found = _crossing(sign, data.inputs[i], level, end, begin[j, :r], k[:, j, :r], length, tableau.dense)
        where[j] = min(where[j], found)
    last, slides = tableau.stages - 1, state.slide_count
    for j in range(len(where)):
        if slides[j] > 0:
            z, cap = work.slide_z[:, j, : slides[j]], work.slide_cap[:, j, : slides[j]]
            where[j] = min(where[j], _first_leaving(margin, z, cap, last, tableau.dense))


@compiled
def next_event(
    j: int, walk: int, margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work
) -> float:
    """The same for neuron j in the part of the step through which it went by itself; all candidates are its own."""
    part, left, r = inf, 1.0 - state.walk_part[walk], work.direction.shape[1]
    length, gate = left * state.clock[LENGTH], state.gate[j]
    begin, k, size = state.walk_y[walk, :r], state.walk_k[:, walk, :r], 1.0 if network.polar else work.size[j]
    for place in range(state.counts[CANDIDATE]):
        i, end = work.candidate[1, place], min(part, 1.0)
        sign, level = 1.0 if gate[i] == 1 else -1.0, -ON_PLANE * size * data.norm[i]
        part = min(part, _crossing(sign, data.inputs[i], level, end, begin, k, length, tableau.dense))
    count = state.slide_count[j]
    z, cap = work.slide_z[:, j, :count], work.slide_cap[:, j, :count]
    part = min(part, _first_leaving(margin, z, cap, tableau.stages - 1, tableau.dense))
    return state.walk_part[walk] + part * left


@allocating
def _crossing(
    sign: float, x: Floats, level: float, end: float, begin: Floats, k: Floats, length: float, dense: Floats
) -> float:
    """Where a sample x first gets to the wrong side, below the level, of the plane of a neuron that moves from `begin` (r,)
    with the velocities k (stages, r)."""
    # sign <y(theta), x> in powers of theta
    powers = np.zeros(dense.shape[1] + 1)
    powers[0] = sign * dot(begin, x)
    for stage in range(len(dense)):
        rate = sign * length * dot(k[stage], x)
        for p in range(1, len(powers)):
            powers[p] += rate * dense[stage, p - 1]
    return _falls_below(powers, level, end)


@compiled
def _first_leaving(margin: float, z: Floats, cap: Floats, last: int, dense: Floats) -> float:
    """Where the first of a neuron's sliding gates leaves [0, 1], of those that are outside at the last stage.

    z, cap (all stages, slides): the forces onto its planes, and what their gates can take of them.
    """
    part = inf
    for k in range(z.shape[1]):
        if outside(z[last, k], cap[0, k], cap[last, k], margin):
            part = min(part, _leaving_at(margin, z[:, k], cap[:, k], last, dense))
    return part


@compiled
def outside(z: float, cap_before: float, cap: float, margin: float) -> bool:
    """Whether a sliding gate, z / cap, is further than `margin` outside [0, 1]."""
    slack = margin * max(abs(cap_before), abs(cap))
    return z < -slack or cap - z < -slack


@allocating
def _leaving_at(margin: float, z: Floats, cap: Floats, last: int, dense: Floats) -> float:
    """Where in the step a gate first is so, knowing that it is at the end.

    The force on the plane is interpolated as the derivative of the dense output, from its values at the stages.
    """
    slack = margin * max(abs(cap[0]), abs(cap[last]))
    found, powers = 1.0, np.zeros(dense.shape[1] + 1)
    for upper in (False, True):
        powers[:] = 0.0
        for stage in range(len(dense)):
            for p in range(len(powers) - 1):
                powers[p] += (cap[stage] - z[stage] if upper else z[stage]) * dense[stage, p] * (p + 1)
        found = min(found, _falls_below(powers, -slack, found))
    return found


@compiled
def _falls_below(powers: Floats, level: float, end: float) -> float:
    """The first theta in (0, end] at which a polynomial, looked at in LOOKS places, is below the level; inf without one."""
    before = 0.0
    for look in range(1, LOOKS + 1):
        after = end * look / LOOKS
        if _value(powers, after) < level:
            for _ in range(BISECTIONS):
                middle = 0.5 * (before + after)
                if _value(powers, middle) < level:
                    after = middle
                else:
                    before = middle
            return after
        before = after
    return inf


@compiled
def _value(powers: Floats, theta: float) -> float:
    total = 0.0
    for p in range(len(powers) - 1, -1, -1):
        total = total * theta + powers[p]
    return total
