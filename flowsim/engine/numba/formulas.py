"""Activations and losses as compiled code over one neuron's row of samples."""

from __future__ import annotations

from math import exp, inf, log, log1p, tanh

from ...problem.data.samples import Floats
from ...problem.networks.tanh import LINEAR_BELOW
from .compiled import compiled

LEAKY, POWER, TANH = range(3)
SQUARE, LOGISTIC, EXPONENTIAL = range(3)

#: name -> code. Every activation of degree 1 is the leaky one with its slope.
ACTIVATION_CODES = {"relu": LEAKY, "leaky_relu": LEAKY, "prelu": POWER, "relu_power": POWER, "tanh": TANH}
LOSS_CODES = {"square": SQUARE, "logistic": LOGISTIC, "exponential": EXPONENTIAL}


@compiled
def power(base: float, exponent: float) -> float:
    """base^exponent for base >= 0, by multiplication where the exponent is a small whole number."""
    if exponent == 1.0:
        return base
    if exponent == 2.0:
        return base * base
    if exponent == 3.0:
        return base * base * base
    return base**exponent


@compiled
def add_power(row: Floats, degree: float, factor: float, outputs: Floats) -> None:
    """outputs += factor max(row, 0)^degree"""
    if degree == 3.0:  # a loop of its own, which the compiler turns into vector instructions
        for i in range(len(row)):
            positive = max(row[i], 0.0)
            outputs[i] += factor * positive * positive * positive
    else:
        for i in range(len(row)):
            if row[i] > 0.0:
                outputs[i] += factor * power(row[i], degree)


@compiled
def pull_power(row: Floats, degree: float, pull: Floats) -> None:
    """row <- degree max(row, 0)^(degree - 1) pull"""
    if degree == 3.0:
        for i in range(len(row)):
            positive = max(row[i], 0.0)
            row[i] = 3.0 * positive * positive * pull[i]
    else:
        for i in range(len(row)):
            row[i] = degree * power(row[i], degree - 1.0) * pull[i] if row[i] > 0.0 else 0.0


@compiled
def add_tanh(row: Floats, log_norm: float, factor: float, outputs: Floats) -> None:
    """outputs += factor tanh(|w| row) / |w|"""
    norm = exp(log_norm)
    for i in range(len(row)):
        outputs[i] += factor * (row[i] if log_norm < LINEAR_BELOW else tanh(norm * row[i]) / norm)


@compiled
def pull_tanh(row: Floats, log_norm: float, pull: Floats) -> float:
    """row <- tanh'(|w| row) pull; the sum of tanh(|w| row) pull / |w|"""
    norm, total = exp(log_norm), 0.0
    for i in range(len(row)):
        if log_norm < LINEAR_BELOW:
            total += row[i] * pull[i]
            row[i] = pull[i]
        else:
            value = tanh(norm * row[i])
            total += value / norm * pull[i]
            row[i] = (1.0 - value * value) * pull[i]
    return total


@compiled
def log1p_exp(x: float) -> float:
    """log(1 + e^x)"""
    return x + log1p(exp(-x)) if x > 0.0 else log1p(exp(x))


@compiled
def loss_derivative(loss: int, output: float, target: float) -> float:
    """dl/df"""
    if loss == SQUARE:
        return output - target
    if loss == LOGISTIC:
        return -target * exp(-log1p_exp(target * output))
    return -target * exp(-target * output)


@compiled
def log_loss_value(loss: int, output: float, target: float) -> float:
    """log l(f, y), exact where l underflows"""
    if loss == SQUARE:
        residual = abs(output - target)
        return 2.0 * log(residual) - log(2.0) if residual > 0.0 else -inf
    margin = target * output
    if loss == EXPONENTIAL:
        return -margin
    if margin > 0.0:
        small = exp(-min(margin, 700.0))
        return -margin + log(log1p(small) / small)
    return log(log1p_exp(-margin))


@compiled
def log_loss(loss: int, outputs: Floats, targets: Floats, weight: Floats) -> float:
    """log of the training loss"""
    top = -inf
    for i in range(len(outputs)):
        top = max(top, log_loss_value(loss, outputs[i], targets[i]) + log(weight[i]))
    if top == -inf:
        return top
    total = 0.0
    for i in range(len(outputs)):
        total += exp(log_loss_value(loss, outputs[i], targets[i]) + log(weight[i]) - top)
    return top + log(total)
