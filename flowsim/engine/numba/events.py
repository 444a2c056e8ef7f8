"""Where within a step a gate first stops fitting: a sign that no longer is the gate's, a sliding gate outside [0, 1]."""

from __future__ import annotations

from math import inf

import numpy as np

from ...problem.data.samples import Floats
from .compiled import compiled
from .field import ON_PLANE, dot
from .layout import CANDIDATE, LENGTH, Data, Network, State, Work
from .tableau import Tableau

#: Instants of a step at which polynomials are looked at before a root is bracketed.
LOOKS = 16
#: Bisections of a bracket: to the last bit.
BISECTIONS = 60


@compiled
def first_event(margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> float:
    """The part of the last step, in (0, 1], at which the first event lies, inf without one; flags its neurons.

    margin: how far a sliding gate may leave [0, 1] before its neuron does; late by so little is an error of its square.
    """
    first, most, r = inf, state.counts[CANDIDATE], work.direction.shape[1]
    powers = np.zeros(tableau.dense.shape[1] + 1)
    where = np.full(len(work.flagged), inf)
    for place in range(most):
        j, i = work.candidate[0, place], work.candidate[1, place]
        sign = 1.0 if state.gate[j, i] == 1 else -1.0
        x = data.inputs[i]
        _positions(sign, j, x, r, tableau, state, powers)
        level = -ON_PLANE * (1.0 if network.polar else work.size[j]) * data.norm[i]
        found = _falls_below(powers, level, min(first, 1.0))
        where[j] = min(where[j], found)
        first = min(first, found)
    for j in range(len(where)):
        for k in range(state.slide_count[j]):
            if not leaves(j, k, margin, tableau.stages - 1, work):
                continue
            found = _leaving_at(j, k, margin, tableau, work, powers)
            where[j] = min(where[j], found)
            first = min(first, found)
    for j in range(len(where)):
        work.flagged[j] = where[j] < inf and where[j] <= first * (1.0 + 1e-12)
    return first


@compiled
def _positions(sign: float, j: int, x: Floats, r: int, tableau: Tableau, state: State, powers: Floats) -> None:
    """sign <y_j(theta), x> in powers of theta."""
    powers[:] = 0.0
    powers[0] = sign * dot(state.y_begin[j, :r], x)
    for stage in range(len(tableau.dense)):
        rate = sign * state.clock[LENGTH] * dot(state.k[stage, j, :r], x)
        for p in range(1, len(powers)):
            powers[p] += rate * tableau.dense[stage, p - 1]


@compiled
def leaves(j: int, k: int, margin: float, slot: int, work: Work) -> bool:
    """Whether sliding gate k of neuron j is further than `margin` outside [0, 1] at a stage."""
    z, cap = work.slide_z[slot, j, k], work.slide_cap[slot, j, k]
    slack = margin * max(abs(work.slide_cap[0, j, k]), abs(cap))
    return z < -slack or cap - z < -slack


@compiled
def _leaving_at(j: int, k: int, margin: float, tableau: Tableau, work: Work, powers: Floats) -> float:
    """Where in the step it first is so, knowing that it is at the end.

    The force on the plane is interpolated as the derivative of the dense output, from its values at the stages.
    """
    slack = margin * max(abs(work.slide_cap[0, j, k]), abs(work.slide_cap[tableau.stages - 1, j, k]))
    found = 1.0
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
