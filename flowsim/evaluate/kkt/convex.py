"""The largest margin of a two-layer network over all widths, as a convex program (Pilanci & Ergen 2020).

With both layers trained and balanced, |theta|^2/2 is the sum of the neurons' strengths |v_j||w_j|, and margins are linear
in them: over all directions u and both signs s,

    minimise  sum a_us   where  sum a_us s y_i phi(<u, x_i>) >= 1,  a >= 0.

Its dual has the samples' multipliers: the largest sum lambda_i with |sum_i lambda_i y_i phi(<u, x_i>)| <= 1 for every u.
Within a cone of directions of given gates that sum is linear in u, so its largest value there is the length of a
projection onto the cone. Directions are added where the dual is broken the most, until it is not any more: what the
linear program says is a network, so never less than the least, and the multipliers, divided by the largest violation,
prove that nothing is less than their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, nnls

from ...arrays import Floats, Integers
from .cells import cells
from .state import System

#: Programs that are solved at most, and directions that are added to each at most.
PROGRAMS, ADDED = 200, 60
#: Sweeps over the samples, before directions are taken and before cones are solved one by one; and what forces are
#: compared to, relatively.
FIRST, SWEEPS, SAME = 3, 40, 1e-12
#: What conditions of a linear program are met to: the first of these with which its solver ends well.
TOLERANCES = (1e-10, 1e-7)
#: A margin that is short of 1 costs so much at first; where that is not enough, by so much more, up to a largest price.
SHORT, DEARER, DEAREST = 1e2, 1e2, 1e8
#: A direction has a part in a network with this part of the strongest one's strength.
THERE = 1e-9
#: Where cells are too many: directions that are tried, at first and after each program, and turns of each.
TRIED, TURNS = 400, 20


@dataclass(frozen=True)
class Cones:
    """Sets of directions with given gates: side (c, n): +1 above the sample's plane, -1 below it, 0 in it; sign (c,): of
    the output weight. every: whether they hold all directions, with both signs."""

    side: Integers
    sign: Floats
    every: bool = False

    def __getitem__(self, index: int) -> Cones:
        return Cones(self.side[index : index + 1], self.sign[index : index + 1])

    @classmethod
    def of_all(cls, system: System) -> Cones | None:
        """All cells, with both signs; None where they are too many."""
        found = cells(system.inputs)
        if found is None:
            return None
        return cls(np.concatenate([found, found]), np.repeat([1.0, -1.0], len(found)), True)


@dataclass(frozen=True)
class Solved:
    """A network of directions (k, r) with strengths (k,) and signs (k,), cone (k,): where each is from, -1 of none. norm:
    of strengths in all, |theta|^2/2; at_least: what no network over the cones is below. multiplier (n,): with them nothing
    pulls by more than 1, up to the tolerance. missing: by how much the smallest margin is short of 1. All in units of the
    system's inputs."""

    direction: Floats
    strength: Floats
    sign: Floats
    cone: Integers
    norm: float
    at_least: float
    multiplier: Floats
    missing: float


def projected(system: System, side: Integers, vector: Floats) -> tuple[Floats, Floats]:
    """(the vector's projection onto a cone of these sides (n,), gamma (n,): with it, the projection is the vector plus
    sum_i gamma_i x_i): Moreau's decomposition, by non-negative least squares."""
    bounds = system.inputs * side[:, None]
    bounds = bounds[side != 0]
    planes = system.inputs[side == 0]
    # a plane is two half-spaces
    rows = np.concatenate([bounds, planes, -planes])
    weight, _ = nnls(rows.T, -vector, maxiter=30 * max(rows.shape))
    gamma = np.zeros(len(side))
    count, flat = len(bounds), len(planes)
    gamma[side != 0] = weight[:count] * side[side != 0]
    gamma[side == 0] = weight[count : count + flat] - weight[count + flat :]
    return vector + gamma @ system.inputs, gamma


def forces(system: System, cones: Cones, multiplier: Floats) -> Floats:
    """(c, r): s sum_i lambda_i y_i a_i x_i with the gates of each cone"""
    gate = np.where(cones.side > 0, 1.0, system.slope)
    return np.asarray(cones.sign[:, None] * ((gate * (multiplier * system.label)) @ system.inputs))


def strongest(system: System, cones: Cones, multiplier: Floats) -> float:
    """The largest force along a direction of the cones, to rounding."""
    force, _, _, _ = _pulled(system, cones, multiplier, 0.0)
    return float(force.max(initial=0.0))


def _pulled(
    system: System, cones: Cones, multiplier: Floats, least: float, enough: bool = False
) -> tuple[Floats, Floats, Integers, float]:
    """(forces (k,) above `least`, the directions (k, r) along which they are, of which cones, what no force is above).

    The projection of what pulls onto a cone is the shortest sum of it and gamma_i x_i, gamma_i of the sides' signs, so
    any gamma bounds the force from above, and any direction from below. All cones go together through sweeps over the
    samples, until their bounds fall to `least` or to the largest force; those that are left are solved one by one.
    enough: not to be, where there is a force above `least` already.
    """
    inputs, weight = system.inputs, multiplier * system.label
    left = forces(system, cones, multiplier)
    where = np.arange(len(left))
    gamma = np.zeros(cones.side.shape)
    square = np.diag(system.gram)
    # directions on the way to a projection are outside of their cone, which is of no harm where there are all cones
    sweeps = SWEEPS if cones.every else 0
    for sweep in range(sweeps + 1):
        size = np.linalg.norm(left, axis=1)
        direction = left / np.maximum(size, np.finfo(float).tiny)[:, None]
        force = cones.sign[where] * (system.response(direction @ inputs.T)[0] @ weight)
        floor = least or float(force.max(initial=0.0))
        ready = enough and sweep >= FIRST and force.max(initial=0.0) > least
        if sweep == sweeps or ready:
            break
        # the largest force itself is kept
        kept = size >= floor * (1 + SAME) if least else size >= floor * (1 - SAME)
        left, where, gamma = left[kept], where[kept], gamma[kept]
        side = cones.side[where]
        for index in np.flatnonzero(square > 0):
            needed = -(left @ inputs[index]) / square[index]
            after = gamma[:, index] + needed
            bounded = side[:, index] * np.maximum(side[:, index] * after, 0.0)
            after = np.where(side[:, index] == 0, after, bounded)
            left = left + (after - gamma[:, index])[:, None] * inputs[index]
            gamma[:, index] = after
    if not ready:
        for place in np.flatnonzero(size > floor * (1 - SAME)):
            pull, _ = projected(system, cones.side[where[place]], forces(system, cones[where[place]], multiplier)[0])
            size[place] = np.linalg.norm(pull)
            direction[place] = pull / max(size[place], np.finfo(float).tiny)
            force[place] = size[place]
    bound = max(float(size.max(initial=0.0)), least)
    chosen = np.flatnonzero(force > least)
    return force[chosen], direction[chosen], where[chosen], bound


