"""Activations and losses as compiled code, activations over all pre-activations (m, n) at once."""

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
def add_power(pre: Floats, degree: float, factor: Floats, outputs: Floats) -> None:
    """outputs (n,) += sum over rows of factor (m,) max(pre, 0)^degree"""
    m, n = pre.shape
    for j in range(m):
        if degree == 3.0:  # a loop of its own, which the compiler turns into vector instructions
            for i in range(n):
                positive = max(pre[j, i], 0.0)
                outputs[i] += factor[j] * positive * positive * positive
        else:
            for i in range(n):
                if pre[j, i] > 0.0:
                    outputs[i] += factor[j] * power(pre[j, i], degree)


@compiled
def pull_power(pre: Floats, degree: float, pull: Floats) -> None:
    """pre <- degree max(pre, 0)^(degree - 1) pull (n,)"""
    m, n = pre.shape
    for j in range(m):
        if degree == 3.0:
            for i in range(n):
                positive = max(pre[j, i], 0.0)
                pre[j, i] = 3.0 * positive * positive * pull[i]
        else:
            for i in range(n):
                pre[j, i] = degree * power(pre[j, i], degree - 1.0) * pull[i] if pre[j, i] > 0.0 else 0.0


@compiled
def add_leaky(pre: Floats, slope: float, factor: Floats, outputs: Floats) -> None:
    """outputs (n,) += sum over rows of factor (m,) max(pre, slope pre)"""
    m, n = pre.shape
    for j in range(m):
        for i in range(n):
            outputs[i] += factor[j] * pre[j, i] * (1.0 if pre[j, i] > 0.0 else slope)


@compiled
def pull_leaky(pre: Floats, slope: float, edge: float, pull: Floats) -> None:
    """pre <- 1 above the edge, slope below, times pull (n,)"""
    m, n = pre.shape
    for j in range(m):
        for i in range(n):
            pre[j, i] = pull[i] * (1.0 if pre[j, i] > edge else slope)


@compiled
def add_tanh(pre: Floats, log_norm: Floats, factor: Floats, outputs: Floats) -> None:
    """outputs (n,) += sum over rows of factor (m,) tanh(|w| pre) / |w|"""
    m, n = pre.shape
    for j in range(m):
        norm = exp(log_norm[j])
        for i in range(n):
            outputs[i] += factor[j] * (pre[j, i] if log_norm[j] < LINEAR_BELOW else tanh(norm * pre[j, i]) / norm)


@compiled
def pull_tanh(pre: Floats, log_norm: Floats, pull: Floats, total: Floats) -> None:
    """pre <- tanh'(|w| pre) pull (n,); total (m,) <- the sums of tanh(|w| pre) pull / |w|"""
    m, n = pre.shape
    for j in range(m):
        norm, total[j] = exp(log_norm[j]), 0.0
        for i in range(n):
            if log_norm[j] < LINEAR_BELOW:
                total[j] += pre[j, i] * pull[i]
                pre[j, i] = pull[i]
            else:
                value = tanh(norm * pre[j, i])
                total[j] += value / norm * pull[i]
                pre[j, i] = (1.0 - value * value) * pull[i]


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
