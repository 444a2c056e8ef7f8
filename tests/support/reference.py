"""The flow written a second time, plainly: NumPy in Cartesian coordinates, for engines to be compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from flowsim import Problem
from flowsim.arrays import Floats


@dataclass(frozen=True)
class Plain:
    """Loss and gradient of a problem as functions of (hidden (m, d + bias), output (m,))."""

    problem: Problem

    def inputs(self) -> Floats:
        inputs = self.problem.inputs
        return np.column_stack([inputs, np.ones(len(inputs))]) if self.problem.bias else inputs

    def neurons(self, hidden: Floats) -> Floats:
        """(n, m): h(w_j, x_i) by its definition."""
        activation, projection = self.problem.activation, self.inputs() @ hidden.T
        positive = np.maximum(projection, 0)
        norm = np.linalg.norm(hidden, axis=1)
        return {
            "relu": lambda: positive,
            "leaky_relu": lambda: np.where(projection > 0, projection, activation.inactive_slope * projection),
            "prelu": lambda: positive**activation.degree / norm ** (activation.degree - 1),
            "relu_power": lambda: positive**activation.degree,
            "tanh": lambda: np.tanh(projection),
        }[activation.name]()

    def loss(self, hidden: Floats, output: Floats) -> float:
        problem, responses = self.problem, self.neurons(hidden) * output
        if problem.loss.name == "cross_entropy":
            by_class = responses.reshape(len(responses), problem.outputs, -1).sum(axis=2)
            own = by_class[np.arange(len(by_class)), problem.targets.astype(int)]
            return float(problem.sample_weight @ (np.log(np.exp(by_class).sum(axis=1)) - own))
        outputs = responses.sum(axis=1)
        margin = problem.targets * outputs
        per_sample = {
            "square": lambda: 0.5 * (outputs - problem.targets) ** 2,
            "logistic": lambda: np.log1p(np.exp(-margin)),
            "exponential": lambda: np.exp(-margin),
        }[problem.loss.name]()
        return float(problem.sample_weight @ per_sample)

    def start(self) -> tuple[Floats, Floats]:
        problem = self.problem
        hidden = np.column_stack([problem.hidden, problem.hidden_bias]) if problem.bias else problem.hidden
        return hidden, problem.output

    def gradient(self, hidden: Floats, output: Floats, step: float = 1e-6) -> tuple[Floats, Floats]:
        """By central differences relative to each neuron's size: independent of every derivative in flowsim."""
        by_hidden, by_output = np.zeros_like(hidden), np.zeros_like(output)
        for index in np.ndindex(hidden.shape):
            change = np.zeros_like(hidden)
            change[index] = step * np.linalg.norm(hidden[index[0]])
            rise = self.loss(hidden + change, output) - self.loss(hidden - change, output)
            by_hidden[index] = rise / (2 * change[index])
        for index in range(len(output)):
            change = np.zeros_like(output)
            change[index] = step * max(abs(output[index]), np.linalg.norm(hidden[index]))
            rise = self.loss(hidden, output + change) - self.loss(hidden, output - change)
            by_output[index] = rise / (2 * change[index])
        return by_hidden, by_output


def prelu_square_flow(problem: Problem, end: float) -> tuple[Floats, Floats]:
    """(hidden, output) at time `end` of the pReLU flow with square loss, by DOP853 at its tightest, plainly."""
    inputs, targets, degree = problem.inputs, problem.targets, problem.activation.degree
    assert degree is not None
    shape = problem.hidden.shape

    def field(_: float, state: Floats) -> Floats:
        hidden, output = state[: np.prod(shape)].reshape(shape), state[np.prod(shape) :]
        norm = np.linalg.norm(hidden, axis=1)
        positive = np.maximum(inputs @ hidden.T, 0)
        neurons = positive**degree / norm ** (degree - 1)
        pull = -problem.sample_weight * (neurons @ output - targets)
        slope = degree * positive ** (degree - 1) / norm ** (degree - 1)
        along = (degree - 1) * (neurons.T @ pull) / norm**2
        hidden_rate = output[:, None] * ((slope * pull[:, None]).T @ inputs - along[:, None] * hidden)
        return np.concatenate([hidden_rate.ravel(), neurons.T @ pull])

    start = np.concatenate([problem.hidden.ravel(), problem.output])
    end_state = solve_ivp(field, (0, end), start, "DOP853", rtol=1e-13, atol=1e-13 * np.abs(start).min()).y[:, -1]
    return end_state[: np.prod(shape)].reshape(shape), end_state[np.prod(shape) :]
