"""Events of the gates in the stepping loop: which pairs keep theirs in a step, where one stops fitting, what then turns."""

from __future__ import annotations

from math import inf, sqrt

from .chebyshev import chebyshev_part
from .clock import slope_of
from .compiled import allocating, compiled
from .control import least_size, relative
from .dense import densify, interpolate, settle
from .events import first_events, outside
from .field import copy, dot, evaluate, norm_of, velocities
from .gated import ON_PLANE
from .layout import (
    BEGIN,
    CANDIDATE,
    CANDIDATES,
    END_SLOPE,
    EVENTS,
    LAST_EVENT,
    LENGTH,
    LOSS_CLOCK,
    RATE,
    SPECTRAL,
    STEP,
    TIME,
    WALKS,
    Aims,
    Data,
    Network,
    State,
    Work,
)
from .regime import WITH_CHEBYSHEV, WITH_LOSS_CLOCK
from .sliding import resolve
from .tableau import Tableau
from .walk import LATE, set_shifted_pulls, walk

#: Kinks that move a neuron by less than this part of the tolerance in a step are stepped over: error control does not see
#: them.
STEP_OVER = 0.02
#: So are, where a step would meet more than this many events, those that move it by less than as many tolerances as there
#: are such crowds: shorter steps are then cheaper than stopping at every event.
CROWD = 10.0
#: How fast the estimated rate of events follows at an event; what one counts that only its neuron sees.
FOLLOW, ALONE = 0.1, 0.1
#: After an event, or where a Chebyshev step was made again, the next step is at most this many times the part that was
#: made, but at least this part of the whole.
AFTER_EVENT, SHORTEST_RESTART = 10.0, 0.05
#: More events than this while a neuron moves by less than the tolerance: its kinks are stepped over for as long.
ZENO = 50
#: A Chebyshev step of more than so many inverse spectral radii is made again towards its first event, so often, until that
#: is met in the last of its parts that is so large; it aims at so much beyond.
WIDE, APPROACHES, AT_END, BEYOND = 5.0, 3, 2e-3, 5e-4
#: A neuron of fixed or free output weight v counts as at least this part of |v| where it is asked what is 0 beside it.
BESIDE_OUTPUT = 1e-5


