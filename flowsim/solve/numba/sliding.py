"""Which way a neuron goes when it is on planes where its activation bends: Clarke's subdifferential, resolved.

On planes h with <w, x_h> = 0 the neuron's velocity is F - sum_h z_h x_h (times |v|): F is the force with every gate at 0,
z_h lies between 0 and cap_h = -sigma (1 - slope) sum_i |factor_i| p_i, and z_h / cap_h is the gate. The velocity along x_h
decides: where it is positive the gate must be 1, where negative 0, and where the neuron slides anything between. For
planes that attract from both sides (cap > 0) these are the conditions of a box-constrained least-squares problem, whose
solution is the element of least norm. A plane that repels (cap <= 0) is crossed, or left on the side the neuron came from.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ...arrays import Floats, Integers
from .compiled import allocating, compiled
from .field import RESTING, copy_row, dot, plane_pull, velocities
from .gated import ON_PLANE
from .layout import EVENTS, Data, Network, State, Work

#: A normal with less than this part of its length outside the others' span depends on them.
DEPENDENT = 1e-9
BELOW, ABOVE, ON = range(3)


@allocating
def resolve(j: int, out: Floats, slot: int, network: Network, data: Data, state: State, work: Work) -> None:
    """Choose gates and sliding planes of neuron j at its present place, and put its velocity into its row of out.

    Needs what `evaluate` left. Gates off the planes are set to the signs of the pre-activations.
    """
    if work.ratio[j] == 0.0:
        return
    sign = 1.0 if work.ratio[j] > 0.0 else -1.0
    kink = 1.0 - network.slope
    near, side = _boundary(j, kink, data, state, work)
    normals, pull = data.inputs[data.first[near]], work.pull[data.output_index[j]]
    force, gate = work.force[j], state.gate[j]
    cap = np.empty(len(near))
    before = side.copy()
    for b in range(len(near)):
        cap[b] = -sign * kink * plane_pull(near[b], pull, data.member_start, data.member, data.factor)
        _set_gates(near[b], False, kink, pull, gate, force, data.inputs, data.member_start, data.member, data.factor)
    _settle_sides(sign * force, normals, cap, side)
    for b in range(len(near)):
        if side[b] == ABOVE:
            _set_gates(near[b], True, kink, pull, gate, force, data.inputs, data.member_start, data.member, data.factor)
    _set_basis(j, near, side, normals, state)
    state.counts[EVENTS] += (side != before).sum()
    velocities(j, j + 1, out, slot, network, data, state, work)


@allocating
def _boundary(j: int, kink: float, data: Data, state: State, work: Work) -> tuple[Integers, Integers]:
    """(planes that neuron j is on, on which side of each it counts); its gates elsewhere are made to follow the signs."""
    planes, inputs, first, norm = len(data.first), data.inputs, data.first, data.norm
    start, member, factor = data.member_start, data.member, data.factor
    direction, pull, force = work.direction[j], work.pull[data.output_index[j]], work.force[j]
    gate, strength, reach = state.gate[j], state.strength[data.output_index[j]], 2.0 * ON_PLANE * work.reach[j]
    near, side = np.empty(planes, np.int64), np.empty(planes, np.int64)
    count = 0
    sliding = np.zeros(planes, np.bool_)
    for k in range(state.slide_count[j]):
        sliding[state.slide_plane[j, k]] = True
    for h in range(planes):
        i = first[h]
        s = dot(inputs[i], direction)
        if sliding[h] or abs(s) <= reach * norm[i]:
            near[count] = h
            side[count] = ON if sliding[h] else _side(h, gate, strength, start, member, factor)
            count += 1
        else:
            _set_gates(h, s > 0.0, kink, pull, gate, force, inputs, start, member, factor)
    return near[:count], side[:count]


@compiled
def _side(h: int, gate: Any, strength: Floats, member_start: Integers, member: Integers, factor: Floats) -> int:
    """The side of a plane on which its sample with the hardest kink has a neuron."""
    hardest = member[member_start[h]]
    for place in range(member_start[h], member_start[h + 1]):
        if strength[member[place]] > strength[hardest]:
            hardest = member[place]
    return ABOVE if (gate[hardest] == 1) == (factor[hardest] > 0.0) else BELOW


@compiled
def _set_gates(
    h: int,
    above: bool,
    kink: float,
    pull: Floats,
    gates: Any,
    force: Floats,
    inputs: Floats,
    member_start: Integers,
    member: Integers,
    factor: Floats,
) -> None:
    """A neuron's gates of a plane's samples with the neuron on this side of it, and what that changes of its force."""
    for place in range(member_start[h], member_start[h + 1]):
        i = member[place]
        gate = 1 if above == (factor[i] > 0.0) else 0
        if gate != gates[i]:
            change = kink * pull[i] * (gate - gates[i])
            for c in range(len(force)):
                force[c] += change * inputs[i, c]
            gates[i] = gate


@allocating
def _set_basis(j: int, near: Integers, side: Integers, normals: Floats, state: State) -> None:
    """The sliding planes of neuron j and the QR factors of their normals."""
    chosen = np.flatnonzero(side == ON)[: state.slide_plane.shape[1]]
    count = len(chosen)
    basis, triangle = _orthonormal(normals, chosen)
    state.slide_count[j] = count
    for k in range(count):
        state.slide_plane[j, k] = near[chosen[k]]
        copy_row(basis[k], state.basis[j, k])
        for later in range(count):
            state.triangle[j, k, later] = triangle[k, later]


@allocating
def _settle_sides(force: Floats, normals: Floats, cap: Floats, side: Integers) -> None:
    """Sides of the planes (ON where the neuron slides) under which every gate fits the velocity it leads to.

    force: sigma times the force with all gates 0. Changes `side` in place. A plane that repels keeps its side unless the
    velocity there points away from that side; from ON it starts BELOW.
    """
    attracts = np.flatnonzero(cap > 0.0)
    for b in range(len(cap)):
        if cap[b] <= 0.0 and side[b] == ON:
            side[b] = BELOW
    scale = sqrt(dot(force, force))
    for b in range(len(cap)):
        scale += abs(cap[b]) * sqrt(dot(normals[b], normals[b]))
    for _ in range(2 * len(cap) + 1):
        velocity = force.copy()
        for b in range(len(cap)):
            if cap[b] <= 0.0 and side[b] == ABOVE:
                velocity -= cap[b] * normals[b]
        _least_norm(velocity, normals, cap, side, attracts, scale)
        turned = False
        for b in range(len(cap)):
            if cap[b] > 0.0:
                continue
            rate = dot(velocity, normals[b])
            small = RESTING * scale * sqrt(dot(normals[b], normals[b]))
            if (side[b] == BELOW and rate > small) or (side[b] == ABOVE and rate < -small):
                side[b] = ABOVE if side[b] == BELOW else BELOW
                turned = True
        if not turned:
            return


@allocating
def _least_norm(
    velocity: Floats, normals: Floats, cap: Floats, side: Integers, attracts: Integers, scale: float
) -> None:
    """The z in [0, cap] of the attracting planes for which |velocity - sum z x| is least; takes the sum out of `velocity`
    and leaves in `side` BELOW for z = 0, ABOVE for z = cap, ON between.

    An active-set method (Stark & Parker 1995), started from the sides given.
    """
    z = np.zeros(len(cap))
    for b in attracts:
        z[b] = cap[b] if side[b] == ABOVE else (0.5 * cap[b] if side[b] == ON else 0.0)
    free = np.array([b for b in attracts if side[b] == ON], dtype=np.int64)
    blocked = -1
    for _ in range(10 * len(attracts) + 10):
        free = _descend(velocity, normals, cap, side, attracts, z, free)
        rest = velocity.copy()
        for b in attracts:
            if z[b] != 0.0:
                rest -= z[b] * normals[b]
        best, worst = -1, 0.0
        for b in attracts:
            if side[b] == ON or b == blocked:
                continue
            length = sqrt(dot(normals[b], normals[b]))
            rate = dot(rest, normals[b]) / (length if length > 0.0 else 1.0)
            gain = rate if side[b] == BELOW else -rate
            if gain > RESTING * scale and gain > worst:
                best, worst = b, gain
        if best < 0:
            break
        tried = np.append(free, best)
        if not _independent(normals, tried):
            blocked = best
            continue
        blocked = -1
        side[best] = ON
        free = tried
    for b in attracts:
        if z[b] != 0.0:
            velocity -= z[b] * normals[b]


@allocating
def _descend(
    velocity: Floats, normals: Floats, cap: Floats, side: Integers, attracts: Integers, z: Floats, free: Integers
) -> Integers:
    """Least squares over the free planes, those that run into a bound fixed there one by one; the planes still free."""
    while len(free):
        target = velocity.copy()
        for b in attracts:
            if side[b] != ON and z[b] != 0.0:
                target -= z[b] * normals[b]
        wanted = _solve(normals, free, target)
        reach, first = 1.0, -1
        for place in range(len(free)):
            b = free[place]
            step, least = wanted[place] - z[b], RESTING * cap[b]
            if wanted[place] <= least and z[b] + reach * step <= least:
                reach, first = min(z[b] / -step if step < 0.0 else 0.0, 1.0), place
            elif wanted[place] >= cap[b] - least and z[b] + reach * step >= cap[b] - least:
                reach, first = min((cap[b] - z[b]) / step if step > 0.0 else 0.0, 1.0), place
        for place in range(len(free)):
            z[free[place]] += reach * (wanted[place] - z[free[place]])
        if first < 0:
            return free
        b = free[first]
        low = 2.0 * wanted[first] < cap[b]
        side[b], z[b] = (BELOW, 0.0) if low else (ABOVE, cap[b])
        free = np.concatenate((free[:first], free[first + 1 :]))
    return free


@allocating
def _solve(normals: Floats, free: Integers, target: Floats) -> Floats:
    """Least-squares coefficients of the target in the free normals."""
    count = len(free)
    basis, triangle = _orthonormal(normals, free)
    z = np.empty(count)
    for k in range(count):
        z[k] = dot(basis[k], target)
    for k in range(count - 1, -1, -1):
        for later in range(k + 1, count):
            z[k] -= triangle[k, later] * z[later]
        z[k] = z[k] / triangle[k, k] if triangle[k, k] > 0.0 else 0.0
    return z


@allocating
def _independent(normals: Floats, chosen: Integers) -> bool:
    last = len(chosen) - 1
    _, triangle = _orthonormal(normals, chosen)
    return triangle[last, last] > 0.0


@allocating
def _orthonormal(normals: Floats, chosen: Integers) -> tuple[Floats, Floats]:
    """QR factors of the chosen normals: rows of the basis, upper triangle; a dependent one has a 0 on the diagonal."""
    count = len(chosen)
    basis, triangle = normals[chosen], np.zeros((count, count))
    for k in range(count):
        length = sqrt(dot(basis[k], basis[k]))
        for _ in range(2):
            for before in range(k):
                part = dot(basis[before], basis[k])
                triangle[before, k] += part
                basis[k] -= part * basis[before]
        rest = sqrt(dot(basis[k], basis[k]))
        if rest > DEPENDENT * length:
            triangle[k, k] = rest
            basis[k] /= rest
        else:
            basis[k] = 0.0
    return basis, triangle