def turned(system: System, multiplier: Floats, generator: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """(directions (k, r), signs (k,), forces along them (k,)) where random directions, turned to what pulls at them again
    and again, are pulled the most."""
    direction = generator.standard_normal((TRIED, len(system.inputs))) @ system.inputs
    sign = np.where(np.arange(TRIED) % 2, 1.0, -1.0)
    weight = multiplier * system.label
    best, at = np.full(TRIED, -np.inf), direction
    for _ in range(TURNS):
        direction = direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), np.finfo(float).tiny)
        value, slope = system.response(direction @ system.inputs.T)
        pulled = sign * (value @ weight)
        at = np.where((pulled > best)[:, None], direction, at)
        best = np.maximum(best, pulled)
        direction = sign[:, None] * ((slope * weight) @ system.inputs)
    return at, sign, best


def least_norm(
    system: System, cones: Cones | None, tolerance: float, generator: np.random.Generator, price: float = DEAREST
) -> Solved | None:
    """The network of least norm with neurons in these cones, to a relative tolerance; None where the solver fails.

    cones: None for all directions where cells are too many; random ones are tried, and nothing is known of what no network
    is below. price: what it costs at most, beside the norm, that a margin is short of 1 by 1.
    """
    samples, rank = system.inputs.shape
    columns = _Columns(np.zeros((0, rank)), np.zeros(0), np.zeros(0, dtype=np.int64))
    now, lower = min(SHORT, price), 0.0
    # those of a program without a direction
    strength, missing, multiplier = np.zeros(0), np.ones(samples), np.full(samples, now)
    for _ in range(PROGRAMS):
        new, bound = _broken(system, cones, multiplier, tolerance, generator)
        lower = max(lower, float(multiplier.sum()) / bound)
        if not len(new.sign):
            if missing.max() <= THERE or now >= price:
                break
            now *= DEARER
        columns = columns.and_these(new)
        if not len(columns.sign):  # no sample pulls at any direction
            return None
        solved = _program(system, columns, now)
        if solved is None:
            break
        strength, missing, multiplier = solved
    if not strength.any():
        return None
    # of the directions that came last, none where their program did not end well
    strength = np.append(strength, np.zeros(len(columns.sign) - len(strength)))
    kept = strength > THERE * strength.max()
    norm = float(strength.sum())
    at = columns.direction[kept], strength[kept], columns.sign[kept], columns.cone[kept]
    return Solved(*at, norm, min(lower, norm), multiplier, float(missing.max()))


@dataclass(frozen=True)
class _Columns:
    """direction (k, r): unit rows; sign (k,); cone (k,)"""

    direction: Floats
    sign: Floats
    cone: Integers

    def and_these(self, other: _Columns) -> _Columns:
        return _Columns(
            np.concatenate([self.direction, other.direction]),
            np.concatenate([self.sign, other.sign]),
            np.concatenate([self.cone, other.cone]),
        )


def _broken(
    system: System, cones: Cones | None, multiplier: Floats, tolerance: float, generator: np.random.Generator
) -> tuple[_Columns, float]:
    """(directions along which the force is above 1, what it is nowhere above: inf where that is not known)"""
    if cones is None:
        direction, sign, force = turned(system, multiplier, generator)
        chosen = np.argsort(-force)[:ADDED]
        chosen = chosen[force[chosen] > 1 + tolerance]
        return _Columns(direction[chosen], sign[chosen], np.full(len(chosen), -1)), np.inf
    force, direction, where, bound = _pulled(system, cones, multiplier, 1 + tolerance, enough=True)
    chosen = np.argsort(-force)[:ADDED]
    return _Columns(direction[chosen], cones.sign[where[chosen]], where[chosen]), bound


def _program(system: System, columns: _Columns, price: float) -> tuple[Floats, Floats, Floats] | None:
    """(strengths (k,), by how much margins are short of 1 (n,), multipliers (n,)), where that costs a price; None where
    the solver does not end well."""
    samples = len(system.label)
    response, _ = system.response(columns.direction @ system.inputs.T)
    margins = system.label * (columns.sign[:, None] * response)
    cost = np.concatenate([np.ones(len(margins)), np.full(samples, price)])
    rows = np.hstack([margins.T, np.eye(samples)])
    for tolerance in TOLERANCES:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, A_ub=-rows, b_ub=-np.ones(samples), method="highs", options=options)
        if found.status == 0:
            break
    else:
        return None
    strength = np.maximum(found.x, 0.0)
    return strength[: len(margins)], strength[len(margins) :], np.maximum(-found.ineqlin.marginals, 0.0)
