"""The right-hand side, compiled: the same formulas as in the diffrax engine, with gates where the activation has a kink.

For an activation with a kink, a neuron's force is P = sum_i slope_ji p_i x_i with slope_ji from the pair's gate, and a
neuron that slides along planes with normals x_S moves by the part of P that is orthogonal to them.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.kernel import LEAKY, POWER, TANH
from .clock import growth
from .compiled import allocating, compiled
from .formulas import (
    add_leaky,
    add_power,
    add_symmetric,
    add_tanh,
    log_loss,
    pull_leaky,
    pull_power,
    pull_symmetric,
    pull_tanh,
    set_ascent,
    set_pull,
    set_scaled_pull,
)
from .gated import ON_PLANE, respond, slope_times_pull
from .layout import EVALUATIONS, L2, LOSS_CLOCK, NO_ATTACK, UPDATES, Data, Network, State, Work
from .regime import WITH_GATES, WITH_LOSS_CLOCK, WITH_PURIFICATION

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


@allocating
def product(first: Floats, second: Floats, out: Floats) -> None:
    """The product of two matrices, or of one and a vector, into out."""
    np.dot(first, second, out)


@compiled
def copy_row(first: Any, second: Any) -> None:
    """second = first. As an assignment it would bring a message about shapes with it, and Python's text functions for that,
    which take as long to compile as all steps of a smooth network."""
    for c in range(len(second)):
        second[c] = first[c]


@compiled
def copy(first: Any, second: Any) -> None:
    """The same for arrays of any shape."""
    copy_row(first.reshape(first.size), second.reshape(first.size))


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
def unit(begin: int, end: int, y: Floats, network: Network, data: Data, work: Work) -> None:
    """Direction, norm and ratio v/|w| of a range of neurons, and the factors of their responses in the output."""
    r = work.direction.shape[1]
    normalised(begin, end, y, work.direction, work.norm)
    free = network.trained and not network.balanced
    for j in range(begin, end):
        if network.polar:
            work.log_norm[j], work.norm[j] = y[j, r], exp(y[j, r])
            if free:
                work.ratio[j] = y[j, r + 1]
            elif network.balanced:
                work.ratio[j] = data.output_sign[j]
            else:
                work.ratio[j] = data.output_sign[j] * exp(data.output_log[j] - y[j, r])
        else:
            size = work.norm[j]
            if size == 0.0:
                work.norm[j] = 1.0
            fixed = data.output_sign[j] * exp(data.output_log[j])
            work.log_norm[j], work.ratio[j] = (
                log(work.norm[j]),
                (y[j, r + 1] if network.trained else fixed) / work.norm[j],
            )
            work.output[j] = abs(work.ratio[j]) * work.norm[j]
            if WITH_GATES:
                work.reach[j] = max(1.0, work.size[j] / size) if size > 0.0 else FAR
        if network.homogeneity == 1.0:
            work.factor[j] = work.ratio[j] * work.norm[j] * work.norm[j]
        else:
            work.factor[j] = work.ratio[j] * exp((network.homogeneity + 1.0) * work.log_norm[j])


@compiled
def normalised(begin: int, end: int, y: Floats, direction: Floats, norm: Floats) -> None:
    """The first entries of a range of rows as unit vectors (m, r), a row of zeros as it is, and their norms (m,)."""
    r = direction.shape[1]
    for j in range(begin, end):
        square = 0.0
        for c in range(r):
            square += y[j, c] * y[j, c]
        norm[j] = sqrt(square)
        if SMALLEST_SQUARE < square < LARGEST_SQUARE:
            inverse = 1.0 / norm[j]
            for c in range(r):
                direction[j, c] = y[j, c] * inverse
        else:
            norm[j] = norm_of(y[j, :r])
            scale = norm[j] if norm[j] > 0.0 else 1.0
            for c in range(r):
                direction[j, c] = y[j, c] / scale


@compiled
def evaluate(
    y: Floats, out: Floats, slot: int, look: float, network: Network, data: Data, state: State, work: Work
) -> None:
    """The velocity at y, into out; `slot` is where the sliding planes' forces are noted.

    look > 0: pairs that keep their gate and lie beyond look x ON_PLANE on the wrong side become candidates, and the gates
    of all others are set to the sign.
    """
    unit(0, len(y), y, network, data, work)
    time = y[0, y.shape[1] - 2]
    threshold = min(network.threshold + network.threshold_rate * time, network.threshold_cap)
    spread = (network.smoothing if time <= network.switch else network.late_smoothing) * threshold
    inputs = data.inputs
    if WITH_PURIFICATION and network.attack != NO_ATTACK:
        _attack(threshold, spread, network, data, work)
        inputs = work.attacked
    if WITH_GATES:
        product(work.direction, inputs.T, work.pre)
        work.outputs[:] = 0.0
        for j in range(len(y)):
            place, width = data.output_index[j], ON_PLANE * work.reach[j]
            strength, threshold, outputs = state.strength[place], state.threshold[j], work.outputs[place]
            respond(
                j,
                look,
                work.pre[j],
                state.gate[j],
                strength,
                threshold,
                data.norm,
                width,
                work.factor[j],
                network.slope,
                outputs,
                work.candidate,
                state.counts,
            )
    else:
        product(inputs, work.direction.T, work.pre)
        _outputs(threshold, spread, data.noise, network, data, work)
    set_pulls(y, slot, network, data, state, work)
    if WITH_GATES:
        copy(work.pull, work.pulls[slot])
        for j in range(len(y)):
            place, width = data.output_index[j], ON_PLANE * work.reach[j]
            strength, threshold, pull = state.strength[place], state.threshold[j], work.pull[place]
            slope_times_pull(work.pre[j], state.gate[j], strength, threshold, data.norm, width, network.slope, pull)
        product(work.pre, inputs, work.force)
        velocities(0, len(y), out, slot, network, data, state, work)
    else:
        _pulls(threshold, spread, data.noise, network, data, work)
        product(work.pre.T, inputs, work.force)
        force, ratio = work.force, work.ratio
        move(0, len(y), network, force, force, work.direction, ratio, work.log_norm, work.norm, work.total, out)
    state.counts[EVALUATIONS] += 1


@compiled
def _attack(threshold: float, spread: float, network: Network, data: Data, work: Work) -> None:
    """Move every sample to where its loss is larger, within the radius; a noisy network is attacked in its mean."""
    copy(data.inputs, work.attacked)
    for _ in range(network.attack_steps):
        product(work.attacked, work.direction.T, work.pre)
        _outputs(threshold, spread, data.noise[:0], network, data, work)
        set_ascent(network.loss, work.outputs, data.targets, work.pull)
        _pulls(threshold, spread, data.noise[:0], network, data, work)
        for i in range(len(work.pre)):
            for j in range(work.pre.shape[1]):
                work.pre[i, j] *= work.factor[j]
        product(work.pre, work.direction, work.ascent)
        for i in range(len(work.ascent)):
            _climb(data.inputs[i], work.attacked[i], work.ascent[i], data.feature, network)


@compiled
def _climb(start: Floats, row: Floats, ascent: Floats, feature: Floats, network: Network) -> None:
    """A step of an attacker from row, to a point within the radius of where it started."""
    for c in range(len(row)):
        ascent[c] *= feature[c]
    size = norm_of(ascent)
    if size == 0.0:
        return
    for c in range(len(row)):
        rise = ascent[c] / size if network.attack == L2 else _sign(ascent[c])
        ascent[c] = row[c] - start[c] + network.attack_step * rise
    shrink = 1.0
    if network.attack == L2:
        length = norm_of(ascent)
        shrink = network.radius / length if length > network.radius else 1.0
    for c in range(len(row)):
        moved = shrink * ascent[c]
        row[c] = start[c] + (moved if network.attack == L2 else min(max(moved, -network.radius), network.radius))


@compiled
def _sign(x: float) -> float:
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x)


@compiled
def _outputs(threshold: float, spread: float, noise: Floats, network: Network, data: Data, work: Work) -> None:
    """f(x_i) from the pre-activations, of a network without gates."""
    if network.activation == LEAKY:
        add_leaky(work.pre, network.slope, work.factor, data.output_start, work.outputs)
    elif network.activation == POWER:
        add_power(work.pre, network.degree, work.factor, data.output_start, work.outputs)
    elif network.activation == TANH:
        add_tanh(work.pre, work.log_norm, work.norm, work.factor, data.output_start, work.outputs)
    elif WITH_PURIFICATION:
        add_symmetric(work.pre, work.norm, work.factor, threshold, spread, noise, work.outputs)


@compiled
def _pulls(threshold: float, spread: float, noise: Floats, network: Network, data: Data, work: Work) -> None:
    """Turn pre-activations into slope times pull, in place, of a network without gates."""
    if network.activation == LEAKY:
        pull_leaky(work.pre, network.slope, data.output_start, work.pull)
    elif network.activation == POWER:
        pull_power(work.pre, network.degree, data.output_start, work.pull)
    elif network.activation == TANH:
        pull_tanh(work.pre, work.log_norm, work.norm, data.output_start, work.pull, work.total)
    elif WITH_PURIFICATION:
        pull_symmetric(work.pre, work.norm, threshold, spread, noise, work.pull)


@compiled
def evaluate_row(
    j: int, y: Floats, out: Floats, slot: int, look: float, network: Network, data: Data, state: State, work: Work
) -> None:
    """The velocity of neuron j alone, one with gates, under the pulls in work.pull, from its row of y into its row of out;
    its response into work.share."""
    respond_alone(j, y, look, network, data, state, work)
    place, width = data.output_index[j], ON_PLANE * work.reach[j]
    strength, threshold, pull = state.strength[place], state.threshold[j], work.pull[place]
    slope_times_pull(work.pre[j], state.gate[j], strength, threshold, data.norm, width, network.slope, pull)
    product(work.pre[j], data.inputs, work.force[j])
    velocities(j, j + 1, out, slot, network, data, state, work)
    state.counts[UPDATES] += 1


@compiled
def respond_alone(j: int, y: Floats, look: float, network: Network, data: Data, state: State, work: Work) -> None:
    """Neuron j's part of its output, from its row of y, into work.share."""
    unit(j, j + 1, y, network, data, work)
    product(data.inputs, work.direction[j], work.pre[j])
    work.share[:] = 0.0
    strength, threshold = state.strength[data.output_index[j]], state.threshold[j]
    respond(
        j,
        look,
        work.pre[j],
        state.gate[j],
        strength,
        threshold,
        data.norm,
        ON_PLANE * work.reach[j],
        work.factor[j],
        network.slope,
        work.share,
        work.candidate,
        state.counts,
    )


