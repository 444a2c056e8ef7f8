"""The stepping loop, compiled: adaptive steps, events of the gates, goals."""

from __future__ import annotations

from math import inf, isfinite, sqrt

import numpy as np

from ...problem.data.samples import Booleans, Floats
from .compiled import compiled, entry, inlined
from .control import add, all_aligned, combine, least_size, relative, step_error
from .events import first_event, leaves
from .field import ON_PLANE, dot, evaluate, norm_of, velocities
from .formulas import log_loss
from .layout import (
    ACCEPTED,
    BEGIN,
    BEGUN,
    CANDIDATE,
    CANDIDATES,
    DENSE,
    EVALUATIONS,
    EVENTS,
    FINITE,
    LAST_ERROR,
    LAST_EVENT,
    LENGTH,
    LOG_LOSS,
    RATE,
    REACHED,
    REJECTED,
    STALLED,
    STEP,
    TIME,
    Aims,
    Data,
    Log,
    Network,
    State,
    Work,
)
from .sliding import resolve
from .tableau import Tableau

#: First trial step: this much relative motion of the fastest neuron.
FIRST_MOTION = 1e-3
#: A step shorter than this many spacings of floating-point time cannot advance.
SMALLEST_STEP = 16.0
#: Step size control (Hairer, Norsett & Wanner, II.4): safety, exponents of this error and the last, largest changes.
SAFETY, NOW, BEFORE, SLOWEST, FASTEST = 0.9, 0.7, 0.2, 0.2, 10.0
#: Kinks that move a neuron by less than this part of the tolerance in a step are stepped over: error control does not see
#: them.
STEP_OVER = 0.02
#: So are, where a step would meet more than this many events, those that move it by less than as many tolerances as there
#: are such crowds: shorter steps are then cheaper than stopping at every event.
CROWD = 10.0
#: How fast the estimated rate of events follows at an event, and fades in a step without one.
FOLLOW, FADE = 0.1, 0.98
#: After an event the next step is at most this many times the part that was made, but at least this part of the whole.
AFTER_EVENT, SHORTEST_RESTART = 10.0, 0.05
#: More events than this while a neuron moves by less than the tolerance: its kinks are stepped over for as long.
ZENO = 50
#: So often a flight looks whether it has been stopped.
STEPS_BETWEEN_LOOKS = 64
#: A neuron of fixed or free output weight v counts as at least this part of |v| where it is asked what is 0 beside it.
BESIDE_OUTPUT = 1e-5
#: A sliding gate may leave [0, 1] by this many square roots of the tolerance.
LATE = 0.03


@entry
def advance(
    stop: float, attempts: int, network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work
) -> None:
    """Step until the time is at or past `stop` or the end, so many steps were tried, a goal is met or no step is possible.

    The first call finds the gates at the start, state.y, and a first trial step, which may be all that it is asked for.
    """
    clock, counts = state.clock, state.counts
    if counts[BEGUN] == 0:
        _begin(network, data, tableau, aims, state, work)
    last = counts[ACCEPTED] + counts[REJECTED] + attempts
    while (
        clock[TIME] < stop
        and clock[TIME] < aims.end
        and counts[ACCEPTED] + counts[REJECTED] < last
        and counts[REACHED] == 0
        and counts[STALLED] == 0
    ):
        _step(network, data, tableau, aims, state, work)


@entry
def through(
    instants: Floats,
    limit: int,
    stopped: Booleans,
    network: Network,
    data: Data,
    tableau: Tableau,
    aims: Aims,
    state: State,
    work: Work,
    log: Log,
) -> int:
    """Go on from time 0 through the instants, each noted in the log; how many were reached.

    Ends before where `limit` steps were accepted, a goal is met, no step is possible, or stopped[0] is set.
    """
    clock, counts = state.clock, state.counts
    for place in range(len(instants)):
        while clock[TIME] < instants[place]:
            if counts[REACHED] or counts[STALLED] or counts[ACCEPTED] >= limit or stopped[0]:
                return place
            advance(
                instants[place],
                min(limit - counts[ACCEPTED], STEPS_BETWEEN_LOOKS),
                network,
                data,
                tableau,
                aims,
                state,
                work,
            )
        count, plane = state.slide_count, state.slide_plane
        if clock[TIME] > instants[place]:
            inside(instants[place], network, data, tableau, state, work, log.y[place])
            count, plane = state.begin_count, state.begin_plane
        else:
            log.y[place] = state.y
        log.counts[place], log.step[place] = counts, clock[STEP]
        for j in range(len(log.sliding[place])):
            for k in range(count[j]):
                log.sliding[place, j, plane[j, k]] = True
    return len(instants)


