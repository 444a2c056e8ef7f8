"""Runge-Kutta-Chebyshev steps of order 2 (Sommeijer, Shampine & Verwer 1998): a stability interval on the negative axis
that grows like the square of the stages, from evaluations of the field alone.

A step leaves what a tableau's step would: the velocity at both ends and the mean one as its three stages.
"""

from __future__ import annotations

from math import sqrt

from ...arrays import Floats
from ..constants import DAMPING, INTERVAL, ITERATIONS, LINEAR, MOST_STAGES, PERTURBATION, SAFE, SETTLED_RADIUS
from .compiled import allocating, compiled
from .field import copy, evaluate, norm_of
from .layout import LENGTH, SPECTRAL, Data, Network, State, Work
from .regime import WITH_GATES

#: A step is stiff for the explicit pairs when it is so many times the inverse spectral radius, and soft again when it is
#: less than the second: of pairs that stability holds back it is about 2, found from below.
STIFF, SOFT = 1.0, 0.5


@compiled
def chebyshev_step(network: Network, data: Data, state: State, work: Work) -> None:
    """Stages of a step from state.y_begin, whose velocity is state.k[0]: the mean velocity into k[1], that at the end into
    k[2], the end itself into work.stage. Shortens the step where it would take too many stages."""
    if WITH_GATES:  # with the gates that this step keeps: a jump beside it would pass for a large slope
        evaluate(state.y_begin, state.k[0], 0, 0.0, network, data, state, work)
    radius = SAFE * spectral_radius(network, data, state, work)
    length = min(state.clock[LENGTH], INTERVAL * (MOST_STAGES * MOST_STAGES - 1) / max(radius, 1e-300))
    chebyshev_part(length, network, data, state, work)


@compiled
def chebyshev_part(length: float, network: Network, data: Data, state: State, work: Work) -> None:
    """The same for the part of the step that is so long."""
    state.clock[LENGTH] = length
    _recur(length, network, data, state, work)
    flat_mean, flat_begin, flat_end = state.k[1].reshape(-1), state.y_begin.reshape(-1), work.stage.reshape(-1)
    for c in range(len(flat_mean)):
        flat_mean[c] = (flat_end[c] - flat_begin[c]) / length
    evaluate(work.stage, state.k[2], 2, 1.0, network, data, state, work)
    if WITH_GATES:
        for force in (work.slide_z, work.slide_cap):
            for j in range(force.shape[1]):
                for k in range(force.shape[2]):
                    force[1, j, k] = 0.5 * (force[0, j, k] + force[2, j, k])


@allocating
def chebyshev_inside(part: float, network: Network, data: Data, state: State, work: Work, y: Floats) -> None:
    """The state at a part of the last step, into y, by a step of its own: multipliers go by differences of margins, which
    have to be good to less than 1 where margins are 10^5, and no polynomial over a stiff step gives that."""
    velocity = state.k[2].copy()
    _recur(part * state.clock[LENGTH], network, data, state, work)
    copy(work.stage, y)
    copy(velocity, state.k[2])


@compiled
def _recur(length: float, network: Network, data: Data, state: State, work: Work) -> None:
    """The state after a step of this length, into work.stage: the three-term recursion of Chebyshev's polynomials."""
    stages = max(2, 1 + int(sqrt(length * SAFE * state.clock[SPECTRAL] / INTERVAL + 1.0)))
    w0 = 1.0 + DAMPING / (stages * stages)
    # T_j(w0), T'_j(w0), T''_j(w0) for j = stages
    t1, t2, d1, d2, c1, c2 = w0, 1.0, 1.0, 0.0, 0.0, 0.0
    for _ in range(2, stages + 1):
        t, d, c = 2.0 * w0 * t1 - t2, 2.0 * t1 + 2.0 * w0 * d1 - d2, 4.0 * d1 + 2.0 * w0 * c1 - c2
        t1, t2, d1, d2, c1, c2 = t, t1, d, d1, c, c1
    w1 = d1 / c1
    size = work.stage.size
    begin, velocity = state.y_begin.reshape(size), state.k[0].reshape(size)
    drift = state.k[2].reshape(size)
    latest, older = work.estimate[0], work.estimate[1]
    # T_2''(w0) / T_2'(w0)^2, which serves the first two stages as well
    b1 = b2 = 1.0 / (4.0 * w0 * w0)
    first, second = latest.reshape(size), older.reshape(size)
    for c in range(size):
        second[c] = begin[c]
        first[c] = begin[c] + b1 * w1 * length * velocity[c]
    t1, t2, d1, d2, c1, c2 = w0, 1.0, 1.0, 0.0, 0.0, 0.0
    for _ in range(2, stages + 1):
        evaluate(latest, state.k[2], 2, 0.0, network, data, state, work)
        a1 = 1.0 - b1 * t1
        t, d, curve = 2.0 * w0 * t1 - t2, 2.0 * t1 + 2.0 * w0 * d1 - d2, 4.0 * d1 + 2.0 * w0 * c1 - c2
        b = curve / (d * d)
        mu, nu, push = 2.0 * b * w0 / b1, -b / b2, 2.0 * b * w1 / b1
        first, second = latest.reshape(size), older.reshape(size)
        for c in range(size):
            value = (1.0 - mu - nu) * begin[c] + mu * first[c] + nu * second[c]
            second[c] = value + push * length * (drift[c] - a1 * velocity[c])
        latest, older = older, latest
        t1, t2, d1, d2, c1, c2 = t, t1, d, d1, curve, c1
        b1, b2 = b, b1
    copy(latest, work.stage)


@compiled
def spectral_radius(network: Network, data: Data, state: State, work: Work) -> float:
    """Of the field at state.y_begin, whose velocity is state.k[0]: power iterations by differences, from the direction that
    the last ones have found. What they evaluate counts."""
    size = work.stage.size
    mode, begin, velocity = state.mode.reshape(size), state.y_begin.reshape(size), state.k[0].reshape(size)
    moved, away = work.estimate[0].reshape(size), state.k[2].reshape(size)
    radius = state.clock[SPECTRAL]
    scale = 1.0 if network.polar else max(norm_of(begin), 1e-300)
    for _ in range(ITERATIONS):
        length = norm_of(mode)
        if not length > 0.0:
            _spread(mode)
            length = norm_of(mode)
        shift = scale * min(PERTURBATION, LINEAR / max(radius, 1.0)) / length
        for c in range(size):
            moved[c] = begin[c] + shift * mode[c]
        evaluate(work.estimate[0], state.k[2], 2, 0.0, network, data, state, work)
        for c in range(size):
            mode[c] = (away[c] - velocity[c]) / (shift * length)
        before, radius = radius, norm_of(mode)
        if abs(radius - before) <= SETTLED_RADIUS * radius:
            break
    state.clock[SPECTRAL] = radius
    return radius


@compiled
def _spread(mode: Floats) -> None:
    """A direction to begin with, with a part along every other."""
    for c in range(len(mode)):
        mode[c] = 1.0 + ((c * 7919) % 101) / 101.0
        if (c * 31) % 3 == 0:
            mode[c] = -mode[c]