@compiled
def set_pulls(y: Floats, slot: int, network: Network, data: Data, state: State, work: Work) -> None:
    """work.pull, and on the loss clock the rate of time, for the outputs in work.outputs."""
    if WITH_LOSS_CLOCK and state.counts[LOSS_CLOCK]:
        log_speed = growth(y, network, data) - log_loss(network.loss, work.outputs, data.targets, data.weight)
        work.log_speed[slot] = log_speed
        set_scaled_pull(network.loss, work.outputs, data.targets, data.weight, log_speed, work.pull)
    else:
        set_pull(network.loss, work.outputs, data.targets, data.weight, work.pull)


@compiled
def velocities(
    begin: int, end: int, out: Floats, slot: int, network: Network, data: Data, state: State, work: Work
) -> None:
    """The velocities of a range of neurons with gates from their forces, into their rows of out.

    What is called for every neuron has the arrays, not the tuples that hold them: those would be copied for every call.
    """
    r = work.direction.shape[1]
    direction, force, ratio, pull, norm = work.direction, work.force, work.ratio, work.pull, data.norm
    count, planes, index = state.slide_count, state.slide_plane, data.output_index
    basis, triangle = state.basis, state.triangle
    slide_z, slide_cap = work.slide_z[slot], work.slide_cap[slot]
    start, member, factor = data.member_start, data.member, data.factor
    for j in range(begin, end):
        row, slides = out[j, :r], count[j]
        copy_row(force[j], row)
        if slides > 0:
            sign = 1.0 if ratio[j] > 0.0 else -1.0
            _project(row, sign, basis[j, :slides], triangle[j], slide_z[j])
            for k in range(slides):
                pulled = plane_pull(planes[j, k], pull[index[j]], start, member, factor)
                slide_cap[j, k] = -sign * (1.0 - network.slope) * pulled
        if not network.polar and norm_of(direction[j]) == 0.0 and _rounding(row, pull[index[j]], norm):
            row[:] = 0.0  # it rests at 0
    move(begin, end, network, out, force, direction, ratio, work.log_norm, work.norm, work.total, out)


