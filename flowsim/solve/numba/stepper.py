"""The stepping loop, compiled: adaptive steps, events of the gates, goals."""

from __future__ import annotations

import sys
from functools import cache
from math import exp, inf, isfinite, log, log10

import numpy as np

from ...arrays import Booleans, Floats
from ..constants import A_WHILE, FIRST_MOTION, LONG_STEP, LOSS_ERROR, SETTLED_LOSS, SETTLED_MOTION, SMALLEST_STEP
from .chebyshev import SOFT, STIFF, chebyshev_inside, chebyshev_step, spectral_radius
from .clock import by_pair, growth, log_time_inside, loss_change, part_at, slope_of
from .compiled import compiled, entry
from .control import all_aligned, least_size, pace, relative, step_error
from .dense import advanced, densify, interpolate, locate, look_inside, normalise, settle, time_there
from .field import copy, copy_row, evaluate
from .formulas import all_right, log_loss
from .gates import choose_kept, gates_misfit, turn
from .kernel import Kernel
from .layout import (
    ACCEPTED,
    BEGIN,
    BEGIN_LOG_SPEED,
    BEGIN_LOG_TIME,
    BEGIN_SLOPE,
    BEGUN,
    BY_CLOCK,
    BY_LOG10_TIME,
    BY_PART,
    BY_TIME,
    CANDIDATE,
    CANDIDATES,
    DENSE,
    END_SLOPE,
    EVALUATIONS,
    EVENTS,
    FINITE,
    FIRST_RATE,
    FLOW_TIME,
    GOES_OVER,
    INEXACT,
    LAST_ERROR,
    LAST_EVENT,
    LENGTH,
    LOG_LOSS,
    LOG_SPEED,
    LOG_TIME,
    LOSS_CLOCK,
    LOSS_CLOCK_FROM,
    METHOD,
    PATIENCE,
    PIECED,
    RATE,
    REACHED,
    READING,
    REJECTED,
    SEPARATED,
    SINCE,
    SPECTRAL,
    SPEED_SLOPE,
    STALLED,
    STEP,
    TIME,
    TURNS,
    UNSEPARATED,
    WALKS,
    Aims,
    Data,
    Log,
    Network,
    State,
    Work,
)
from .regime import WITH_CHEBYSHEV, WITH_GATES, WITH_LOSS_CLOCK, Regime
from .sliding import resolve
from .tableau import Solver, Tableau

LOG_10 = log(10.0)
#: Instants are named by no larger number, whatever the time.
LARGEST = sys.float_info.max
#: Step size control (Hairer, Norsett & Wanner, II.4): safety, exponents of this error and the last, largest changes.
SAFETY, NOW, BEFORE, SLOWEST, FASTEST = 0.9, 0.7, 0.2, 0.2, 10.0
#: How fast the estimated rate of events fades in a step without one.
FADE = 0.98
#: Steps between two looks at whether they are stiff; at least so many that are not lead back.
LEAST_PATIENCE = 20
#: So often it looks whether it has been stopped.
STEPS_BETWEEN_LOOKS = 64
#: What a kernel is asked for: a function below.
ADVANCE, INSIDE, WITHIN, THROUGH = range(4)


@cache
def kernel(regime: Regime) -> Kernel:
    """All of the stepping loop that Python calls, for the problems of a regime."""
    return Kernel(flow, regime)


@entry
def flow(
    task: int,
    reading: float,
    attempts: int,
    instants: Floats,
    stopped: Booleans,
    network: Network,
    data: Data,
    solver: Solver,
    aims: Aims,
    state: State,
    work: Work,
    y: Floats,
    log: Log,
) -> float:
    """One entry for all tasks: the machine code of each entry has the whole field and all steps once more."""
    if task == ADVANCE:
        advance(reading, attempts, network, data, solver, aims, state, work)
        return 0.0
    if task in (INSIDE, WITHIN):
        return inside(reading, BY_PART if task == WITHIN else aims.reading, network, data, solver, state, work, y)
    return float(through(instants, attempts, stopped, network, data, solver, aims, state, work, log))


