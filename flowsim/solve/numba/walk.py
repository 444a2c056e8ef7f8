"""What an event costs where it concerns nobody else: the neuron goes on by itself to the end of the step.

At an event nothing jumps but the velocity of one neuron; all others feel it through the outputs only, later and by less.
While that stays below the tolerance the others' paths stand, and the pulls on them: the neuron's own path from the event on
is a step of the same Runge-Kutta pair with one row, under the pulls that the step's stages give in between.
"""

from __future__ import annotations

from math import inf, sqrt

from ...arrays import Floats
from .compiled import allocating, compiled
from .control import add, least_size, relative
from .dense import advanced_row, interpolate_rate, interpolate_row, rates, settle
from .events import next_event
from .field import copy_row, evaluate_row, norm_of, respond_alone, set_pulls
from .layout import CANDIDATE, EVENTS, LENGTH, MOST_WALKS, WALKS, Aims, Data, Network, State, Work
from .sliding import resolve
from .tableau import Tableau

#: What all neurons that go on by themselves may change of the others' motion in a step, in tolerances.
UNSEEN = 0.1
#: Of the step, at least this part has to be left; a neuron that is smaller than this part of what it was is near 0, where
#: all its planes meet.
LEAST_LEFT, LEAST_NORM = 1e-9, 1e-3
#: A sliding gate may leave [0, 1] by this many square roots of the tolerance.
LATE = 0.03


@allocating
def walk(
    j: int,
    part: float,
    outputs: Floats,
    network: Network,
    data: Data,
    tableau: Tableau,
    aims: Aims,
    state: State,
    work: Work,
) -> bool:
    """Turn neuron j at its event at this part of the last step, and lead it on to the end; its next event is then in
    work.where. Changes nothing and returns False where the others would see it, or it would not turn.

    outputs (k, n): those at the end of the step, as the step has made it.
    """
    count, r = state.counts[WALKS], work.direction.shape[1]
    if count == MOST_WALKS or part > 1.0 - LEAST_LEFT:
        return False
    place, moved, rows = data.output_index[j], work.estimate[1], work.estimate[0]
    interpolate_row(j, part, tableau, state, rows)
    settle(j, j + 1, rows, network, state)
    if not network.polar and norm_of(rows[j, :r]) < LEAST_NORM * work.size[j]:
        return False
    gate, slides, plane = state.gate[j].copy(), state.slide_count[j], state.slide_plane[j].copy()
    basis, triangle = state.basis[j, :slides].copy(), state.triangle[j, :slides, :slides].copy()
    events, shift, end = state.counts[EVENTS], work.shift[place].copy(), work.stage[j].copy()
    respond_alone(j, work.stage, 0.0, network, data, state, work)
    work.shift[place] -= work.share
    _set_pulls_inside(part, tableau, work)
    state.counts[CANDIDATE] = 0
    evaluate_row(j, rows, moved, 0, 0.5, network, data, state, work)
    resolve(j, moved, 0, network, data, state, work)
    turned = state.counts[EVENTS] > events
    if turned:
        # what the jump of the velocity changes, as if it stayed so
        left = (1.0 - part) * state.clock[LENGTH]
        interpolate_rate(j, part, tableau, state, work.stage)
        for c in range(len(end)):
            work.stage[j, c] = end[c] + left * (moved[j, c] - work.stage[j, c])
        state.walk_part[count] = part
        respond_alone(j, work.stage, 0.0, network, data, state, work)
        work.shift[place] += work.share
        turned = _unseen(outputs, network, data, tableau, aims, state, work)
        work.shift[place] -= work.share
    if turned:
        settle(j, j + 1, rows, network, state)
        state.walk_row[count] = j
        copy_row(rows[j], state.walk_y[count])
        copy_row(moved[j], state.walk_k[0, count])
        state.walk_count[count] = state.slide_count[j]
        copy_row(state.slide_plane[j], state.walk_plane[count])
        state.counts[CANDIDATE] = 0
        error = _go(j, count, network, data, tableau, aims, state, work)
        work.shift[place] += work.share
        if error <= aims.rtol and _unseen(outputs, network, data, tableau, aims, state, work):
            state.counts[WALKS] = count + 1
            work.where[j] = next_event(j, count, LATE * sqrt(aims.rtol), network, data, tableau, state, work)
            return True
    copy_row(gate, state.gate[j])
    state.slide_count[j] = slides
    copy_row(plane, state.slide_plane[j])
    for first in range(slides):
        copy_row(basis[first], state.basis[j, first])
        for second in range(slides):
            state.triangle[j, first, second] = triangle[first, second]
    state.counts[EVENTS] = events
    copy_row(shift, work.shift[place])
    copy_row(end, work.stage[j])
    return False


