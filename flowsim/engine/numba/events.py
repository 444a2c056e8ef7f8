"""Where within a step a gate first stops fitting: a sign that no longer is the gate's, a sliding gate outside [0, 1]."""

from __future__ import annotations

from math import inf

import numpy as np

from ...problem.data.samples import Floats
from .compiled import compiled
from .field import dot
from .gated import ON_PLANE
from .layout import CANDIDATE, LENGTH, Data, Network, State, Work
from .tableau import Tableau

#: Instants of a step at which polynomials are looked at before a root is bracketed.
LOOKS = 16
#: Bisections of a bracket: to the last bit.
BISECTIONS = 60


@compiled
def first_events(margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """The parts of the last step, in (0, 1], at which the first event of each neuron lies, inf without one, in work.where.

    margin: how far a sliding gate may leave [0, 1] before its neuron does; late by so little is an error of its square.
    """
    work.where[:] = inf
    length = state.clock[LENGTH]
    for place in range(state.counts[CANDIDATE]):
        j, i = work.candidate[0, place], work.candidate[1, place]
        end = min(work.where[j], 1.0)
        found = _crossing(j, i, end, state.y_begin[j], state.k[:, j], length, network, data, tableau, state, work)
        work.where[j] = min(work.where[j], found)
    for j in range(len(work.where)):
        work.where[j] = min(work.where[j], first_leaving(j, margin, tableau, state, work))


@compiled
def next_event(
    j: int, walk: int, margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work
) -> float:
    """The same for neuron j in the part of the step through which it went by itself; all candidates are its own."""
    part, left = inf, 1.0 - state.walk_part[walk]
    length = left * state.clock[LENGTH]
    for place in range(state.counts[CANDIDATE]):
        i, end = work.candidate[1, place], min(part, 1.0)
        begin, k = state.walk_y[walk], state.walk_k[:, walk]
        part = min(part, _crossing(j, i, end, begin, k, length, network, data, tableau, state, work))
    part = min(part, first_leaving(j, margin, tableau, state, work))
    return state.walk_part[walk] + part * left


@compiled
def _crossing(
    j: int,
    i: int,
    end: float,
    begin: Floats,
    k: Floats,
    length: float,
    network: Network,
    data: Data,
    tableau: Tableau,
    state: State,
    work: Work,
) -> float:
    """Where sample i first gets to the wrong side of neuron j's plane, which moves from `begin` with k (stages, r + 2)."""
    r, x = work.direction.shape[1], data.inputs[i]
    sign = 1.0 if state.gate[j, i] == 1 else -1.0
    # sign <y_j(theta), x> in powers of theta
    powers = np.zeros(tableau.dense.shape[1] + 1)
    powers[0] = sign * dot(begin[:r], x)
    for stage in range(len(tableau.dense)):
        rate = sign * length * dot(k[stage, :r], x)
        for p in range(1, len(powers)):
            powers[p] += rate * tableau.dense[stage, p - 1]
    level = -ON_PLANE * (1.0 if network.polar else work.size[j]) * data.norm[i]
    return _falls_below(powers, level, end)


@compiled
def first_leaving(j: int, margin: float, tableau: Tableau, state: State, work: Work) -> float:
    """Where the first sliding gate of neuron j leaves [0, 1], of those that are outside at the end."""
    part = inf
    for k in range(state.slide_count[j]):
        if leaves(j, k, margin, tableau.stages - 1, work):
            part = min(part, _leaving_at(j, k, margin, tableau, work))
    return part


@compiled
def leaves(j: int, k: int, margin: float, slot: int, work: Work) -> bool:
    """Whether sliding gate k of neuron j is further than `margin` outside [0, 1] at a stage."""
    z, cap = work.slide_z[slot, j, k], work.slide_cap[slot, j, k]
    slack = margin * max(abs(work.slide_cap[0, j, k]), abs(cap))
    return z < -slack or cap - z < -slack


@compiled
def _leaving_at(j: int, k: int, margin: float, tableau: Tableau, work: Work) -> float:
    """Where in the step it first is so, knowing that it is at the end.

    The force on the plane is interpolated as the derivative of the dense output, from its values at the stages.
    """
    slack = margin * max(abs(work.slide_cap[0, j, k]), abs(work.slide_cap[tableau.stages - 1, j, k]))
    found, powers = 1.0, np.zeros(tableau.dense.shape[1] + 1)
    for upper in (False, True):
        powers[:] = 0.0
        for stage in range(len(tableau.dense)):
            z, cap = work.slide_z[stage, j, k], work.slide_cap[stage, j, k]
            for p in range(len(powers) - 1):
                powers[p] += (cap - z if upper else z) * tableau.dense[stage, p] * (p + 1)
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