@compiled
def move(
    begin: int,
    end: int,
    network: Network,
    allowed: Floats,
    force: Floats,
    direction: Floats,
    ratio: Floats,
    log_norm: Floats,
    norm: Floats,
    response: Floats,
    out: Floats,
) -> None:
    """Forces (m, r), and the part of them that neurons may follow, as velocities of a range of neurons."""
    r = direction.shape[1]
    free = network.trained and not network.balanced
    for j in range(begin, end):
        along = 0.0
        for c in range(r):
            along += force[j, c] * direction[j, c]
        total = along / network.degree if network.activation < TANH else response[j]
        radial = network.homogeneity * total if network.activation < TANH else along
        scale = 1.0 if network.homogeneity == 1.0 else exp((network.homogeneity - 1.0) * log_norm[j])
        gain = ratio[j] * scale
        decay = network.square_decay + network.cubic_decay * norm[j]
        if network.polar:
            for c in range(r):
                out[j, c] = gain * (allowed[j, c] - along * direction[j, c])
            out[j, r] = gain * radial - decay
            out[j, r + 1] = scale * total - ratio[j] * out[j, r] if free else 0.0
        else:
            gain, rest = norm[j] * gain, radial - along
            for c in range(r):
                out[j, c] = gain * (allowed[j, c] + rest * direction[j, c]) - decay * norm[j] * direction[j, c]
            out[j, r] = 1.0  # time, which a threshold depends on
            out[j, r + 1] = norm[j] * scale * total if network.trained else 0.0


