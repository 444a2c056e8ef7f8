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

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...problem import Reduced
from .quadratic import in_box, on_simplex
from .sizes import Sizes, log_size

#: With up to so many samples, all are unknowns of each step; of more, those near the smallest margin.
ALL_SAMPLES = 64
#: "Near" is below this many times what margins grow by in a step.
NEAR_MARGIN = 8.0
#: A pair may reach its kink in a step if it is no farther than this many times what its neuron moved by last.
REACH = 3.0
#: Neurons of a smaller share of |theta|^2 choose their gates for themselves, after the samples' weights are known ...
LIGHT = 1e-3
#: ... and those below this are left out of the samples' program.
NEGLIGIBLE = 1e-8
#: A sample of a smaller weight pulls at nothing.
WEIGHTLESS = 1e-13
#: Neurons with |v_j|/|w_j| below this do not turn.
STILL = 1e-9


@dataclass(frozen=True)
class System:
    """inputs (n, r), the longest of length 1, label (n,). power: of |w_j|; degree: of the kink; slope: below it;
    trained: whether output weights are; homogeneity: L."""

    inputs: Floats
    label: Floats
    power: float
    degree: float
    slope: float
    trained: bool
    gram: Floats = field(repr=False)

    @classmethod
    def of(cls, reduced: Reduced) -> System:
        activation = reduced.problem.activation
        assert activation.degree is not None
        inputs = reduced.inputs / np.linalg.norm(reduced.inputs, axis=1).max()
        return cls(
            inputs,
            reduced.targets,
            activation.homogeneity,
            activation.degree,
            activation.inactive_slope,
            reduced.problem.trained_output,
            inputs @ inputs.T,
        )

    @property
    def homogeneity(self) -> float:
        return self.power + self.trained

    @property
    def kinked(self) -> bool:
        return self.degree == 1 and self.slope < 1

    def response(self, projection: Floats) -> tuple[Floats, Floats]:
        """k(s) and k'(s) of s = <u, x>"""
        if self.degree == 1:
            slope = np.where(projection > 0, 1.0, self.slope)
            return slope * projection, slope
        positive = np.maximum(projection, 0.0)
        return positive**self.degree, self.degree * positive ** (self.degree - 1)


@dataclass(frozen=True)
class State:
    """direction (m, r): unit rows; sizes: of any scale. moved (m,): how far each neuron turned in the last step, None
    before the first; advanced: how far log|theta| went in it."""

    direction: Floats
    sizes: Sizes
    moved: Floats | None = None
    advanced: float = 0.0


@dataclass(frozen=True)
class View:
    """A state in numbers, at |theta| = 1. log_size: log|theta|; norm, output (m,): |w_j| and v_j; projection, response,
    slope (m, n); margin (n,)."""

    log_size: float
    norm: Floats
    output: Floats
    log_share: Floats
    projection: Floats
    response: Floats
    slope: Floats
    margin: Floats

    @classmethod
    def of(cls, system: System, state: State) -> View:
        sizes, whole = state.sizes, log_size(state.sizes, system.trained)
        norm = np.exp(sizes.log_norm - whole)
        output = sizes.output_sign * np.exp(sizes.output_log - (whole if system.trained else 0.0))
        both = np.logaddexp(2 * sizes.log_norm, 2 * sizes.output_log) if system.trained else 2 * sizes.log_norm
        projection = state.direction @ system.inputs.T
        response, slope = system.response(projection)
        margin = system.label * ((output * norm**system.power) @ response)
        return cls(whole, norm, output, both - 2 * whole, projection, response, slope, margin)


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
    rows = _rows(view, advance, least)
    while True:
        pulled = _pull(system, state, view, rows, length, least, advance)
        if pulled is None:
            return None
        after = _moved(system, state, view, pulled, length, advance)
        missed = _missed(system, after, rows)
        if not len(missed):
            return after, pulled
        rows = np.union1d(rows, missed)


