"""The flow's direction once the loss is as good as 0: steepest ascent of the smallest margin, in log|theta|.
The weights of samples in the gradient concentrate on the smallest margins, and theta' = z, the element of least norm
in the convex hull of these margins' gradients. On the unit sphere that is  theta' = z/<z, theta> - theta  in
log|theta|. A step of length h is implicit: of  min_i q_i(theta + h z) - h |z|^2/2,  with margins as they are to first
order beside theta, the largest over z. Its dual has the samples' weights lambda_i in the simplex as its unknowns, and
needs no list of samples on the margin. Where y_i v_j < 0 the sample is what drives the neuron to its kink, from both
sides: there the margin is concave, and its kink enters as it is, through unknowns mu_ij between slope lambda_i and
lambda_i. Neurons slide where a mu_ij ends inside. Fixed points are KKT points, for any h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats, Integers
from .program import Program
from .state import State, System, View
from .turning import Held, forces, turned

#: So many samples, those of the smallest margins, are unknowns of each step, and others if their margins would fall below.
UNKNOWN = 64
#: A neuron is not taken for smaller than this, at |theta| = 1, where it is divided by its size.
TINY = 1e-300
#: So many programs are solved for a step of smooth neurons, to raise all margins alike to second order.
CORRECTED = 3
#: A pair may reach its kink in a step if it is no farther than this many times what its neuron moved by last.
REACH = 3.0


@dataclass(frozen=True)
class Pull:
    """What pulled in a step. weight (n,): lambda_i; force (m, r): H_j = sum_i lambda_i y_i grad h; gate (m, n):
    mu_ij/lambda_i of pairs that may slide, the slopes of the others; free (m, n): which may. margin: the smallest one
    before the step, at |theta| = 1. exponent (m,): of each neuron's growth, d log(size)/d log|theta|. distance:
    between theta and z, both at norm 1."""

    weight: Floats
    force: Floats
    gate: Floats
    free: Booleans
    margin: float
    exponent: Floats
    distance: float


def step(system: System, state: State, advance: float) -> tuple[State, Pull] | None:
    """The state after log|theta| has grown by about `advance`, and what pulled. None where no step was found, since a
    program was not solved or since the smallest margin is not positive."""
    view = View.of(system, state)
    least = float(view.margin.min())
    if not least > 0:
        return None
    length = advance / (system.homogeneity * least)
    turn = _turn(system, state, view, length)
    held = Held.of(system, state, view, turn)
    rows = _rows(view)
    while True:
        near = _near(system, state, view, rows, advance)
        program = Program(system, state, view, near, rows, length, held, advance)
        for _ in range(CORRECTED):
            pulled = _pull(system, state, view, program, least)
            if pulled is None:
                return None
            after = _moved(system, state, view, pulled, turn, held, length, advance)
            margin = View.of(system, after).margin
            if system.degree == 1 or not program.correct(margin, pulled.weight):
                break
        assert pulled is not None
        missed = _missed(margin, rows)
        if not len(missed):
            return after, pulled
        rows = np.union1d(rows, missed)


def _rows(view: View) -> Integers:
    """The samples that are the first unknowns of a step."""
    if len(view.margin) <= UNKNOWN:
        return np.arange(len(view.margin))
    return np.sort(np.argpartition(view.margin, UNKNOWN)[:UNKNOWN])


def _missed(margin: Floats, rows: Integers) -> Integers:
    """Samples that were none, and whose margins are the smallest after it."""
    if len(rows) == len(margin):
        return rows[:0]
    others = np.setdiff1d(np.arange(len(margin)), rows)
    return others[margin[others] < margin[rows].min() * (1 - 1e-9)]


def _pull(system: System, state: State, view: View, program: Program, least: float) -> Pull | None:
    weight = program.weights(least)
    while weight is not None and program.improve(weight):
        weight = program.weights(least)
    if weight is None:
        return None
    return _pulled(system, state, view, weight, program.gates(weight), program.near, least)


def _near(system: System, state: State, view: View, rows: Integers, advance: float) -> Booleans:
    """(m, n): pairs that may slide in the coming step"""
    near = np.zeros(view.projection.shape, dtype=bool)
    if not system.kinked:
        return near
    near[:, rows] = system.label[rows] * view.output[:, None] < 0
    if state.moved is not None:
        reach = REACH * state.moved * max(1.0, advance / state.advanced)
        near &= np.abs(view.projection) <= reach[:, None] * np.sqrt(np.diag(system.gram)) + 1e-6
    return near


def _pulled(
    system: System, state: State, view: View, weight: Floats, gate: Floats, free: Booleans, least: float
) -> Pull:
    force = forces(system, state.direction, view.projection, weight, gate)
    along = (force * state.direction).sum(axis=1)
    output = np.abs(view.output)
    factor = system.homogeneity * least
    turning = view.norm ** (system.power - 1) * view.output
    rest = turning[:, None] * force / factor - view.norm[:, None] * state.direction
    apart = float((rest**2).sum())
    sign = state.sizes.output_sign
    if system.trained:
        grown = view.norm**system.power * along / system.power / factor
        apart += float(((grown - view.output) ** 2).sum())
        # of |w| and |v|, the larger decides
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(view.norm > 0, view.norm ** (system.power - 1), float(system.power == 1))
        exponent = sign * along * rate / factor
    else:
        rate = output * np.maximum(view.norm, TINY) ** (system.power - 2)
        exponent = sign * along * rate / factor
    return Pull(weight, force, gate, free, least, exponent, float(np.sqrt(apart)))


def _turn(system: System, state: State, view: View, length: float) -> Floats:
    """(m,): the step moves w_j, at norm 1, by this times H_j"""
    sizes, shift = state.sizes, 0.0 if system.trained else view.log_size
    log = sizes.output_log - sizes.log_norm + shift + (system.power - 1) * np.log(np.maximum(view.norm, TINY))
    return np.asarray(length * sizes.output_sign * np.exp(np.minimum(log, 300.0)))


def _moved(
    system: System, state: State, view: View, pull: Pull, turn: Floats, held: Held | None, length: float, advance: float
) -> State:
    sizes, start = state.sizes, state.direction
    direction, grown, along = turned(system, start, view.projection, pull.weight, pull.force, turn, held)
    rate = np.zeros(len(turn))
    if system.trained and system.power != 1:
        log = sizes.log_norm - sizes.output_log + (system.power - 1) * np.log(np.maximum(view.norm, TINY))
        rate = length * sizes.output_sign * along / system.power * np.exp(np.minimum(log, 300.0))
        # v_j grows as |w_j| does, so that their ratio rests where both grow alike
        rate = np.where(rate > 0, np.log1p(np.maximum(rate, 0.0)), rate)
    far = np.linalg.norm(direction - start, axis=1)
    last = far if state.moved is None else np.maximum(far, 0.5 * state.moved)
    sizes = sizes.grown(length * along / system.power, grown, rate)
    return State(direction, sizes, last, advance, pull.gate, pull.weight)