@compiled
def _rounding(force: Floats, pull: Floats, norm: Floats) -> bool:
    """Whether a force on a neuron is nothing but what is left of larger ones that cancel."""
    total = 0.0
    for i in range(len(pull)):
        total += abs(pull[i]) * norm[i]
    return norm_of(force) <= RESTING * total


@compiled
def plane_pull(h: int, pull: Floats, member_start: Integers, member: Integers, factor: Floats) -> float:
    """sum of |factor_i| p_i over the samples of a plane: how far its gate moves a neuron's force along the normal."""
    total = 0.0
    for place in range(member_start[h], member_start[h + 1]):
        i = member[place]
        total += abs(factor[i]) * pull[i]
    return total


@compiled
def _project(row: Floats, sign: float, basis: Floats, triangle: Floats, z: Floats) -> None:
    """Take the part of a force along the sliding planes' normals out of it, and note it in terms of the normals.

    With the sign of v_j, sign * row = sum_k z_k x_k + (orthogonal part); a sliding gate is z_k / cap_k, in [0, 1].
    """
    count = len(basis)
    for k in range(count):
        z[k] = dot(row, basis[k])
        for c in range(len(row)):
            row[c] -= z[k] * basis[k, c]
    if count == len(row):
        row[:] = 0.0
    for k in range(count - 1, -1, -1):
        for later in range(k + 1, count):
            z[k] -= triangle[k, later] * z[later]
        z[k] /= triangle[k, k]
    for k in range(count):
        z[k] *= sign
