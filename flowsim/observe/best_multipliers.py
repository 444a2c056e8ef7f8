"""How near a network is to a KKT point with the best of all multipliers, rather than with those of its own loss.

Everything is at |theta| = 1, where the residual of multipliers lambda_i >= 0 is the larger of |theta - sum lambda_i
grad q_i| and the largest lambda_i (q_i - q): the first falls, and the second rises, with a bound t on the second. Both are
t at the best.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..problem import Problem, Reduced
from ..solve import Snapshot
from .kkt import certifiable, log_norm_of

#: So many numbers in the gradients of all margins are as much as is looked at.
MOST_ENTRIES = 10_000_000
#: Smaller residuals are rounding, and the bound is found to this part by halving its logarithm so often.
ROUNDING, HALVINGS = 1e-14, 20


def affordable(problem: Problem) -> bool:
    """Whether two layers of neurons have so few weights and samples that the gradients of all margins fit."""
    if not certifiable(problem) or not problem.two_layers or problem.network is not None:
        return False
    neurons, features = problem.hidden_direction.shape
    return len(problem.targets) * neurons * (min(features, len(problem.targets)) + 2) <= MOST_ENTRIES


def best_residual(reduced: Reduced, snapshot: Snapshot, counts: Floats) -> float:
    """Of a single instant; NaN where a margin is not positive. counts (n',): samples that each reduced one stands for."""
    from scipy.linalg import qr
    from scipy.optimize import lsq_linear

    theta, gradients, margin = _at_norm_1(reduced, snapshot)
    if not margin.min() > 0:
        return np.nan
    basis, triangle = qr(gradients, mode="economic")
    along = basis.T @ theta
    beside = float(np.linalg.norm(theta - basis @ along))
    slack = (margin - margin.min()) / counts

    def left(bound: float) -> tuple[float, float]:
        """(|theta - sum lambda_i grad q_i|, the residual) of the best multipliers with all lambda_i (q_i - q) <= bound."""
        with np.errstate(divide="ignore"):
            most = np.where(slack > 0, bound / slack, np.inf)
        multiplier = lsq_linear(triangle, along, (0.0, most), method="bvls", tol=ROUNDING).x
        distance = float(np.hypot(np.linalg.norm(triangle @ multiplier - along), beside))
        return distance, max(distance, float((multiplier * slack).max()))

    low, high = ROUNDING, 1.0  # no multipliers at all leave 1
    best = left(high)[1]
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        distance, residual = left(middle)
        best = min(best, residual)
        low, high = (middle, high) if distance > middle else (low, middle)
    return best


def _at_norm_1(reduced: Reduced, snapshot: Snapshot) -> tuple[Floats, Floats, Floats]:
    """(theta (p,), gradients of the margins (p, n'), margins (n',)); gradients are those that the flow follows: of a neuron
    that slides, without what would pull it off its planes."""
    problem, direction = reduced.problem, snapshot.direction
    power, whole = problem.activation.homogeneity, log_norm_of(snapshot, problem)
    norm = np.exp(snapshot.log_norm - whole)
    output = snapshot.output_sign * np.exp(snapshot.output_log - (whole if problem.trained_output else 0.0))
    projection = reduced.projections(direction, slice(None))
    if snapshot.sliding is not None:
        projection[snapshot.sliding] = 0.0
    value, slope = problem.activation.response(projection, snapshot.log_norm[:, None], np)
    value, slope = value * reduced.targets, slope * reduced.targets
    force = slope[:, :, None] * reduced.inputs  # (m, n', r)
    sliding = np.zeros(projection.shape, dtype=bool) if snapshot.sliding is None else snapshot.sliding
    for neuron in np.flatnonzero(sliding.any(axis=1)):
        normals = reduced.inputs[sliding[neuron]].T
        force[neuron] -= (normals @ np.linalg.lstsq(normals, force[neuron].T)[0]).T
    along = np.einsum("jir,jr->ji", force, direction)
    force += (power * value - along)[:, :, None] * direction[:, None, :]
    force *= (output * norm ** (power - 1))[:, None, None]
    parts, theta = [force.transpose(0, 2, 1).reshape(-1, len(reduced.targets))], [(norm[:, None] * direction).ravel()]
    if problem.trained_output:
        parts.append(norm[:, None] ** power * value)
        theta.append(output)
    return np.concatenate(theta), np.concatenate(parts), (output * norm**power) @ value
