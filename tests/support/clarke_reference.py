"""The subgradient flow of two-layer ReLU and leaky ReLU networks by fixed tiny steps, for event-driven engines to be
compared with, and the minimal-norm element of Clarke's subdifferential.

Two methods that share only the sums over samples and neurons:

- `euler`: explicit Euler of the plain Cartesian flow, gate 1 where <w_j, x_i> > 0 and the inactive slope elsewhere.
  Where a neuron slides it chatters with amplitude O(h), so what is recorded is a mean over a short window of steps.
  Extrapolation removes the error of smooth parts and the mean of the chatter; it does not remove what each crossing and
  each end of a sliding leaves, h times the gate's jump times a phase in [0, 1]. Where there are hundreds of those the
  extrapolated path is no better than the last one: both have an error C h of the same size.
- `averaged`: the implicit midpoint rule in which the gate of a pair is its mean over the step: the old gate until an
  explicit forecast says that the pair is on its boundary, afterwards the gate that fits the side on which the step
  ends, any of [0, 1] where it ends on the boundary. It does not chatter and conserves |w_j|^2 - v_j^2 exactly; its error
  is O(h^2) but in steps in which one pair's arrival ends another's sliding, where it is O(h). Steps in which a pair
  arrives are therefore split into many. No event is located.

Weights are (m, d + bias) and (m,) as in `support.reference.Plain`. Pre-activations are carried along, with the Gram
matrix of the samples, beside each neuron's coefficients: w_j = w_j(0) + sum_i coefficient_ji x_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from scipy.optimize import lsq_linear

from flowsim import Problem
from flowsim.arrays import Floats, Integers

from .reference import Plain

LOSSES = {"square": 0, "logistic": 1, "exponential": 2}
ACTIVATIONS = ("relu", "leaky_relu")


@dataclass(frozen=True)
class Path:
    """Weights at `times` (k,): hidden (k, m, d + bias), output (k, m).

    gate (k, m, n): mean gate around the instant, the inactive slope counted as 0. switches (k, m, n): sign changes, by
    `euler` inside the recorded window, by `averaged` since the start. sliding (k, m, n): whether the pair is held on its
    boundary.
    """

    times: Floats
    hidden: Floats
    output: Floats
    gate: Floats
    switches: Integers
    sliding: Any


def euler(problem: Problem, times: Floats, step: float, window: int = 128) -> Path:
    """Explicit Euler with a fixed step, each instant a Hann-weighted mean over `window` steps before and after it.

    times: multiples of the step, more than 2 window steps apart, 0 not among them. A pair counts as sliding where it
    changes sign more than twice inside the window.
    Raises ValueError where the times do not fit.
    """
    marks = _marks(times, step)
    if np.diff(marks, prepend=-window).min() <= 2 * window:
        raise ValueError(f"times must be more than {2 * window} steps of {step} apart")
    weight = np.hanning(2 * window + 3)[1:-1]
    system, start = _system(problem)
    coefficient, output, gate, switches = _euler(*system, *start, step, marks, weight / weight.sum())
    hidden = Plain(problem).start()[0] + coefficient @ Plain(problem).inputs()
    return Path(times, hidden, output, gate, switches, switches > 2)


def averaged(problem: Problem, times: Floats, step: float, refine: int = 64) -> Path:
    """Implicit midpoint rule with mean gates; steps in which a pair arrives at its boundary are split into `refine`.

    times: multiples of the step. Raises ArithmeticError where the equations of a step are not solved to rounding: the
    step is too large.
    """
    system, start = _system(problem)
    done, coefficient, output, gate, switches, sliding = _averaged(system, *start, step, _marks(times, step), refine)
    if not done:
        raise ArithmeticError(f"the implicit equations of a step of {step} do not converge")
    hidden = Plain(problem).start()[0] + coefficient @ Plain(problem).inputs()
    return Path(times, hidden, output, gate, switches, sliding)


def with_error(
    method: Callable[[Problem, Floats, float], Path], problem: Problem, times: Floats, step: float
) -> tuple[Path, Floats]:
    """(the path with a quarter of the step, its distance (k, m) to that with the step: several times its error)."""
    fine = method(problem, times, step / 4)
    return fine, distance(fine, method(problem, times, step))


def extrapolated(
    method: Callable[[Problem, Floats, float], Path], problem: Problem, times: Floats, step: float, order: int = 1
) -> tuple[Path, Floats]:
    """(the path extrapolated from step/2 and step/4, an estimate of its error (k, m) relative to each neuron's norm).

    The estimate is the distance to what step and step/2 extrapolate to: mostly the error of those two, the coarser ones.
    """
    paths = [method(problem, times, step / 2**level) for level in range(3)]
    gain = 1 / (2**order - 1)
    rough, best = (
        replace(
            fine,
            hidden=fine.hidden + gain * (fine.hidden - before.hidden),
            output=fine.output + gain * (fine.output - before.output),
        )
        for before, fine in pairwise(paths)
    )
    return best, distance(best, rough)


def distance(first: Path, second: Path) -> Floats:
    """(k, m): |(w_j, v_j) - (w'_j, v'_j)| / |w_j|"""
    moved = np.sum((first.hidden - second.hidden) ** 2, axis=2) + (first.output - second.output) ** 2
    return np.sqrt(moved) / np.linalg.norm(first.hidden, axis=2)


def minimal_norm_subgradient(
    problem: Problem, hidden: Floats, output: Floats, tol: float = 1e-9
) -> tuple[Floats, Floats]:
    """The shortest element of Clarke's subdifferential of the training loss: parts (m, d + bias) and (m,).

    Pairs with |<w_j, x_i>| <= tol |w_j| |x_i| are on their boundary. Their gates are free in [0, 1] (a box of
    independent gates, for attracting as for repelling kinks), but for samples that are multiples of one another, which
    share the sign of <w_j, x_i> up to that of the multiple and so one gate. With linear dependences of three and more
    boundary samples of a neuron the box is larger than Clarke's set. The output part is 0 where the output is fixed.
    Along the flow d loss/dt = -(|hidden part|^2 + |output part|^2) for almost every time.
    """
    plain, slope = Plain(problem), problem.activation.inactive_slope
    inputs = plain.inputs()
    outputs = plain.neurons(hidden) @ output
    push = problem.sample_weight * problem.loss.derivative(outputs, problem.targets, np)
    by_output = plain.neurons(hidden).T @ push * problem.trained_output
    by_hidden = np.empty_like(hidden)
    projection = hidden @ inputs.T
    boundary = np.abs(projection) <= tol * np.outer(np.linalg.norm(hidden, axis=1), np.linalg.norm(inputs, axis=1))
    for index, row in enumerate(projection):
        each = output[index] * push[:, None] * inputs
        off = ~boundary[index]
        fixed = np.where(row > 0, 1.0, slope)[off] @ each[off]
        by_hidden[index] = _shortest(fixed, each[boundary[index]], inputs[boundary[index]], slope)
    return by_hidden, by_output


def _shortest(fixed: Floats, each: Floats, inputs: Floats, slope: float) -> Floats:
    """The shortest fixed + sum_i gate_i each_i with gates in [slope, 1]; each (b, d) is along inputs (b, d)."""
    directions: list[Floats] = []
    columns: list[Floats] = []
    for force, sample in zip(each, inputs, strict=True):
        unit = sample / max(np.linalg.norm(sample), np.finfo(float).tiny)
        along = [float(unit @ other) for other in directions]
        parallel = [place for place, cosine in enumerate(along) if abs(cosine) > 1 - 1e-14]
        # samples on opposite sides: while the gate of one goes from slope to 1, the other's goes from 1 to slope
        on_other_side = bool(parallel) and along[parallel[0]] < 0
        fixed = fixed + (1.0 if on_other_side else slope) * force
        change = (slope - 1 if on_other_side else 1 - slope) * force
        if parallel:
            columns[parallel[0]] = columns[parallel[0]] + change
        else:
            directions.append(unit)
            columns.append(change)
    matrix = np.array([column for column in columns if np.any(column)]).T
    if matrix.size == 0:
        return fixed
    length = np.linalg.norm(matrix, axis=0)
    unit = matrix / length
    found = lsq_linear(unit, -fixed, (np.zeros(len(length)), length), method="bvls", tol=1e-15, max_iter=1000)
    return fixed + unit @ found.x


def _system(problem: Problem) -> tuple[tuple[Any, ...], tuple[Floats, Floats]]:
    """What the compiled loops take: the problem's constants, and the start as (pre-activations (m, n), output (m,))."""
    assert problem.activation.name in ACTIVATIONS, problem.activation.name
    inputs = Plain(problem).inputs()
    hidden, output = Plain(problem).start()
    constants = (
        np.ascontiguousarray(inputs @ inputs.T),
        problem.targets,
        problem.sample_weight,
        LOSSES[problem.loss.name],
        problem.activation.inactive_slope,
        problem.trained_output,
    )
    return constants, (np.ascontiguousarray(hidden @ inputs.T), output.copy())


def _marks(times: Floats, step: float) -> Integers:
    """(k,): the numbers of the steps that end at the times."""
    marks = np.rint(np.asarray(times) / step).astype(np.int64)
    if not np.allclose(marks * step, times, rtol=1e-9, atol=0) or (marks <= 0).any():
        raise ValueError(f"times must be positive multiples of the step {step}")
    return marks


@njit(cache=True)
def _pull(loss: int, outputs: Floats, targets: Floats, sample_weight: Floats, pull: Floats) -> None:
    """pull_i = -(weight of sample i) l'(f_i, y_i)"""
    for i in range(len(targets)):
        f, y = outputs[i], targets[i]
        if loss == 0:
            pull[i] = sample_weight[i] * (y - f)
        elif loss == 1:
            pull[i] = sample_weight[i] * y / (1 + math.exp(y * f))
        else:
            pull[i] = sample_weight[i] * y * math.exp(-y * f)


@njit(cache=True)
def _euler(gram, targets, sample_weight, loss, slope, trained, pre, output, step, marks, weight):
    neurons, samples = pre.shape
    window, kept = len(weight) // 2, len(marks)
    coefficient, outputs, pull = np.zeros_like(pre), np.zeros(samples), np.zeros(samples)
    gate = (pre > 0).astype(np.float64)
    seen = np.zeros(pre.shape, np.int64)
    coefficients, heads = np.zeros((kept, neurons, samples)), np.zeros((kept, neurons))
    gates, switches = np.zeros((kept, neurons, samples)), np.zeros((kept, neurons, samples), np.int64)
    at = 0
    for number in range(1, marks[-1] + window + 1):
        outputs[:] = 0
        for j in range(neurons):
            for i in range(samples):
                outputs[i] += output[j] * pre[j, i] * (gate[j, i] + slope * (1 - gate[j, i]))
        _pull(loss, outputs, targets, sample_weight, pull)
        for j in range(neurons):
            rate = 0.0
            row, change = pre[j], step * output[j]
            rises = gate[j] + slope * (1 - gate[j])
            for i in range(samples):
                rises[i] *= pull[i]
                rate += rises[i] * row[i]
            for i in range(samples):
                if rises[i] != 0:
                    moved = change * rises[i]
                    coefficient[j, i] += moved
                    for k in range(samples):
                        row[k] += moved * gram[i, k]
            if trained:
                output[j] += step * rate
            for i in range(samples):
                now = 1.0 if row[i] > 0 else 0.0
                seen[j, i] += now != gate[j, i]
                gate[j, i] = now
        place = number - marks[at] + window
        if place == 0:
            switches[at] -= seen
        if place >= 0:
            coefficients[at] += weight[place] * coefficient
            heads[at] += weight[place] * output
            gates[at] += weight[place] * gate
        if place == 2 * window:
            switches[at] += seen
            at += 1
    return coefficients, heads, gates, switches


@njit(cache=True)
def _advance(gram, pre, change, pull, slope, share, new):
    """new (n,) = pre + change sum_i (gate of i) pull_i gram_i for one neuron."""
    new[:] = pre
    for i in range(len(pre)):
        moved = change * pull[i] * (slope + (1 - slope) * share[i])
        if moved != 0:
            for k in range(len(pre)):
                new[k] += moved * gram[i, k]


@njit(cache=True)
def _forecast(system, state, step, arrival):
    """arrival (m, n): share of the step after which a pair is on its boundary: 0 where it is held there, 1 where an
    explicit step does not take it there. True where something arrives."""
    gram, targets, sample_weight, loss, slope, _ = system
    pre, output, _, gate, held, _ = state
    outputs, pull, forward = np.zeros(len(targets)), np.zeros(len(targets)), np.zeros(len(targets))
    for j in range(len(output)):
        outputs += output[j] * (slope + (1 - slope) * gate[j]) * pre[j]
    _pull(loss, outputs, targets, sample_weight, pull)
    arrives = False
    for j in range(len(output)):
        _advance(gram, pre[j], step * output[j], pull, slope, gate[j], forward)
        for i in range(len(targets)):
            arrival[j, i] = 1.0
            if held[j, i]:
                arrival[j, i] = 0.0
            elif (pre[j, i] > 0) != (forward[i] > 0):
                arrival[j, i] = pre[j, i] / (pre[j, i] - forward[i])
                arrives = True
    return arrives


@njit(cache=True)
def _hold(gram, size, gains, arrival, held, gate, share, after):
    """Projected Gauss-Seidel for one neuron: gates after arrival that fit the side on which `after` lies, any of [0, 1]
    where after = 0. True when nothing moves by more than rounding of `size`."""
    for _ in range(5000):
        moved = 0.0
        for i in range(len(after)):
            if arrival[i] == 1:
                continue
            remaining = (1 - arrival[i]) * gains[i]
            gain = remaining * gram[i, i]
            rest = after[i] - gain * gate[i]
            if gain < 0:
                now = min(max(-rest / gain, 0.0), 1.0)
            elif held[i]:
                now = 1.0 if rest > 0 else 0.0
            else:
                now = gate[i]
            if now != gate[i]:
                change = remaining * (now - gate[i])
                share[i] += (1 - arrival[i]) * (now - gate[i])
                gate[i] = now
                moved = max(moved, abs(change) * gram[i, i])
                for k in range(len(after)):
                    after[k] += change * gram[i, k]
        if moved <= 1e-15 * size:
            return True
    return False


@njit(cache=True)
def _midpoint(system, state, step, arrival, share, after):
    """One step to (after, head): (whether it converged, head, pull at the midpoint). Gates become those after arrival."""
    gram, targets, sample_weight, loss, slope, trained = system
    pre, output, _, gate, held, _ = state
    outputs, pull, gains, new = np.zeros(len(targets)), np.zeros(len(targets)), np.zeros(len(targets)), after[0].copy()
    head = output.copy()
    for _ in range(100):
        outputs[:] = 0
        for j in range(len(output)):
            outputs += 0.25 * (output[j] + head[j]) * (slope + (1 - slope) * share[j]) * (pre[j] + after[j])
        _pull(loss, outputs, targets, sample_weight, pull)
        error = 0.0
        for j in range(len(output)):
            change = 0.5 * step * (output[j] + head[j])
            gains[:] = (1 - slope) * change * pull
            _advance(gram, pre[j], change, pull, slope, share[j], new)
            size = np.abs(pre[j]).max() + np.abs(change * pull * np.diag(gram)).max()
            if not _hold(gram, size, gains, arrival[j], held[j], gate[j], share[j], new):
                return False, head, pull
            error = max(error, np.abs(new - after[j]).max() / (size + 1e-300))
            after[j] = new
            if trained:
                rate = 0.5 * np.sum(pull * (slope + (1 - slope) * share[j]) * (pre[j] + after[j]))
                new_head = output[j] + step * rate
                error = max(error, abs(new_head - head[j]) / (abs(new_head) + abs(head[j]) + 1e-300))
                head[j] = new_head
        if error < 1e-13:
            return True, head, pull
    return False, head, pull


@njit(cache=True)
def _step(system, state, step, arrival):
    """Take a step in place, given its forecast; whether its equations were solved."""
    slope = system[4]
    pre, output, coefficient, gate, held, seen = state
    share, after = gate.copy(), pre.copy()
    for j in range(len(output)):
        for i in range(pre.shape[1]):
            if arrival[j, i] < 1 and not held[j, i]:
                gate[j, i] = 1.0 - gate[j, i]
                share[j, i] = arrival[j, i] * share[j, i] + (1 - arrival[j, i]) * gate[j, i]
    done, head, pull = _midpoint(system, state, step, arrival, share, after)
    for j in range(len(output)):
        coefficient[j] += 0.5 * step * (output[j] + head[j]) * pull * (slope + (1 - slope) * share[j])
        for i in range(pre.shape[1]):
            held[j, i] = arrival[j, i] < 1 and 0 < gate[j, i] < 1
            if held[j, i]:
                after[j, i] = 0.0
            else:
                gate[j, i] = 1.0 if after[j, i] > 0 else 0.0
            seen[j, i] += (after[j, i] > 0) != (pre[j, i] > 0)
    pre[:], output[:] = after, head
    return done


@njit(cache=True)
def _averaged(system, pre, output, step, marks, refine):
    shape = (len(marks), *pre.shape)
    coefficient, gate, held = np.zeros_like(pre), (pre > 0).astype(np.float64), np.zeros(pre.shape, np.bool_)
    seen, arrival = np.zeros(pre.shape, np.int64), np.ones_like(pre)
    state = (pre, output, coefficient, gate, held, seen)
    coefficients, heads, gates = np.zeros(shape), np.zeros(shape[:2]), np.zeros(shape)
    switches, sliding = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    at, done = 0, True
    for number in range(1, marks[-1] + 1):
        if _forecast(system, state, step, arrival):
            for _ in range(refine):
                _forecast(system, state, step / refine, arrival)
                done = done and _step(system, state, step / refine, arrival)
        else:
            done = _step(system, state, step, arrival)
        if not done:
            break
        if number == marks[at]:
            coefficients[at], heads[at], gates[at], switches[at], sliding[at] = coefficient, output, gate, seen, held
            at += 1
    return done, coefficients, heads, gates, switches, sliding