@compiled
def advance(
    stop: float, attempts: int, network: Network, data: Data, solver: Solver, aims: Aims, state: State, work: Work
) -> None:
    """Step until the reading is at or past `stop`, or the time at the end, so many steps were tried, a goal is met or no
    step is possible; steps of many stages count as several.

    The first call finds the gates at the start, state.y, and a first trial step, which may be all that it is asked for; a
    later one may be asked for no more than the gates with which the next step begins.
    """
    clock, counts = state.clock, state.counts
    if counts[BEGUN] == 0:
        _begin(network, data, solver.early, aims, state, work)
    if WITH_GATES and counts[TURNS]:
        _turn_first(network, data, solver.early, aims, state, work)
    last, most = counts[ACCEPTED] + counts[REJECTED] + attempts, counts[EVALUATIONS] + attempts * LONG_STEP
    while (
        clock[READING] < stop
        and (aims.end == inf or clock[FLOW_TIME] < aims.end)
        and counts[ACCEPTED] + counts[REJECTED] < last
        and counts[EVALUATIONS] < most
        and counts[REACHED] == 0
        and counts[STALLED] == 0
    ):
        _step(network, data, solver, aims, state, work)


@compiled
def through(
    instants: Floats,
    attempts: int,
    stopped: Booleans,
    network: Network,
    data: Data,
    solver: Solver,
    aims: Aims,
    state: State,
    work: Work,
    log: Log,
) -> int:
    """Advance to one instant after the other, each noted in the log; how many were passed."""
    clock, counts = state.clock, state.counts
    last, most = counts[ACCEPTED] + counts[REJECTED] + attempts, counts[EVALUATIONS] + attempts * LONG_STEP
    for place in range(len(instants)):
        while clock[READING] < instants[place]:
            left = last - counts[ACCEPTED] - counts[REJECTED]
            over = counts[REACHED] or counts[STALLED] or (clock[FLOW_TIME] >= aims.end and aims.end < inf)
            if over or left <= 0 or counts[EVALUATIONS] >= most or stopped[0]:
                return place
            few = min(left, STEPS_BETWEEN_LOOKS)
            advance(instants[place], few, network, data, solver, aims, state, work)
        within = clock[READING] > instants[place]
        copy(counts, log.counts[place])
        log.step[place] = clock[STEP]
        if within:
            y = log.y[place]
            log.log_time[place] = inside(instants[place], aims.reading, network, data, solver, state, work, y)
        else:
            if WITH_GATES and counts[TURNS]:
                _turn_first(network, data, solver.early, aims, state, work)
            copy(state.y, log.y[place])
            log.log_time[place] = _log_time(state)
        if WITH_GATES:
            count, plane = (state.seen_count, state.seen_plane) if within else (state.slide_count, state.slide_plane)
            for j in range(len(log.sliding[place])):
                for k in range(count[j]):
                    log.sliding[place, j, plane[j, k]] = True
    return len(instants)


@compiled
def inside(
    reading: float, by: int, network: Network, data: Data, solver: Solver, state: State, work: Work, y: Floats
) -> float:
    """The state at a reading within the last accepted step, into y; the log of its time. by: what it is read off, BY_PART
    for a part of the step's whole length. What it evaluates for that is not counted: counts say what steps took, whatever
    is kept of them."""
    clock, evaluations = state.clock, state.counts[EVALUATIONS]
    tableau = _method(state.counts[METHOD], solver)
    densify(network, data, tableau, state, work)
    if by == BY_PART:
        reading, by = clock[BEGIN] + reading * clock[LENGTH], BY_CLOCK
    log_time = reading * LOG_10 if by == BY_LOG10_TIME else log(reading)
    if WITH_LOSS_CLOCK and state.counts[LOSS_CLOCK]:
        smooth = by_pair(tableau, state, work) or state.counts[PIECED]
        if by == BY_CLOCK:
            part = (reading - clock[BEGIN]) / clock[LENGTH]
            log_time = log_time_inside(part, tableau, state, work)
            if not smooth:
                log_time, _ = time_there(part, tableau, network, data, state, work, y)
        else:
            part = part_at(log_time, tableau, state, work)
            if not smooth:
                part = locate(log_time, part, tableau, network, data, state, work, y)
    else:
        time = exp(log_time) if by == BY_LOG10_TIME else reading
        part = (time - clock[BEGIN]) / clock[LENGTH]
    if WITH_CHEBYSHEV and tableau.chebyshev:
        chebyshev_inside(part, network, data, state, work, y)
        settle(0, len(y), y, network, state)
    else:
        interpolate(part, tableau, state, y)
        normalise(0, len(y), y, network)
    if WITH_GATES:
        _see_sliding(part, state)
    state.counts[EVALUATIONS] = evaluations
    return log_time


