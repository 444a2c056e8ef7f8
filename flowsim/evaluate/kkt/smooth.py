"""The KKT point of a network whose activation has no kink, by Newton's method on all its weights and multipliers at
once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lstsq, null_space

from ...arrays import Booleans, Floats
from ...problem import Reduced
from .certificate import Network, gradient

#: Guesses of which samples support the margin, and Newton steps for each.
ROUNDS, STEPS = 30, 15
ROUNDING = 1e-9
#: Newton steps end at this largest error, relative to the weights.
SOLVED = 1e-14
#: Differences are taken over this part of a neuron's weights, and what they make a singular value of is relative to
#: the largest 0 below the second.
DIFFERENCE, BY_DIFFERENCES = 1e-7, 1e-6


@dataclass(frozen=True)
class Polished:
    """network: the KKT point; multiplier (n',). freedom: the dimension of the continuum of such points that it belongs to.
    curvature: the smallest one of the Lagrangian along weights that leave the margins of the support as they are; negative
    at a saddle. rounds: guesses of the support; settled: whether nothing was left to be changed."""

    network: Network
    multiplier: Floats
    freedom: int
    curvature: float
    rounds: int
    settled: bool


def polish(
    network: Network, reduced: Reduced, multiplier: Floats, support: Booleans, several: Booleans | None = None
) -> Polished:
    """The KKT point near a network with these margins of about 1; neurons that are 0 stay 0. several (m,): which of them
    stand for more than one of the same direction."""
    lives = np.linalg.norm(network.hidden, axis=1) > 0
    own, support = Network(network.hidden[lives], network.output[lives]), support.copy()
    rounds, settled = 0, False
    while not settled and rounds < ROUNDS:
        rounds += 1
        own, multiplier = _solved(own, reduced, np.where(support, multiplier, 0.0), support)
        margin = own.margins(reduced)
        wrong = np.where(support, -multiplier / np.abs(multiplier).max(), 1 - margin) > ROUNDING
        settled = not wrong.any()
        if not np.isfinite(margin).all():
            break
        support ^= wrong
    several = np.zeros(len(own.output), dtype=bool) if several is None else several[lives]
    freedom, curvature = _around(own, reduced, multiplier, support, several) if settled else (0, 0.0)
    hidden, output = np.zeros_like(network.hidden), np.where(lives, 0.0, network.output)
    hidden[lives], output[lives] = own.hidden, own.output
    return Polished(Network(hidden, output), multiplier, freedom, curvature, rounds, settled)


def _solved(network: Network, reduced: Reduced, multiplier: Floats, support: Booleans) -> tuple[Network, Floats]:
    """theta = sum lambda_i grad q_i and q_i = 1 on the support, as nearly as can be.

    Neurons of the same direction may share their strength as they like, so solutions are not isolated; the shortest
    steps lead to one that is near.
    """
    problem, multiplier = reduced.problem, multiplier.copy()
    for _ in range(STEPS):
        theta = network.flat(problem)
        rest = theta - gradient(network, reduced, multiplier, None).flat(problem)
        error = np.concatenate([rest, network.margins(reduced)[support] - 1])
        if np.abs(error).max() <= SOLVED * max(1.0, float(np.abs(theta).max())):
            break
        step = lstsq(_jacobian(network, reduced, multiplier, support), -error, cond=ROUNDING, lapack_driver="gelsd")[0]
        if not np.isfinite(step).all() or np.linalg.norm(step[: len(theta)]) > np.linalg.norm(theta):
            break
        network = _of_flat(theta + step[: len(theta)], network, reduced)
        multiplier[support] += step[len(theta) :]
    return network, multiplier


def _around(
    network: Network, reduced: Reduced, multiplier: Floats, support: Booleans, several: Booleans
) -> tuple[int, float]:
    """(how far the weights are free, the Lagrangian's smallest curvature where the support's margins stay)"""
    matrix, count = _jacobian(network, reduced, multiplier, support), len(network.flat(reduced.problem))
    _, size, rows = np.linalg.svd(matrix)
    moves = rows[size < BY_DIFFERENCES * size.max()][:, :count]
    freedom = int(np.linalg.matrix_rank(moves, tol=1e-3)) if len(moves) else 0
    bend = 0.5 * (matrix[:count, :count] + matrix[:count, :count].T)
    along = null_space(matrix[count:, :count], rcond=BY_DIFFERENCES)
    curvature = float(np.linalg.eigvalsh(along.T @ bend @ along).min(initial=0.0))
    neurons, width = network.hidden.shape
    for j in np.flatnonzero(several):
        # two that part to either side leave all margins as they are
        own = np.arange(j * width, (j + 1) * width)
        own = np.append(own, neurons * width + j) if reduced.problem.trained_output else own
        curvature = min(curvature, float(np.linalg.eigvalsh(bend[np.ix_(own, own)]).min()))
    return freedom, curvature


def _of_flat(theta: Floats, like: Network, reduced: Reduced) -> Network:
    hidden = theta[: like.hidden.size].reshape(like.hidden.shape)
    return Network(hidden, theta[like.hidden.size :] if reduced.problem.trained_output else like.output)


def _jacobian(network: Network, reduced: Reduced, multiplier: Floats, support: Booleans) -> Floats:
    """Of the conditions in the weights and the multipliers of the support.

    A neuron's gradient depends on its own weights alone, so one difference serves a coordinate of all neurons.
    """
    problem = reduced.problem
    neurons, width = network.hidden.shape
    size = len(network.flat(problem))
    single = np.eye(len(multiplier))[support]
    slopes = np.array([gradient(network, reduced, one, None).flat(problem) for one in single])
    matrix = np.zeros((size + len(slopes), size + len(slopes)))
    matrix[:size, size:], matrix[size:, :size] = -slopes.T, slopes
    norm = np.linalg.norm(network.hidden, axis=1)
    shift = DIFFERENCE * np.where(norm > 0, norm, 1.0)  # a neuron may become 0 on the way
    rows = np.arange(neurons)
    blocks = matrix[: neurons * width, : neurons * width].reshape(neurons, width, neurons, width)
    for place in range(width):
        moved = []
        for side in (shift, -shift):
            hidden = network.hidden.copy()
            hidden[:, place] += side
            moved.append(gradient(replace(network, hidden=hidden), reduced, multiplier, None))
        blocks[rows, :, rows, place] = -(moved[0].hidden - moved[1].hidden) / (2 * shift[:, None])
        if problem.trained_output:
            cross = -(moved[0].output - moved[1].output) / (2 * shift)
            matrix[neurons * width + rows, rows * width + place] = cross
            matrix[rows * width + place, neurons * width + rows] = cross
    matrix[np.arange(size), np.arange(size)] += 1.0
    return matrix