def _rows(view: View, advance: float, least: float) -> Integers:
    """The samples that are unknowns of a step."""
    if len(view.margin) <= ALL_SAMPLES:
        return np.arange(len(view.margin))
    return np.flatnonzero(view.margin <= least * (1 + NEAR_MARGIN * advance))


def _missed(system: System, after: State, rows: Integers) -> Integers:
    """Samples that were none, and whose margins are the smallest after it."""
    if len(rows) == len(system.label):
        return rows[:0]
    margin = View.of(system, after).margin
    others = np.setdiff1d(np.arange(len(margin)), rows)
    return others[margin[others] < margin[rows].min() * (1 - 1e-9)]


def _pull(
    system: System, state: State, view: View, rows: Integers, length: float, least: float, advance: float
) -> Pull | None:
    near = _near(system, state, view, rows, advance)
    program = _Program(system, state, view, near, rows)
    unknown = on_simplex(length / least * program.matrix, program.linear / least, len(rows), program.bound)
    if unknown is None:
        return None
    weight = np.zeros(len(system.label))
    weight[rows] = unknown[: len(rows)]
    gate = view.slope.copy()
    gate[near] = system.slope
    for j, chosen, part in program.blocks:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(weight[chosen] > WEIGHTLESS, unknown[part] / weight[chosen], 0.0)
        gate[j, chosen] += (1 - system.slope) * share
    light = near.any(axis=1) & (view.log_share < np.log(LIGHT))
    for neuron in np.flatnonzero(light):
        own = _own_gates(system, state, view, int(neuron), near[neuron], weight, length)
        if own is not None:
            gate[neuron] = own
    return _pulled(system, state, view, weight, gate, near, least)


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


class _Program:
    """The quadratic program of a step: matrix, linear and bound as :func:`on_simplex` takes them, and blocks, the
    pairs that its further unknowns belong to: (neuron, samples, slice). A further unknown is (mu_ij - slope
    lambda_i)/(1 - slope)."""

    def __init__(self, system: System, state: State, view: View, near: Booleans, rows: Integers):
        near = near & (view.log_share >= np.log(NEGLIGIBLE))[:, None]
        self.blocks: list[tuple[int, Integers, slice]] = []
        at = len(rows)
        for neuron in np.flatnonzero(near.any(axis=1)):
            chosen = np.flatnonzero(near[neuron])
            self.blocks.append((int(neuron), chosen, slice(at, at + len(chosen))))
            at += len(chosen)
        places = {int(row): place for place, row in enumerate(rows)}
        self.bound = np.array([places[int(i)] for _, chosen, _ in self.blocks for i in chosen], dtype=np.int64)
        self.matrix, self.linear = np.zeros((at, at)), np.zeros(at)
        turning = (view.output * view.norm ** (system.power - 1)) ** 2
        growing = view.norm ** (2 * system.power) * system.trained
        worth = view.output * view.norm**system.power
        label, gram = system.label, system.gram
        first = slice(0, len(rows))
        slope = np.where(near, system.slope, view.slope)
        value = np.where(near, system.slope * view.projection, view.response)
        signed = (value * label)[:, rows]
        self.matrix[first, first] = _turned(system, state, view, slope, value, turning, rows)
        self.matrix[first, first] += (signed * growing[:, None]).T @ signed
        self.linear[first] = worth @ signed
        rest = 1 - system.slope
        for j, chosen, part in self.blocks:
            signs, along = rest * label[chosen], rest * label[chosen] * view.projection[j, chosen]
            own = gram[np.ix_(chosen, chosen)] * np.outer(signs, signs)
            self.matrix[part, part] = turning[j] * own + growing[j] * np.outer(along, along)
            across = gram[np.ix_(rows, chosen)] * np.outer((slope[j] * label)[rows], signs)
            across = turning[j] * across + growing[j] * np.outer(signed[j], along)
            self.matrix[first, part], self.matrix[part, first] = across, across.T
            self.linear[part] = worth[j] * along