@allocating
def _go(
    j: int, walk: int, network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work
) -> float:
    """The stages from where the walk begins to the end of the step, which goes into the row of work.stage; the local error.

    Leaves the neuron's part of its output there in work.share.
    """
    begin, k, moved = state.walk_part[walk], state.walk_k[:, walk], work.estimate[1]
    length = (1.0 - begin) * state.clock[LENGTH]
    for stage in range(1, len(tableau.a)):
        rows = work.stage if stage < tableau.stages else work.estimate[0]
        advanced_row(tableau.a[stage], length, k, state.walk_y[walk], rows[j])
        _set_pulls_inside(begin + (1.0 - begin) * tableau.a[stage].sum(), tableau, work)
        share = work.share.copy()
        look = 1.0 if stage < tableau.stages else 0.0
        evaluate_row(j, rows, moved, stage, look, network, data, state, work)
        if stage >= tableau.stages:
            copy_row(share, work.share)
        copy_row(moved[j], k[stage])
    change = work.estimate[0]
    change[j] = 0.0
    for stage in range(tableau.stages):
        add(length * tableau.error[0, stage], k[stage], change[j])
    least = 0.0 if network.polar else least_size(aims.rtol, work.output[j])
    error = relative(j, state.y_begin, work.stage, change, least, network.polar)
    return error if error < inf else inf


@allocating
def _set_pulls_inside(part: float, tableau: Tableau, work: Work) -> None:
    """work.pull at a part of the step, from its stages."""
    weights = rates(part, tableau)
    flat = work.pull.reshape(work.pull.size)
    flat[:] = 0.0
    for stage in range(len(weights)):
        if weights[stage] != 0.0:
            add(weights[stage], work.pulls[stage].reshape(flat.size), flat)


@allocating
def _unseen(
    outputs: Floats, network: Network, data: Data, tableau: Tableau, aims: Aims, state: State, work: Work
) -> bool:
    """Whether what the walks have changed of the outputs moves the other neurons by no more than UNSEEN tolerances."""
    last = tableau.stages - 1
    set_shifted_pulls(outputs, last, network, data, state, work)
    change = 0.0
    for k in range(len(work.pull)):
        for i in range(len(data.norm)):
            change += abs(work.pull[k, i] - work.pulls[last, k, i]) * data.norm[i]
    # it grows from nothing at the first event
    left = 1.0 - state.walk_part[: state.counts[WALKS] + 1].min()
    return 0.5 * left * state.clock[LENGTH] * state.gain.max() * change <= UNSEEN * aims.rtol


@compiled
def set_shifted_pulls(outputs: Floats, slot: int, network: Network, data: Data, state: State, work: Work) -> None:
    """Outputs and pulls at the end of the step, with what the walks have changed of them."""
    for k in range(len(outputs)):
        for i in range(outputs.shape[1]):
            work.outputs[k, i] = outputs[k, i] + work.shift[k, i]
    at_end = work.log_speed[slot]
    set_pulls(work.stage, slot, network, data, state, work)
    work.log_speed[slot] = at_end
