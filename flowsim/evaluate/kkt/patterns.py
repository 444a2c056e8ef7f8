"""KKT points by descent from cell to cell of the neurons' gates.

With one cone of given gates for each neuron the margin problem is convex. At its solution neurons lie at borders of their
cones; each border stands for a gate between the two sides', or for one that no side has: there the neuron crosses over,
which leaves the network as it is and lets its norm fall. Where no neuron crosses, it is a KKT point. Newton's method makes
it exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Booleans, Floats
from ...problem import Reduced
from .asymptotic import Pull
from .convex import THERE, Cones, Solved, forces, least_norm, projected
from .point import SUPPORT, Point, beside
from .starts import sizes_of
from .state import State, System

#: To this convex problems are solved on the way, and those before Newton's method goes on.
ROUGH, TOLERANCE = 1e-3, 1e-6
#: Times that neurons may cross over; what a margin costs that is short of 1; what gates are compared to.
CROSSINGS, PRICE, OUTSIDE = 60, 1e4, 1e-4
#: A neuron is held in planes of samples with this chance, and then in a further one with this chance, again and again.
HELD, FURTHER = 0.5, 0.4


def random_cones(system: System, width: int, generator: np.random.Generator) -> Cones:
    """The gates of random directions, of which some lie in planes of samples, and random signs."""
    samples = len(system.inputs)
    direction = generator.standard_normal((width, samples)) @ system.inputs
    side = np.zeros((width, samples), dtype=np.int64)
    for row, one in enumerate(direction):
        held = np.zeros(samples, dtype=bool)
        if generator.random() < HELD:
            count = min(int(generator.geometric(1 - FURTHER)), min(system.inputs.shape) - 1)
            held[generator.choice(samples, size=count, replace=False)] = True
            one = one - np.linalg.lstsq(system.inputs[held], system.inputs[held] @ one)[0]
        side[row] = np.where(held, 0, np.where(system.inputs @ one > 0, 1, -1))
    return Cones(side, generator.choice([-1.0, 1.0], size=width))


def from_cones(reduced: Reduced, system: System, cones: Cones | None, generator: np.random.Generator) -> Point | None:
    """The KKT point that is found from cones of neurons, one in each, or from all there are; None where there is none."""
    if cones is None or cones.every:
        solved = least_norm(system, cones, TOLERANCE, generator)
    else:
        solved, cones = _descended(system, cones, generator)
    if solved is None or solved.missing > THERE:
        return None
    point = beside(reduced, system, *_as_flow(system, cones, _one_each(system, solved)))
    return point if point is not None and point.certified else None


def _descended(system: System, cones: Cones, generator: np.random.Generator) -> tuple[Solved | None, Cones]:
    """(the network of least norm where no neuron crosses over any more, the cones that it is in)"""
    for _ in range(CROSSINGS):
        solved = least_norm(system, cones, ROUGH, generator, PRICE)
        if solved is None:
            return None, cones
        side = cones.side.copy()
        for row in np.unique(solved.cone):
            gate, known = _gates(system, cones, row, solved.multiplier)
            own = side[row]
            crosses = known & ((gate > 1 + OUTSIDE) | (gate < system.slope - OUTSIDE))
            side[row] = np.where(crosses, np.where(own != 0, -own, np.where(gate > 1, 1, -1)), own)
        if (side == cones.side).all():
            return least_norm(system, cones, TOLERANCE, generator), cones
        cones = Cones(side, cones.sign)
    return None, cones


def _gates(system: System, cones: Cones, row: int, weight: Floats) -> tuple[Floats, Booleans]:
    """(the gates (n,) that a neuron of a cone would need without the cone's borders, at which samples it lies there)"""
    side = cones.side[row]
    gamma = projected(system, side, forces(system, cones[row], weight)[0])[1]
    own = np.where(side > 0, 1.0, system.slope)
    least = SUPPORT * weight.max()
    # lambda_i y_i s a_i + gamma_i is what a gate would pull with
    needed = own + gamma * cones.sign[row] * system.label / np.maximum(weight, least)
    return needed, (gamma != 0) | ((side == 0) & (weight > least))


def _one_each(system: System, solved: Solved) -> Solved:
    """With one neuron for all of a cone, or where there are no cones for all of the same gates, and of one sign."""
    if (solved.cone < 0).any():
        gates = solved.direction @ system.inputs.T > 0
        _, group = np.unique(np.column_stack([gates, solved.sign > 0]), axis=0, return_inverse=True)
    else:
        _, group = np.unique(solved.cone, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    sums = np.zeros((len(first), solved.direction.shape[1]))
    np.add.at(sums, group.ravel(), solved.strength[:, None] * solved.direction)
    strength = np.linalg.norm(sums, axis=1)
    direction = sums / strength[:, None]
    return replace(solved, direction=direction, strength=strength, sign=solved.sign[first], cone=solved.cone[first])


def _as_flow(system: System, cones: Cones | None, solved: Solved) -> tuple[State, Pull]:
    """The same as the asymptotic flow would show it, with the gates that the cones' borders stand for."""
    weight = solved.multiplier
    projection = solved.direction @ system.inputs.T
    gate = np.where(projection > 0, 1.0, system.slope)
    free = np.zeros(gate.shape, dtype=bool)
    if cones is not None:
        for row, cone in enumerate(solved.cone):
            needed, known = _gates(system, cones, cone, weight)
            free[row] = known & (weight > SUPPORT * weight.max()) & (needed >= system.slope) & (needed <= 1)
            gate[row] = np.where(free[row], needed, np.where(cones.side[cone] > 0, 1.0, system.slope))
    force = (gate * (weight * system.label)) @ system.inputs
    state = State(solved.direction, sizes_of(system, 0.5 * np.log(solved.strength), solved.sign))
    margin = float((system.label * ((solved.sign * solved.strength) @ system.response(projection)[0])).min())
    return state, Pull(weight, force, gate, free, margin, np.ones(len(force)), 0.0)