@compiled
def _log_time(state: State) -> float:
    """Of the state itself."""
    if WITH_LOSS_CLOCK and state.counts[LOSS_CLOCK]:
        return state.clock[LOG_TIME]
    return log(state.clock[TIME]) if state.clock[TIME] > 0.0 else -inf


@compiled
def _see_sliding(part: float, state: State) -> None:
    """Where neurons slide at a part of the last step."""
    copy(state.begin_count, state.seen_count)
    copy(state.begin_plane, state.seen_plane)
    for walk in range(state.counts[WALKS]):
        if part > state.walk_part[walk]:
            j = state.walk_row[walk]
            state.seen_count[j] = state.walk_count[walk]
            copy_row(state.walk_plane[walk], state.seen_plane[j])


@compiled
def _method(late: int, solver: Solver) -> Tableau:
    return solver.late if late else solver.early


@compiled
def _begin(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """Gates, velocity, loss and first trial step at the start, state.y."""
    slot = tableau.stages - 1
    if WITH_GATES:
        state.threshold[:] = inf
    evaluate(state.y, state.ahead, slot, 1.0, network, data, state, work)
    if WITH_GATES:
        for j in range(len(state.y)):
            resolve(j, state.ahead, slot, network, data, state, work)
        settle(0, len(state.y), state.y, network, state)
    rate = _rate(aims, network, state, work)
    state.clock[FIRST_RATE] = rate
    state.clock[STEP] = FIRST_MOTION / rate if rate > 0.0 else 1.0
    state.clock[LAST_ERROR] = 1.0
    state.counts[PATIENCE] = LEAST_PATIENCE
    state.counts[BEGUN] = state.counts[FINITE] = 1
    state.clock[LOG_TIME] = -inf
    state.clock[READING] = -inf if aims.reading == BY_LOG10_TIME else 0.0
    _arrive(network, data, tableau, aims, state, work)
    state.counts[REACHED] = state.counts[EVENTS] = 0  # nothing has happened yet


@compiled
def _rate(aims: Aims, network: Network, state: State, work: Work) -> float:
    """How fast the fastest neuron moves, relative to itself."""
    rate = 0.0
    for j in range(len(state.y)):
        least = least_size(aims.rtol, work.output[j])
        rate = max(rate, relative(j, state.y, state.y, state.ahead, least, network.polar))
    return rate


@compiled
def _step(network: Network, data: Data, solver: Solver, aims: Aims, state: State, work: Work) -> None:
    clock, counts = state.clock, state.counts
    if WITH_GATES and counts[TURNS]:
        _turn_first(network, data, solver.early, aims, state, work)
    if WITH_LOSS_CLOCK and counts[GOES_OVER] and counts[SEPARATED]:
        _go_over(network, data, solver.early, aims, state, work)
    clock[LENGTH] = clock[STEP]
    # the end is met exactly, without a sliver of a step before it
    if not counts[LOSS_CLOCK] and clock[TIME] + 1.01 * clock[STEP] >= aims.end:
        clock[LENGTH] = aims.end - clock[TIME]
    copy(state.y, state.y_begin)
    copy(state.ahead, state.k[0])
    clock[BEGIN], counts[DENSE], counts[CANDIDATE], counts[WALKS] = clock[TIME], 0, 0, 0
    clock[BEGIN_LOG_TIME], clock[BEGIN_LOG_SPEED] = clock[LOG_TIME], clock[LOG_SPEED]
    clock[BEGIN_SLOPE] = clock[SPEED_SLOPE]
    if WITH_CHEBYSHEV and counts[LOSS_CLOCK] and solver.late.chebyshev and not solver.early.chebyshev:
        _choose_method(solver, network, data, state, work)
    tableau = _method(counts[METHOD], solver)
    if WITH_GATES:
        copy(state.slide_count, state.begin_count)
        copy(state.slide_plane, state.begin_plane)
        choose_kept(clock[LENGTH], aims.rtol, tableau.chebyshev, network, state, work)
    if WITH_CHEBYSHEV and tableau.chebyshev:
        chebyshev_step(network, data, state, work)
    else:
        for stage in range(1, tableau.stages):
            advanced(tableau.a[stage], clock[LENGTH], state.k, state.y_begin, work.stage)
            evaluate(work.stage, state.k[stage], stage, 1.0, network, data, state, work)
    crowded, length = counts[CANDIDATE] > CANDIDATES, clock[LENGTH]
    error = step_error(
        length, aims.rtol, network.polar, tableau, state.k, state.y_begin, work.stage, work.output, work.estimate
    )
    if WITH_LOSS_CLOCK and counts[LOSS_CLOCK]:
        error = max(error, _loss_error(tableau.stages - 1, network, data, state, work))
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
    counts[STALLED] = counts[STALLED] or counts[UNSEPARATED]


@compiled
def _loss_error(last: int, network: Network, data: Data, state: State, work: Work) -> float:
    """The local error of the log of the loss, relative to that, which neurons that are right to the tolerance may leave
    large: margins are large where inputs are."""
    change = loss_change(work.stage, state.k[last], work.estimate[0], network, data)
    return abs(change) / (LOSS_ERROR * max(1.0, abs(state.clock[LOG_LOSS])))


@compiled
def _accept(error: float, network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    clock, counts, length = state.clock, state.counts, state.clock[LENGTH]
    error = max(error, 1e-10)
    factor = SAFETY * error ** (-NOW / tableau.order) * clock[LAST_ERROR] ** (BEFORE / tableau.order)
    clock[STEP] = length * max(min(factor, FASTEST), SLOWEST)
    clock[LAST_ERROR] = error
    event = False
    if WITH_GATES:
        event = gates_misfit(network, data, tableau, aims, state, work)
    length = clock[LENGTH]
    if WITH_GATES and event:
        end_speed = work.log_speed[tableau.stages - 1]
        # states within a Chebyshev step come from the gates that it kept, so these stay until the next one begins
        counts[TURNS] = tableau.chebyshev
        if counts[TURNS]:
            evaluate(state.y, state.ahead, tableau.stages - 1, 0.0, network, data, state, work)
        else:
            turn(network, data, tableau, aims, state, work)
        counts[INEXACT] = 0
        work.log_speed[tableau.stages - 1] = end_speed
    else:
        if counts[WALKS] == 0:
            clock[RATE] *= FADE
        end = aims.end if not counts[LOSS_CLOCK] else inf
        clock[TIME] = clock[BEGIN] + length if length < end - clock[BEGIN] else end
        advanced(tableau.weights, length, state.k, state.y_begin, state.y)
        copy(state.k[tableau.stages - 1], state.ahead)
        if WITH_GATES:
            for walk in range(counts[WALKS]):
                j = state.walk_row[walk]
                copy_row(work.stage[j], state.y[j])
                copy_row(state.walk_k[tableau.stages - 1, walk], state.ahead[j])
        counts[INEXACT] = counts[WALKS] > 0
        settle(0, len(state.y), state.y, network, state)
    counts[ACCEPTED] += 1
    _arrive(network, data, tableau, aims, state, work)
    if WITH_LOSS_CLOCK and counts[LOSS_CLOCK]:
        counts[PIECED] = 0
        if not event or counts[TURNS]:
            clock[END_SLOPE] = clock[SPEED_SLOPE]
            look_inside(network, data, tableau, state, work)
        made = (clock[TIME] - clock[BEGIN]) / clock[LENGTH] if event else 1.0
        clock[LOG_TIME] = log_time_inside(made, tableau, state, work)
        clock[FLOW_TIME] = exp(clock[LOG_TIME])
        counts[UNSEPARATED] = aims.end == inf and _rests(network, data, aims, state, work)
    else:
        clock[FLOW_TIME] = clock[TIME]
    if aims.reading == BY_TIME:
        clock[READING] = min(clock[FLOW_TIME], LARGEST)
    elif aims.reading == BY_CLOCK:
        clock[READING] = clock[TIME]
    else:
        clock[READING] = clock[LOG_TIME] / LOG_10 if counts[LOSS_CLOCK] else log10(clock[FLOW_TIME])


@compiled
def _turn_first(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """Choose the gates at the event that ended the last step, a Chebyshev step."""
    turn(network, data, tableau, aims, state, work)
    state.counts[TURNS] = 0
    _arrive(network, data, tableau, aims, state, work)


@compiled
def _go_over(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """From the clock of time to the loss clock, between two steps: what goes by the clock is converted."""
    clock, counts = state.clock, state.counts
    time = clock[TIME]
    counts[LOSS_CLOCK], counts[GOES_OVER], counts[INEXACT] = 1, 0, 0
    clock[LOSS_CLOCK_FROM], clock[LOG_TIME] = time, log(time)
    evaluate(state.y, state.ahead, tableau.stages - 1, 0.0, network, data, state, work)
    _arrive(network, data, tableau, aims, state, work)
    speed = exp(clock[LOG_SPEED])
    clock[STEP] /= speed
    clock[RATE] *= speed
    clock[FIRST_RATE] *= speed
    clock[TIME] = 0.0
    clock[LAST_EVENT] = (clock[LAST_EVENT] - time) / speed
    if WITH_GATES:
        for j in range(len(state.hold)):
            state.hold[j], state.guard[j] = (state.hold[j] - time) / speed, (state.guard[j] - time) / speed


@compiled
def _choose_method(solver: Solver, network: Network, data: Data, state: State, work: Work) -> None:
    """What the next step, from state.y_begin, is made with: the late one while it would be stiff for the early one."""
    clock, counts = state.clock, state.counts
    if counts[METHOD] == 0:
        counts[SINCE] += 1
        if counts[SINCE] <= counts[PATIENCE]:
            return
        counts[SINCE] = 0
        if counts[INEXACT]:  # differences will be taken
            evaluate(state.y_begin, state.k[0], 0, 0.0, network, data, state, work)
            copy(state.k[0], state.ahead)
            counts[INEXACT] = 0
        counts[METHOD] = clock[STEP] * spectral_radius(network, data, state, work) > STIFF
    else:
        counts[SINCE] = counts[SINCE] + 1 if clock[STEP] * clock[SPECTRAL] < SOFT else 0
        if counts[SINCE] <= LEAST_PATIENCE:
            return
        counts[METHOD], counts[SINCE], counts[PATIENCE] = 0, 0, 2 * counts[PATIENCE]


@compiled
def _rests(network: Network, data: Data, aims: Aims, state: State, work: Work) -> bool:
    """Whether a loss with samples on the wrong side will fall no further: it falls by less than SETTLED_LOSS, and no
    neuron that does not die moves by SETTLED_MOTION of its size, while the time grows e-fold."""
    clock = state.clock
    _, falling = slope_of(state.y, state.ahead, network, data)
    # of the clock, at its present speed, and no less than a while by what was fast at first
    units = max(exp(clock[LOG_TIME] - clock[LOG_SPEED]), A_WHILE / clock[FIRST_RATE])
    if -falling * units > SETTLED_LOSS or all_right(network.loss, work.outputs, data.targets):
        return False
    for j in range(len(state.y)):
        if units * pace(j, aims.rtol, state.y, state.ahead, work.output[j], network) >= SETTLED_MOTION:
            return False
    return True


@compiled
def _arrive(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """What the next step and the goals need to know of the state, which `evaluate` has just seen."""
    if WITH_GATES:
        last = tableau.stages - 1
        copy(work.slide_z[last], work.slide_z[0])
        copy(work.slide_cap[last], work.slide_cap[0])
        copy(work.pull, work.pulls[0])
        # how hard each sample's kink hits, and how far that moves each neuron
        for k in range(len(work.pull)):
            for i in range(len(data.norm)):
                state.strength[k, i] = (1.0 - network.slope) * abs(work.pull[k, i]) * data.norm[i]
        for j in range(len(state.gain)):
            state.gain[j] = abs(work.ratio[j])
    log_of_loss = log_loss(network.loss, work.outputs, data.targets, data.weight)
    state.clock[LOG_LOSS] = log_of_loss
    if WITH_LOSS_CLOCK and state.counts[LOSS_CLOCK]:
        state.clock[LOG_SPEED] = growth(state.y, network, data) - log_of_loss
        rising, falling = slope_of(state.y, state.ahead, network, data)
        state.clock[SPEED_SLOPE] = rising - falling
    aligned = aims.alignment < inf and all_aligned(aims, network, state)
    state.counts[REACHED] = (-inf < aims.log_loss and log_of_loss <= aims.log_loss) or aligned
    state.counts[SEPARATED] = state.counts[GOES_OVER] and all_right(network.loss, work.outputs, data.targets)
