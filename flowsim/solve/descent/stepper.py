"""The iterations, compiled: w <- w - step dL/dw for every trained weight, over all samples or over batches of them."""

from __future__ import annotations

from functools import cache
from math import exp, inf, isfinite, log1p

from ...arrays import Floats, Integers
from ..numba.compiled import allocating, compiled, entry
from ..numba.control import add, all_aligned
from ..numba.field import copy, copy_row, evaluate, norm_of
from ..numba.formulas import log_loss
from ..numba.kernel import Kernel
from ..numba.layout import (
    ACCEPTED,
    BEGUN,
    EVALUATIONS,
    FINITE,
    LOG_LOSS,
    REACHED,
    STALLED,
    STEP,
    TIME,
    Aims,
    Data,
    Network,
    State,
)
from ..numba.regime import Regime
from .layout import Method, Pieces

#: A loss of a larger logarithm is no float.
LARGEST_LOG = 709.0


@cache
def kernel(regime: Regime, mixed: bool) -> Kernel:
    """`descend`, for the problems of a regime, with products in float32 or in float64."""
    return Kernel(descend, regime, "mixed" if mixed else "")


@entry
def descend(
    stop: float,
    last: int,
    order: Integers,
    method: Method,
    network: Network,
    data: Data,
    aims: Aims,
    state: State,
    pieces: Pieces,
    batch: Data,
    batch_pieces: Pieces,
) -> None:
    """Iterate until the time is at or past `stop` or the end, `last` iterations were made, a goal is met or the next one
    would not be finite.

    order: all samples, in the order in which the batches of the epoch take them of which the next gradients are. The first
    call finds the start in state.y, and its gradient, which may be all that it is asked for.
    """
    clock, counts = state.clock, state.counts
    if counts[BEGUN] == 0:
        clock[STEP] = method.step
        counts[FINITE] = _arrive(order, method, network, data, aims, state, pieces, batch, batch_pieces)
        counts[STALLED], counts[BEGUN] = 1 - counts[FINITE], 1
        counts[REACHED] = 0  # nothing has happened yet
    while (
        clock[TIME] < stop
        and clock[TIME] < aims.end
        and counts[ACCEPTED] < last
        and counts[REACHED] == 0
        and counts[STALLED] == 0
    ):
        copy(state.y, state.y_begin)
        add(method.step, state.ahead.reshape(state.y.size), state.y.reshape(state.y.size))
        counts[ACCEPTED] += 1
        clock[TIME] = method.step * counts[ACCEPTED]
        if not _arrive(order, method, network, data, aims, state, pieces, batch, batch_pieces):
            copy(state.y_begin, state.y)
            counts[ACCEPTED] -= 1
            clock[TIME] = method.step * counts[ACCEPTED]
            counts[STALLED], counts[FINITE], counts[REACHED] = 1, 0, 0


@compiled
def _arrive(
    order: Integers,
    method: Method,
    network: Network,
    data: Data,
    aims: Aims,
    state: State,
    pieces: Pieces,
    batch: Data,
    batch_pieces: Pieces,
) -> bool:
    """Find the gradient of the next iteration and whether a goal is met; whether weights, gradient and loss are finite."""
    clock, counts = state.clock, state.counts
    before = counts[EVALUATIONS]
    if method.batch == 0:
        seen = _sum(method, network, data, state, pieces, state.ahead)
        clock[LOG_LOSS] = seen
    else:
        _pick(((method.before + counts[ACCEPTED]) % method.epoch) * method.batch, order, data, batch)
        seen = _sum(method, network, batch, state, batch_pieces, state.ahead)
        clock[LOG_LOSS] = inf
        if -inf < aims.log_loss and (method.before + counts[ACCEPTED]) % method.epoch == 0:
            clock[LOG_LOSS] = _sum(method, network, data, state, pieces, pieces.whole.estimate[0])
    counts[EVALUATIONS] = before + 1
    aligned = aims.alignment < inf and all_aligned(aims, network, state)
    counts[REACHED] = (-inf < aims.log_loss and clock[LOG_LOSS] <= aims.log_loss) or aligned
    return seen < LARGEST_LOG and _all_finite(state.y) and _all_finite(state.ahead)


@allocating
def _sum(method: Method, network: Network, data: Data, state: State, pieces: Pieces, out: Floats) -> float:
    """The velocity at state.y, into out, and the log of the loss: sums over samples, a piece of them at a time."""
    n, size = len(data.targets), pieces.whole.outputs.shape[1]
    out[:] = 0.0
    total = -inf
    for begin in range(0, n, size):
        end = min(begin + size, n)
        piece = _rows(begin, end, data)
        work = pieces.whole if end - begin == size else pieces.rest
        evaluate(state.y, work.stage, 0, 0.0, network, piece, state, work)
        add(1.0, work.stage.reshape(out.size), out.reshape(out.size))
        total = _log_add(total, log_loss(network.loss, work.outputs, piece.targets, piece.weight))
    r = out.shape[1] - 2
    for j in range(len(out)):
        decay = method.square_decay
        if method.cubic_decay > 0.0:
            decay += method.cubic_decay * norm_of(state.y[j, :r])
        add(-decay, state.y[j, :r], out[j, :r])
        out[j, r] = 1.0  # the rate of time itself, once for all pieces
    return total


@allocating
def _rows(begin: int, end: int, data: Data) -> Data:
    """Some of the samples, where they are."""
    return Data(
        data.inputs[begin:end],
        data.targets[begin:end],
        data.weight[begin:end],
        data.norm[begin:end],
        data.output_sign,
        data.output_log,
        data.output_index,
        data.output_start,
        data.plane,
        data.factor,
        data.first,
        data.member_start,
        data.member,
        data.feature,
        data.noise[begin:end],
    )


@compiled
def _pick(begin: int, order: Integers, data: Data, batch: Data) -> None:
    """Copy the samples of a batch; their weights make the gradient's expectation that of all samples."""
    share = len(data.targets) / len(batch.targets)
    for place in range(len(batch.targets)):
        i = order[begin + place]
        copy_row(data.inputs[i], batch.inputs[place])
        batch.targets[place] = data.targets[i]
        batch.weight[place] = share * data.weight[i]


@compiled
def _log_add(first: float, second: float) -> float:
    """log(e^first + e^second); nan where one is"""
    if first == -inf or second == -inf:
        return first + second if first != first or second != second else max(first, second)
    return max(first, second) + log1p(exp(-abs(first - second)))


@compiled
def _all_finite(rows: Floats) -> bool:
    for j in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            if not isfinite(rows[j, c]):
                return False
    return True