def _turned(
    system: System, state: State, view: View, slope: Floats, value: Floats, turning: Floats, rows: Integers
) -> Floats:
    """(s, s): sum_j turning_j <grad h_ij, grad h_kj> y_i y_k"""
    gram, label = system.gram[np.ix_(rows, rows)], system.label[rows]
    inside = (slope * system.label)[:, rows]
    total = ((inside * turning[:, None]).T @ inside) * gram
    if system.degree != 1:
        # grad h = k' x + (P k - k' s) u, so that <grad, u> = P k
        slid, power = view.projection[:, rows], system.power
        along = (power * value[:, rows] - inside * label * slid) * label
        cross = (along * turning[:, None]).T @ (inside * slid)
        total = total + cross + cross.T + (along * turning[:, None]).T @ along
    return np.asarray(total)


def _own_gates(
    system: System, state: State, view: View, j: int, near: Booleans, weight: Floats, length: float
) -> Floats | None:
    """(n,): the gates that neuron j chooses for itself at given weights of the samples"""
    sizes = state.sizes
    gate = np.where(near, system.slope, view.slope[j])
    chosen = np.flatnonzero(near & (weight > WEIGHTLESS))
    log_ratio = sizes.output_log[j] - sizes.log_norm[j] + (0.0 if system.trained else view.log_size)
    if not len(chosen) or log_ratio < np.log(STILL):
        return gate
    ratio = np.exp(log_ratio)
    growing = system.trained / ratio**2
    pulls = (1 - system.slope) * system.label[chosen] * weight[chosen]
    own, along = system.inputs[chosen] * pulls[:, None], view.projection[j, chosen] * pulls
    base = (gate * weight * system.label) @ system.inputs
    matrix = length * (own @ own.T + growing * np.outer(along, along))
    linear = length * (own @ base + growing * along * (base @ state.direction[j]))
    share = in_box(matrix, linear + np.sign(view.output[j]) / ratio * along)
    if share is None:
        return None
    gate[chosen] += (1 - system.slope) * share
    return gate


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
        exponent = np.linalg.norm(force, axis=1) * output * (view.norm ** (system.power - 1)) / factor
    return Pull(weight, force, gate, free, least, exponent, float(np.sqrt(apart)))


def forces(system: System, direction: Floats, projection: Floats, weight: Floats, gate: Floats) -> Floats:
    """(m, r): H_j = sum_i lambda_i y_i grad h(w_j, x_i) at |w_j| = 1"""
    pull = weight * system.label
    force = (gate * pull) @ system.inputs
    if system.degree == 1:
        return np.asarray(force)
    response, _ = system.response(projection)
    along = (system.power * response - gate * projection) @ pull
    return np.asarray(force + along[:, None] * direction)


def _moved(system: System, state: State, view: View, pull: Pull, length: float, advance: float) -> State:
    sizes = state.sizes
    shift = 0.0 if system.trained else view.log_size
    turn = (
        length
        * sizes.output_sign
        * np.exp(
            np.minimum(
                sizes.output_log - sizes.log_norm + shift + (system.power - 1) * np.log(np.maximum(view.norm, 1e-300)),
                300.0,
            )
        )
    )
    moved = state.direction + turn[:, None] * pull.force
    norm = np.linalg.norm(moved, axis=1)
    direction = moved / norm[:, None]
    along = (pull.force * state.direction).sum(axis=1) / system.power
    rate = np.zeros(len(norm))
    if system.trained and system.power != 1:
        rate = (
            length
            * sizes.output_sign
            * along
            * np.exp(
                np.minimum(
                    sizes.log_norm - sizes.output_log + (system.power - 1) * np.log(np.maximum(view.norm, 1e-300)),
                    300.0,
                )
            )
        )
    turned = np.linalg.norm(direction - state.direction, axis=1)
    last = turned if state.moved is None else np.maximum(turned, 0.5 * state.moved)
    return State(direction, sizes.grown(length * along, np.log(norm), rate), last, advance)
