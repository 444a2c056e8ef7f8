"""The right-hand side, compiled: the same formulas as in the diffrax engine, with gates where the activation has a kink.

For an activation with a kink, a neuron's force is P = sum_i slope_ji p_i x_i with slope_ji from the pair's gate, and a
neuron that slides along planes with normals x_S moves by the part of P that is orthogonal to them.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np

from ...problem.data.samples import Floats
from .compiled import compiled
from .formulas import (
    LEAKY,
    POWER,
    TANH,
    add_leaky,
    add_power,
    add_tanh,
    loss_derivative,
    pull_leaky,
    pull_power,
    pull_tanh,
)
from .layout import CANDIDATE, CANDIDATES, EVALUATIONS, Data, Network, State, Work

#: A pre-activation within this part of |w_j| |x_i| counts as 0.
ON_PLANE = 2e-12
#: Velocities below this part of the forces they are made of count as 0.
RESTING = 1e-12
#: Squares between these have lost nothing to underflow, nor to overflow.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-270, 1e300
#: How much larger than nothing a neuron was that has come to 0.
FAR = 1e300


@compiled
def dot(first: Floats, second: Floats) -> float:
    total = 0.0
    for c in range(len(first)):
        total += first[c] * second[c]
    return total


@compiled
def norm_of(row: Floats) -> float:
    """Norm of a row, also where its squares underflow or overflow."""
    square = dot(row, row)
    if SMALLEST_SQUARE < square < LARGEST_SQUARE:
        return sqrt(square)
    largest = 0.0
    for c in range(len(row)):
        largest = max(largest, abs(row[c]))
    if largest == 0.0 or not largest < inf:
        return largest
    total = 0.0
    for c in range(len(row)):
        total += (row[c] / largest) * (row[c] / largest)
    return largest * sqrt(total)


@compiled
def unit(y: Floats, network: Network, data: Data, work: Work) -> None:
    """Direction, log norm and ratio v/|w| of every neuron, and the factor of its response in the output."""
    m, r = work.direction.shape
    free = network.trained and not network.balanced
    for j in range(m):
        square = 0.0
        for c in range(r):
            square += y[j, c] * y[j, c]
        size = sqrt(square) if SMALLEST_SQUARE < square < LARGEST_SQUARE else norm_of(y[j, :r])
        scale = size if size > 0.0 else 1.0
        for c in range(r):
            work.direction[j, c] = y[j, c] / scale
        if network.polar:
            work.log_norm[j] = y[j, r]
            if free:
                work.ratio[j] = y[j, r + 1]
            elif network.balanced:
                work.ratio[j] = data.output_sign[j]
            else:
                work.ratio[j] = data.output_sign[j] * exp(data.output_log[j] - y[j, r])
        else:
            work.log_norm[j] = log(scale)
            fixed = data.output_sign[j] * exp(data.output_log[j])
            work.ratio[j] = (y[j, r + 1] if network.trained else fixed) / scale
            work.output[j] = abs(work.ratio[j]) * scale
            if network.kinked:
                work.reach[j] = max(1.0, work.size[j] / size) if size > 0.0 else FAR
        work.factor[j] = work.ratio[j] * exp((network.homogeneity + 1.0) * work.log_norm[j])


@compiled
def evaluate(
    y: Floats, out: Floats, slot: int, look: float, network: Network, data: Data, state: State, work: Work
) -> None:
    """The velocity at y, into out; `slot` is where the sliding planes' forces are noted.

    look > 0: pairs that keep their gate and lie beyond look x ON_PLANE on the wrong side become candidates, and the gates
    of all others are set to the sign.
    """
    unit(y, network, data, work)
    np.dot(work.direction, data.inputs.T, work.pre)
    _outputs(look, network, data, state, work)
    for i in range(len(data.targets)):
        work.pull[i] = -data.weight[i] * loss_derivative(network.loss, work.outputs[i], data.targets[i])
    _pulls(network, data, state, work)
    np.dot(work.pre, data.inputs, work.force)
    velocities(0, len(y), out, slot, network, data, state, work)
    state.counts[EVALUATIONS] += 1


@compiled
def _outputs(look: float, network: Network, data: Data, state: State, work: Work) -> None:
    """f(x_i) from the pre-activations."""
    work.outputs[:] = 0.0
    if network.kinked:
        _gated_outputs(look, network, data, state, work)
    elif network.activation == LEAKY:
        add_leaky(work.pre, network.slope, work.factor, work.outputs)
    elif network.activation == POWER:
        add_power(work.pre, network.degree, work.factor, work.outputs)
    else:
        add_tanh(work.pre, work.log_norm, work.factor, work.outputs)


@compiled
def _gated_outputs(look: float, network: Network, data: Data, state: State, work: Work) -> None:
    """f(x_i) by the gates, and the misfits of these."""
    for j in range(len(work.pre)):
        row, gate, threshold = work.pre[j], state.gate[j], state.threshold[j]
        factor, width = work.factor[j], ON_PLANE * work.reach[j]
        for i in range(len(row)):
            level = width * data.norm[i]
            kept = state.strength[i] > threshold
            if look > 0.0 and not kept and abs(row[i]) > level:
                gate[i] = row[i] > 0.0
            active = gate[i] == 1 if kept or abs(row[i]) <= level else row[i] > 0.0
            work.outputs[i] += factor * row[i] * (1.0 if active else network.slope)
            if look > 0.0 and kept and (row[i] < -look * level if active else row[i] > look * level):
                found = state.counts[CANDIDATE]
                if found < CANDIDATES:
                    work.candidate[0, found], work.candidate[1, found] = j, i
                state.counts[CANDIDATE] = found + 1


@compiled
def _pulls(network: Network, data: Data, state: State, work: Work) -> None:
    """Turn pre-activations into slope times pull, in place."""
    if network.kinked:
        _gated_pulls(network, data, state, work)
    elif network.activation == LEAKY:
        pull_leaky(work.pre, network.slope, network.edge, work.pull)
    elif network.activation == POWER:
        pull_power(work.pre, network.degree, work.pull)
    else:
        pull_tanh(work.pre, work.log_norm, work.pull, work.total)


@compiled
def _gated_pulls(network: Network, data: Data, state: State, work: Work) -> None:
    for j in range(len(work.pre)):
        row, gate, threshold = work.pre[j], state.gate[j], state.threshold[j]
        width = ON_PLANE * work.reach[j]
        for i in range(len(row)):
            kept = state.strength[i] > threshold or abs(row[i]) <= width * data.norm[i]
            active = gate[i] == 1 if kept else row[i] > 0.0
            row[i] = work.pull[i] * (1.0 if active else network.slope)


@compiled
def velocities(
    begin: int, end: int, out: Floats, slot: int, network: Network, data: Data, state: State, work: Work
) -> None:
    """The velocities of a range of neurons from their forces, into their rows of out."""
    r, u = work.direction.shape[1], work.direction
    free = network.trained and not network.balanced
    for j in range(begin, end):
        along = 0.0
        for c in range(r):
            out[j, c] = work.force[j, c]
            along += work.force[j, c] * u[j, c]
        total = along / network.degree if network.activation != TANH else work.total[j]
        radial = network.homogeneity * total if network.activation != TANH else along
        scale = exp((network.homogeneity - 1.0) * work.log_norm[j])
        gain = work.ratio[j] * scale
        if network.kinked and state.slide_count[j] > 0:
            _project(j, out[j], slot, network, data, state, work)
        if network.kinked and not network.polar and norm_of(u[j]) == 0.0 and _rounding(out[j, :r], data, work):
            out[j, :r] = 0.0  # it rests at 0
        if network.polar:
            for c in range(r):
                out[j, c] = gain * (out[j, c] - along * u[j, c])
            out[j, r] = gain * radial
            out[j, r + 1] = scale * total - work.ratio[j] * out[j, r] if free else 0.0
        else:
            norm = exp(work.log_norm[j])
            for c in range(r):
                out[j, c] = norm * gain * (out[j, c] + (radial - along) * u[j, c])
            out[j, r] = 0.0
            out[j, r + 1] = norm * scale * total if network.trained else 0.0


@compiled
def _rounding(force: Floats, data: Data, work: Work) -> bool:
    """Whether a force is nothing but what is left of larger ones that cancel."""
    total = 0.0
    for i in range(len(work.pull)):
        total += abs(work.pull[i]) * data.norm[i]
    return norm_of(force) <= RESTING * total


@compiled
def plane_pull(h: int, data: Data, work: Work) -> float:
    """sum of |factor_i| p_i over the samples of a plane: how far its gate moves the force along the plane's normal."""
    total = 0.0
    for place in range(data.member_start[h], data.member_start[h + 1]):
        i = data.member[place]
        total += abs(data.factor[i]) * work.pull[i]
    return total


@compiled
def _project(j: int, row: Floats, slot: int, network: Network, data: Data, state: State, work: Work) -> None:
    """Take the part of a row along the sliding planes' normals out of it, and note it in terms of the normals.

    With sigma the sign of v_j, sigma row = sum_k z_k x_k + (orthogonal part); a sliding gate is z_k / cap_k, in [0, 1].
    """
    r, count = work.direction.shape[1], state.slide_count[j]
    sign = 1.0 if work.ratio[j] > 0.0 else -1.0
    z, cap = work.slide_z[slot, j], work.slide_cap[slot, j]
    for k in range(count):
        z[k] = dot(row[:r], state.basis[j, k])
        for c in range(r):
            row[c] -= z[k] * state.basis[j, k, c]
    if count == r:
        row[:r] = 0.0
    for k in range(count - 1, -1, -1):
        for later in range(k + 1, count):
            z[k] -= state.triangle[j, k, later] * z[later]
        z[k] /= state.triangle[j, k, k]
    for k in range(count):
        z[k] *= sign
        cap[k] = -sign * (1.0 - network.slope) * plane_pull(state.slide_plane[j, k], data, work)