@entry
def inside(time: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work, y: Floats) -> None:
    """The state at a time within the last accepted step, into y. What it evaluates for that is not counted: counts say
    what steps took, whatever is kept of them."""
    evaluations = state.counts[EVALUATIONS]
    _densify(network, data, tableau, state, work)
    state.counts[EVALUATIONS] = evaluations
    _interpolate((time - state.clock[BEGIN]) / state.clock[LENGTH], tableau, state, y)
    _normalise(y, network)


@inlined
def _begin(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """Gates, velocity, loss and first trial step at the start, state.y."""
    slot = tableau.stages - 1
    state.threshold[:] = inf
    evaluate(state.y, state.ahead, slot, 1.0, network, data, state, work)
    if network.kinked:
        for j in range(len(state.y)):
            resolve(j, state.ahead, slot, network, data, state, work)
        _settle(state.y, network, state)
    rate = 0.0
    for j in range(len(state.y)):
        rate = max(
            rate, relative(j, state.y, state.y, state.ahead, least_size(aims.rtol, work.output[j]), network.polar)
        )
    state.clock[STEP] = FIRST_MOTION / rate if rate > 0.0 else 1.0
    state.clock[LAST_ERROR] = 1.0
    state.counts[BEGUN] = state.counts[FINITE] = 1
    _arrive(network, data, tableau, aims, state, work)
    state.counts[REACHED] = state.counts[EVENTS] = 0  # nothing has happened yet


@inlined
def _step(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    clock, counts = state.clock, state.counts
    length = clock[STEP]
    # the end is met exactly, without a sliver of a step before it
    if clock[TIME] + 1.01 * length >= aims.end:
        length = aims.end - clock[TIME]
    state.y_begin[:] = state.y
    state.k[0] = state.ahead
    clock[BEGIN], clock[LENGTH], counts[DENSE], counts[CANDIDATE] = clock[TIME], length, 0, 0
    if network.kinked:
        state.begin_count[:], state.begin_plane[:] = state.slide_count, state.slide_plane
        _choose_kept(length, aims.rtol, network, state, work)
    for stage in range(1, tableau.stages):
        _combine(tableau.a[stage], length, state.k, state.y_begin, work.stage)
        evaluate(work.stage, state.k[stage], stage, 1.0, network, data, state, work)
    crowded = counts[CANDIDATE] > CANDIDATES
    error = step_error(
        length, aims.rtol, network.polar, tableau, state.k, state.y_begin, work.stage, work.output, work.estimate
    )
    error /= aims.rtol
    counts[FINITE] = isfinite(error)
    if error <= 1.0 and not crowded:
        _accept(error, network, data, tableau, aims, state, work)
    else:
        counts[REJECTED] += 1
        factor = SAFETY * error ** (-NOW / tableau.order) if isfinite(error) and not crowded else SLOWEST
        clock[STEP] = length * max(min(factor, SAFETY), SLOWEST)
    spacing = np.nextafter(clock[TIME], inf) - clock[TIME]
    counts[STALLED] = clock[STEP] <= SMALLEST_STEP * spacing or not isfinite(clock[TIME] + clock[STEP])


@inlined
def _accept(error: float, network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    clock, counts, length = state.clock, state.counts, state.clock[LENGTH]
    error = max(error, 1e-10)
    factor = SAFETY * error ** (-NOW / tableau.order) * clock[LAST_ERROR] ** (BEFORE / tableau.order)
    clock[STEP] = length * max(min(factor, FASTEST), SLOWEST)
    clock[LAST_ERROR] = error
    if network.kinked and _gates_misfit(network, data, tableau, aims, state, work):
        _turn(network, data, tableau, aims, state, work)
    else:
        clock[RATE] *= FADE
        clock[TIME] = clock[BEGIN] + length if length < aims.end - clock[BEGIN] else aims.end
        _combine(tableau.weights, length, state.k, state.y_begin, state.y)
        state.ahead[:] = state.k[tableau.stages - 1]
        _settle(state.y, network, state)
    counts[ACCEPTED] += 1
    _arrive(network, data, tableau, aims, state, work)


@inlined
def _arrive(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """What the next step and the goals need to know of the state, which `evaluate` has just seen."""
    if network.kinked:
        last = tableau.stages - 1
        work.slide_z[0], work.slide_cap[0] = work.slide_z[last], work.slide_cap[last]
        # how hard each sample's kink hits, and how far that moves each neuron
        for k in range(len(work.pull)):
            for i in range(len(data.norm)):
                state.strength[k, i] = (1.0 - network.slope) * abs(work.pull[k, i]) * data.norm[i]
        for j in range(len(state.gain)):
            state.gain[j] = abs(work.ratio[j])
    log_of_loss = log_loss(network.loss, work.outputs, data.targets, data.weight)
    state.clock[LOG_LOSS] = log_of_loss
    aligned = aims.alignment < inf and all_aligned(aims, network, state)
    state.counts[REACHED] = (-inf < aims.log_loss and log_of_loss <= aims.log_loss) or aligned


@inlined
def _gates_misfit(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> bool:
    """Whether an event lies in the last step; puts the state and the time there."""
    clock, counts = state.clock, state.counts
    if counts[CANDIDATE] == 0 and not _leaving(tableau, aims, state, work):
        return False
    if not network.polar:
        for j in range(len(work.size)):  # what is 0 is so beside the neuron at either end of the step
            work.size[j] = max(work.size[j], norm_of(work.stage[j, : len(work.direction[j])]))
    outputs, pull, ratio = work.outputs.copy(), work.pull.copy(), work.ratio.copy()
    _densify(network, data, tableau, state, work)
    part = first_event(LATE * sqrt(aims.rtol), network, data, tableau, state, work)
    if part == inf:
        work.outputs[:], work.pull[:], work.ratio[:] = outputs, pull, ratio
        return False
    clock[TIME] = clock[BEGIN] + part * clock[LENGTH]
    gap = max(clock[TIME] - clock[LAST_EVENT], SHORTEST_RESTART * clock[LENGTH] / CROWD)
    clock[RATE] += FOLLOW * (1.0 / gap - clock[RATE])
    clock[LAST_EVENT] = clock[TIME]
    clock[STEP] = min(clock[STEP], max(AFTER_EVENT * part, SHORTEST_RESTART) * clock[LENGTH])
    _interpolate(part, tableau, state, state.y)
    _settle(state.y, network, state)
    return True


@inlined
def _turn(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """At an event, choose anew the gates of all neurons that are at one."""
    slot, r = tableau.stages - 1, work.direction.shape[1]
    state.counts[CANDIDATE] = 0
    if not network.polar:
        for j in range(len(state.y)):
            held = work.flagged[j] or state.slide_count[j] == r
            if held and norm_of(state.y[j, :r]) <= 2.0 * ON_PLANE * work.size[j]:
                state.y[j, :r] = 0.0  # on every plane at once
    evaluate(state.y, state.ahead, slot, 0.5, network, data, state, work)
    for place in range(min(state.counts[CANDIDATE], CANDIDATES)):
        work.flagged[work.candidate[0, place]] = True
    for j in range(len(state.y)):
        if not work.flagged[j]:
            continue
        if _too_often(j, aims, network, data, state, work):
            state.slide_count[j] = 0
            velocities(j, j + 1, state.ahead, slot, network, data, state, work)
            continue
        events = state.counts[EVENTS]
        resolve(j, state.ahead, slot, network, data, state, work)
        if state.counts[EVENTS] == events:
            state.guard_count[j] += ZENO // 5
            _put_back(j, data, state, work)
    _settle(state.y, network, state)


@inlined
def _put_back(j: int, data: Data, state: State, work: Work) -> None:
    """Onto the planes that a neuron has drifted off so slowly that its gates need not change."""
    r = work.direction.shape[1]
    for place in range(min(state.counts[CANDIDATE], CANDIDATES)):
        if work.candidate[0, place] == j:
            x = data.inputs[work.candidate[1, place]]
            part = dot(state.y[j, :r], x) / dot(x, x)
            for c in range(r):
                state.y[j, c] -= part * x[c]


@inlined
def _too_often(j: int, aims: Aims, network: Network, data: Data, state: State, work: Work) -> bool:
    """Whether so many events came while the neuron could move by less than the tolerance that they are Zeno's; holds it
    then for as long."""
    time = state.clock[TIME]
    rate = relative(j, state.y, state.y, state.ahead, least_size(aims.rtol, work.output[j]), network.polar)
    rate = max(rate, state.gain[j] * state.strength[data.output_index[j]].max())
    window = aims.rtol / rate if rate > 0.0 else state.clock[LENGTH]
    if time - state.guard[j] > window:
        state.guard[j], state.guard_count[j] = time, 0
    state.guard_count[j] += 1
    if state.guard_count[j] <= ZENO:
        return False
    state.hold[j], state.guard_count[j] = time + window, 0
    return True


@inlined
def _choose_kept(length: float, rtol: float, network: Network, state: State, work: Work) -> None:
    """Which pairs keep their gate in a step of this length: those whose jump would move the neuron by more than is
    stepped over."""
    r = work.direction.shape[1]
    tolerances = max(STEP_OVER, state.clock[RATE] * length / CROWD)
    for j in range(len(state.threshold)):
        motion = state.gain[j] * length
        free = motion == 0.0 or state.clock[TIME] < state.hold[j]
        state.threshold[j] = inf if free else tolerances * rtol / motion
        if not network.polar:
            work.size[j] = max(norm_of(state.y[j, :r]), BESIDE_OUTPUT * work.output[j])


@inlined
def _leaving(tableau: Tableau, aims: Aims, state: State, work: Work) -> bool:
    """Whether a sliding gate has left [0, 1] at the end of the last step."""
    last, margin = tableau.stages - 1, LATE * sqrt(aims.rtol)
    for j in range(len(state.slide_count)):
        for k in range(state.slide_count[j]):
            if leaves(j, k, margin, last, work):
                return True
    return False


@compiled
def _densify(network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """The stages that only dense output needs."""
    if state.counts[DENSE] == 0:
        for stage in range(tableau.stages, len(tableau.a)):
            _combine(tableau.a[stage], state.clock[LENGTH], state.k, state.y_begin, work.stage)
            evaluate(work.stage, state.k[stage], stage, 0.0, network, data, state, work)
        state.counts[DENSE] = 1


@compiled
def _combine(coefficients: Floats, length: float, k: Floats, y_begin: Floats, y: Floats) -> None:
    """y_begin + length times the combination of the stages."""
    combine(coefficients, length, k, y)
    add(1.0, y_begin.reshape(y.size), y.reshape(y.size))


@compiled
def _interpolate(part: float, tableau: Tableau, state: State, y: Floats) -> None:
    coefficients = np.zeros(len(tableau.dense))
    for stage in range(len(coefficients)):
        for p in range(tableau.dense.shape[1] - 1, -1, -1):
            coefficients[stage] = (coefficients[stage] + tableau.dense[stage, p]) * part
    _combine(coefficients, state.clock[LENGTH], state.k, state.y_begin, y)


@compiled
def _settle(y: Floats, network: Network, state: State) -> None:
    """Give back what rounding has taken from sliding neurons and from unit rows."""
    r = y.shape[1] - 2
    for j in range(len(y)):
        for k in range(state.slide_count[j]):
            part = dot(state.basis[j, k], y[j, :r])
            for c in range(r):
                y[j, c] -= part * state.basis[j, k, c]
    _normalise(y, network)


@compiled
def _normalise(y: Floats, network: Network) -> None:
    if network.polar:
        r = y.shape[1] - 2
        for j in range(len(y)):
            size = norm_of(y[j, :r])
            for c in range(r):
                y[j, c] /= size
