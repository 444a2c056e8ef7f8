"""The KKT point of a network whose activation has no kink, by least squares on all its weights and multipliers at once."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from ...arrays import Booleans, Floats
from ...problem import Reduced
from .certificate import Network, gradient

#: More unknowns than this make Jacobians by differences too expensive.
LARGEST = 2500
#: Guesses of which samples support the margin.
ROUNDS = 30
ROUNDING = 1e-9
#: Iterations go on until nothing changes any more.
ALL = 1e-15


def polish(
    network: Network, reduced: Reduced, multiplier: Floats, support: Booleans
) -> tuple[Network, Floats, int, bool]:
    """(KKT point, multipliers (n',), rounds, whether nothing was left to be changed) near a network with these margins of
    about 1; neurons that are 0 stay 0."""
    lives = np.linalg.norm(network.hidden, axis=1) > 0
    support = support.copy()
    for count in range(1, ROUNDS + 1):
        network, multiplier = _solved(network, reduced, multiplier, support, lives)
        margin = network.margins(reduced)
        wrong = np.where(support, -multiplier / np.abs(multiplier).max(), 1 - margin) > ROUNDING
        if not wrong.any():
            return network, multiplier, count, True
        support ^= wrong
    return network, multiplier, ROUNDS, False


def _solved(
    network: Network, reduced: Reduced, multiplier: Floats, support: Booleans, lives: Booleans
) -> tuple[Network, Floats]:
    """theta = sum lambda_i grad q_i and q_i = 1 on the support, as nearly as can be.

    Neurons of the same direction may share their strength as they like, so solutions are not isolated; steps in a trust
    region without scaling lead to the nearest.
    """
    problem, width = reduced.problem, reduced.stored.shape[1]
    neurons, trained = int(lives.sum()), problem.trained_output
    split = neurons * width + (neurons if trained else 0)
    scale = float(np.abs(multiplier).max())

    def unpacked(unknown: Floats) -> tuple[Network, Floats]:
        output = unknown[neurons * width : split] if trained else network.output[lives]
        found = np.zeros(len(support))
        found[support] = scale * unknown[split:]
        return Network(unknown[: neurons * width].reshape(neurons, width), output), found

    def conditions(unknown: Floats) -> Floats:
        own, found = unpacked(unknown)
        rest = own.flat(problem) - gradient(own, reduced, found, None).flat(problem)
        return np.concatenate([rest, own.margins(reduced)[support] - 1])

    living = Network(network.hidden[lives], network.output[lives])
    start = np.concatenate([living.flat(problem), multiplier[support] / scale])
    own, found = unpacked(least_squares(conditions, start, xtol=ALL, ftol=ALL, gtol=ALL).x)
    hidden, output = np.zeros_like(network.hidden), np.where(lives, 0.0, network.output * (not trained))
    hidden[lives], output[lives] = own.hidden, own.output
    return Network(hidden, output), found