@allocating
def gates_misfit(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> bool:
    """Whether an event in the last step has to end it; puts the state and the time there. Neurons whose events the others
    do not see have gone on by themselves, to the end of the step or to that event."""
    clock, counts = state.clock, state.counts
    if counts[CANDIDATE] == 0 and not _leaving(tableau, aims, state, work):
        return False
    if not network.polar:
        for j in range(len(work.size)):  # what is 0 is so beside the neuron at either end of the step
            work.size[j] = max(work.size[j], norm_of(work.stage[j, : len(work.direction[j])]))
    margin, whole = LATE * sqrt(aims.rtol), clock[LENGTH]
    if WITH_CHEBYSHEV and tableau.chebyshev and whole * clock[SPECTRAL] > WIDE:
        _approach(margin, network, data, tableau, state, work)
    outputs, pull, ratio = work.outputs.copy(), work.pull.copy(), work.ratio.copy()
    densify(network, data, tableau, state, work)
    first_events(margin, network, data, tableau, state, work)
    work.shift[:] = 0.0
    part = work.where.min()
    while part < inf and not tableau.chebyshev:
        j = int(work.where.argmin())
        if not walk(j, part, outputs, network, data, tableau, aims, state, work):
            break
        ratio[j], part = work.ratio[j], work.where.min()
    clock[RATE] += FOLLOW * (ALONE * counts[WALKS] / clock[LENGTH] - clock[RATE])
    made = min(part, 1.0) * clock[LENGTH]
    if made < whole:
        clock[STEP] = min(clock[STEP], max(AFTER_EVENT * made, SHORTEST_RESTART * whole))
    if part == inf:
        copy(outputs, work.outputs)
        copy(pull, work.pull)
        copy(ratio, work.ratio)
        if counts[WALKS] > 0:
            set_shifted_pulls(outputs, tableau.stages - 1, network, data, state, work)
        return False
    for j in range(len(work.where)):
        work.flagged[j] = work.where[j] <= part * (1.0 + 1e-12)
    clock[TIME] = clock[BEGIN] + made
    gap = max(clock[TIME] - clock[LAST_EVENT], SHORTEST_RESTART * whole / CROWD)
    clock[RATE] += FOLLOW * (1.0 / gap - clock[RATE])
    clock[LAST_EVENT] = clock[TIME]
    interpolate(part, tableau, state, state.y)
    settle(0, len(state.y), state.y, network, state)
    return True


@allocating
def _approach(margin: float, network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """Make a Chebyshev step again, shorter, until its first event is at its end, or is just not met: what the cubic says
    in the middle of a stiff step is too far off."""
    for _ in range(APPROACHES):
        first_events(margin, network, data, tableau, state, work)
        part = work.where.min()
        if part > 1.0 - AT_END:
            return
        state.counts[CANDIDATE] = 0
        chebyshev_part(min(part * (1.0 + BEYOND), 1.0) * state.clock[LENGTH], network, data, state, work)


@compiled
def turn(network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work) -> None:
    """At an event, choose anew the gates of all neurons that are at one."""
    slot, r = tableau.stages - 1, work.direction.shape[1]
    state.counts[CANDIDATE] = 0
    if not network.polar:
        for j in range(len(state.y)):
            held = work.flagged[j] or state.slide_count[j] == r
            if held and norm_of(state.y[j, :r]) <= 2.0 * ON_PLANE * work.size[j]:
                state.y[j, :r] = 0.0  # on every plane at once
    evaluate(state.y, state.ahead, slot, 0.5, network, data, state, work)
    if WITH_LOSS_CLOCK and state.counts[LOSS_CLOCK]:  # before it turns
        rising, falling = slope_of(state.y, state.ahead, network, data)
        state.clock[END_SLOPE] = rising - falling
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
    settle(0, len(state.y), state.y, network, state)


@compiled
def _put_back(j: int, data: Data, state: State, work: Work) -> None:
    """Onto the planes that a neuron has drifted off so slowly that its gates need not change."""
    r = work.direction.shape[1]
    for place in range(min(state.counts[CANDIDATE], CANDIDATES)):
        if work.candidate[0, place] == j:
            x = data.inputs[work.candidate[1, place]]
            part = dot(state.y[j, :r], x) / dot(x, x)
            for c in range(r):
                state.y[j, c] -= part * x[c]


@allocating
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


@compiled
def choose_kept(length: float, rtol: float, stiff: bool, network: Network, state: State, work: Work) -> None:
    """Which pairs keep their gate in a step of this length: those whose jump would move the neuron by more than is
    stepped over, and unless it is stiff all of a neuron that slides: a jump that moves it by little may still be more than
    what its sliding gate, of a sample nearby, has left."""
    r = work.direction.shape[1]
    tolerances = max(STEP_OVER, state.clock[RATE] * length / CROWD)
    for j in range(len(state.threshold)):
        motion = state.gain[j] * length
        free = motion == 0.0 or state.clock[TIME] < state.hold[j]
        state.threshold[j] = inf if free else tolerances * rtol / motion
        if state.slide_count[j] > 0 and not free and not stiff:
            state.threshold[j] = 0.0
        if not network.polar:
            work.size[j] = max(norm_of(state.y[j, :r]), BESIDE_OUTPUT * work.output[j])


@compiled
def _leaving(tableau: Tableau, aims: Aims, state: State, work: Work) -> bool:
    """Whether a sliding gate has left [0, 1] at the end of the last step."""
    last, margin, count = tableau.stages - 1, LATE * sqrt(aims.rtol), state.slide_count
    z, cap, before = work.slide_z[last], work.slide_cap[last], work.slide_cap[0]
    for j in range(len(count)):
        for k in range(count[j]):
            if outside(z[j, k], before[j, k], cap[j, k], margin):
                return True
    return False
