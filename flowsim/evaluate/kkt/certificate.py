"""Whether a network is a KKT point of  min |theta|^2/2  where  y_i f(x_i) >= 1, whatever found it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...problem import Problem, Reduced


@dataclass(frozen=True)
class Network:
    """hidden (m, r): w_j in reduced coordinates; output (m,): v_j"""

    hidden: Floats
    output: Floats

    def margins(self, reduced: Reduced) -> Floats:
        """(n',): y_i f(x_i)"""
        response, _ = _responses(self, reduced)
        return np.asarray(reduced.targets * (self.output @ response))

    def flat(self, problem: Problem) -> Floats:
        """All that is trained, as one vector."""
        return np.concatenate([self.hidden.ravel(), self.output]) if problem.trained_output else self.hidden.ravel()


def gradient(network: Network, reduced: Reduced, multiplier: Floats, gate: Floats | None) -> Network:
    """sum_i multiplier_i grad y_i f(x_i); gate (m, n'): the slopes at each pair, None where the activation has no kink."""
    response, slope = _responses(network, reduced)
    pull, power = multiplier * reduced.targets, reduced.problem.activation.homogeneity
    norm = np.linalg.norm(network.hidden, axis=1, keepdims=True)
    unit = network.hidden / np.where(norm > 0, norm, 1.0)
    force = ((slope if gate is None else gate) * pull) @ reduced.inputs
    along = (force * unit).sum(axis=1, keepdims=True)
    scale = np.where(norm > 0, norm, 1.0) ** (power - 1)
    total = (response @ pull)[:, None] / (scale * np.where(norm > 0, norm, 1.0))
    hidden = network.output[:, None] * scale * (force + (power * total - along) * unit)
    return Network(hidden, response @ pull)


def residuals(network: Network, reduced: Reduced, multiplier: Floats, gate: Floats | None) -> dict[str, float]:
    """What is left of each condition, relative to the network: 0 at a KKT point.

    stationarity: |theta - sum lambda_i grad q_i| / |theta|. feasibility: by how much a margin is below 1. complementarity:
    the largest lambda_i |q_i - 1| / |theta|^2. sign: of the most negative multiplier, relative to the largest. gates: the
    largest cosine between a neuron and a sample on whose boundary it would have to lie for its gate to be allowed.
    """
    problem = reduced.problem
    theta = network.flat(problem)
    pulled = gradient(network, reduced, multiplier, gate).flat(problem)
    margin, size = network.margins(reduced), float(np.linalg.norm(theta))
    if not size > 0:  # nothing is the gradient of a network that is 0
        return dict.fromkeys(("stationarity", "feasibility", "complementarity", "sign", "gates"), np.inf)
    return {
        "stationarity": float(np.linalg.norm(theta - pulled)) / size,
        "feasibility": float(np.maximum(1 - margin, 0.0).max()),
        "complementarity": float(np.abs(multiplier * (margin - 1)).max()) / size**2,
        "sign": float(np.maximum(-multiplier, 0.0).max() / np.abs(multiplier).max()),
        "gates": 0.0 if gate is None else _misplaced(network, reduced, gate),
    }


def _misplaced(network: Network, reduced: Reduced, gate: Floats) -> float:
    slope = reduced.problem.activation.inactive_slope
    if not ((gate >= slope) & (gate <= 1.0)).all():
        return np.inf
    size = np.linalg.norm(network.hidden, axis=1)[:, None] * np.linalg.norm(reduced.inputs, axis=1)
    cosine = (network.hidden @ reduced.inputs.T) / np.where(size > 0, size, 1.0)
    # above the boundary the gate has to be 1, below it the slope of that side
    wrong = np.where(gate < 1.0, np.maximum(cosine, 0.0), 0.0) + np.where(gate > slope, np.maximum(-cosine, 0.0), 0.0)
    return float(wrong.max())


def _responses(network: Network, reduced: Reduced) -> tuple[Floats, Floats]:
    """(h(w_j, x_i), k'(s_ij)), both (m, n')"""
    activation = reduced.problem.activation
    norm = np.linalg.norm(network.hidden, axis=1, keepdims=True)
    safe = np.where(norm > 0, norm, 1.0)
    projection = (network.hidden / safe) @ reduced.inputs.T
    value, slope = activation.response(projection, np.log(safe), np)
    return np.asarray(safe**activation.homogeneity * value), np.asarray(slope)
