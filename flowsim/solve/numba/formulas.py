"""Activations and losses as compiled code, activations over all pre-activations (n, m) at once.

start (k + 1,): the neurons of output k are those from start[k] to start[k + 1].
"""

from __future__ import annotations

from math import exp, inf, log, log1p, tanh

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.kernel import CROSS_ENTROPY, EXPONENTIAL, LINEAR_BELOW, LOGISTIC, SQUARE
from .compiled import allocating, compiled
from .normal import normal


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
def add_power(pre: Floats, degree: float, factor: Floats, start: Integers, outputs: Floats) -> None:
    """outputs (k, n) <- sums over each output's neurons of factor (m,) max(pre, 0)^degree"""
    for i in range(len(pre)):
        for k in range(len(outputs)):
            row, part, total = pre[i, start[k] : start[k + 1]], factor[start[k] : start[k + 1]], 0.0
            if degree == 3.0:  # a loop of its own, which the compiler turns into vector instructions
                for j in range(len(row)):
                    positive = max(row[j], 0.0)
                    total += part[j] * positive * positive * positive
            else:
                for j in range(len(row)):
                    if row[j] > 0.0:
                        total += part[j] * power(row[j], degree)
            outputs[k, i] = total


@compiled
def pull_power(pre: Floats, degree: float, start: Integers, pull: Floats) -> None:
    """pre <- degree max(pre, 0)^(degree - 1) pull (k, n)"""
    for i in range(len(pre)):
        for k in range(len(pull)):
            row, strength = pre[i, start[k] : start[k + 1]], degree * pull[k, i]
            if degree == 3.0:
                for j in range(len(row)):
                    positive = max(row[j], 0.0)
                    row[j] = positive * positive * strength
            else:
                for j in range(len(row)):
                    row[j] = power(row[j], degree - 1.0) * strength if row[j] > 0.0 else 0.0


@compiled
def add_leaky(pre: Floats, slope: float, factor: Floats, start: Integers, outputs: Floats) -> None:
    """outputs (k, n) <- sums over each output's neurons of factor (m,) max(pre, slope pre)"""
    for i in range(len(pre)):
        for k in range(len(outputs)):
            row, part, total = pre[i, start[k] : start[k + 1]], factor[start[k] : start[k + 1]], 0.0
            for j in range(len(row)):
                total += part[j] * max(row[j], slope * row[j])
            outputs[k, i] = total


@compiled
def pull_leaky(pre: Floats, slope: float, start: Integers, pull: Floats) -> None:
    """pre <- 1 or slope, by its sign (1 at 0), times pull (k, n)"""
    for i in range(len(pre)):
        for k in range(len(pull)):
            row, above, below = pre[i, start[k] : start[k + 1]], pull[k, i], slope * pull[k, i]
            for j in range(len(row)):
                row[j] = above if row[j] >= 0.0 else below


@compiled
def add_tanh(pre: Floats, log_norm: Floats, norm: Floats, factor: Floats, start: Integers, outputs: Floats) -> None:
    """outputs (k, n) <- sums over each output's neurons of factor (m,) tanh(|w| pre) / |w|"""
    for i in range(len(pre)):
        for k in range(len(outputs)):
            total = 0.0
            for j in range(start[k], start[k + 1]):
                bent = pre[i, j] if log_norm[j] < LINEAR_BELOW else tanh(norm[j] * pre[i, j]) / norm[j]
                total += factor[j] * bent
            outputs[k, i] = total


@compiled
def pull_tanh(pre: Floats, log_norm: Floats, norm: Floats, start: Integers, pull: Floats, total: Floats) -> None:
    """pre <- tanh'(|w| pre) pull (k, n); total (m,) <- the sums of tanh(|w| pre) pull / |w|"""
    total[:] = 0.0
    for i in range(len(pre)):
        for k in range(len(pull)):
            strength = pull[k, i]
            for j in range(start[k], start[k + 1]):
                if log_norm[j] < LINEAR_BELOW:
                    total[j] += pre[i, j] * strength
                    pre[i, j] = strength
                else:
                    value = tanh(norm[j] * pre[i, j])
                    total[j] += value / norm[j] * strength
                    pre[i, j] = (1.0 - value * value) * strength


@compiled
def add_symmetric(
    pre: Floats, norm: Floats, factor: Floats, threshold: float, spread: float, noise: Floats, outputs: Floats
) -> None:
    """outputs (1, n) <- sums over the neurons of factor (m,) (R(|w| pre - b) - R(-|w| pre - b)) / |w|, in the mean over
    noise of this spread, or with this noise (n, m) where that has entries"""
    inverse = 1.0 / spread if spread > 0.0 else 0.0
    for i in range(len(pre)):  # a loop for each kind, which the compiler turns into vector instructions
        row, total = pre[i], 0.0
        if noise.size > 0:
            for j in range(len(row)):
                z = norm[j] * row[j]
                bent = max(z + noise[i, j] - threshold, 0.0) - max(noise[i, j] - z - threshold, 0.0)
                total += factor[j] * bent / norm[j]
        elif spread > 0.0:
            for j in range(len(row)):
                z = norm[j] * row[j]
                above, rising = normal((z - threshold) * inverse)
                below, falling = normal((-z - threshold) * inverse)
                bent = (z - threshold) * above + (z + threshold) * below + spread * (rising - falling)
                total += factor[j] * bent / norm[j]
        else:
            for j in range(len(row)):
                z = norm[j] * row[j]
                total += factor[j] * (max(z - threshold, 0.0) - max(-z - threshold, 0.0)) / norm[j]
        outputs[0, i] = total


@compiled
def pull_symmetric(pre: Floats, norm: Floats, threshold: float, spread: float, noise: Floats, pull: Floats) -> None:
    """pre <- (R'(|w| pre - b) + R'(-|w| pre - b)) pull (1, n); R' is 1 at a kink"""
    inverse = 1.0 / spread if spread > 0.0 else 0.0
    for i in range(len(pre)):
        row, strength = pre[i], pull[0, i]
        if noise.size > 0:
            for j in range(len(row)):
                z = norm[j] * row[j]
                slope = 1.0 if z + noise[i, j] >= threshold else 0.0
                slope += 1.0 if noise[i, j] - z >= threshold else 0.0
                row[j] = slope * strength
        elif spread > 0.0:
            for j in range(len(row)):
                z = norm[j] * row[j]
                above, _ = normal((z - threshold) * inverse)
                below, _ = normal((-z - threshold) * inverse)
                row[j] = (above + below) * strength
        else:
            for j in range(len(row)):
                z = norm[j] * row[j]
                slope = 1.0 if z >= threshold else 0.0
                slope += 1.0 if -z >= threshold else 0.0
                row[j] = slope * strength


@allocating
def set_ascent(loss: int, outputs: Floats, targets: Floats, pull: Floats) -> None:
    """pull (k, n) <- dl/df, up to a positive factor for each sample, with which nothing underflows for one output"""
    if loss == CROSS_ENTROPY:
        set_pull(loss, outputs, targets, np.full(len(targets), -1.0), pull)
    else:
        for i in range(len(targets)):
            ascent = outputs[0, i] - targets[i] if loss == SQUARE else -targets[i]
            pull[0, i] = 1.0 if ascent > 0.0 else (-1.0 if ascent < 0.0 else 0.0)


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
def log_add(first: float, second: float) -> float:
    """log(e^first + e^second)"""
    top, rest = max(first, second), min(first, second)
    return top + log1p(exp(rest - top)) if rest > -inf else top


@compiled
def log_loss(loss: int, outputs: Floats, targets: Floats, weight: Floats) -> float:
    """log of the training loss; outputs (k, n)"""
    top = -inf
    for i in range(len(targets)):
        top = max(top, _log_value(loss, outputs, targets, i) + log(weight[i]))
    if top == -inf:
        return top
    total = 0.0
    for i in range(len(targets)):
        total += exp(_log_value(loss, outputs, targets, i) + log(weight[i]) - top)
    return top + log(total)


@compiled
def _log_value(loss: int, outputs: Floats, targets: Floats, i: int) -> float:
    if loss == CROSS_ENTROPY:
        return log_loss_value(LOGISTIC, class_margin(outputs, targets, i), 1.0)
    return log_loss_value(loss, outputs[0, i], targets[i])


@compiled
def class_margin(outputs: Floats, targets: Floats, i: int) -> float:
    """f_y - log of the sum of e^f over all other outputs, at sample i; cross entropy is log(1 + e^-this)."""
    own, top = int(targets[i]), -inf
    for k in range(len(outputs)):
        if k != own:
            top = max(top, outputs[k, i])
    if top == -inf:
        return inf
    total = 0.0
    for k in range(len(outputs)):
        if k != own:
            total += exp(outputs[k, i] - top)
    return outputs[own, i] - top - log(total)


@compiled
def set_pull(loss: int, outputs: Floats, targets: Floats, weight: Floats, pull: Floats) -> None:
    """pull (k, n) <- -weight dl/df for outputs (k, n)"""
    if loss != CROSS_ENTROPY:
        for i in range(len(targets)):
            pull[0, i] = -weight[i] * loss_derivative(loss, outputs[0, i], targets[i])
        return
    for i in range(len(targets)):
        own, top, total = int(targets[i]), -inf, 0.0
        for k in range(len(outputs)):
            top = max(top, outputs[k, i])
        for k in range(len(outputs)):
            pull[k, i] = exp(outputs[k, i] - top)
            total += pull[k, i]
        others = 0.0
        for k in range(len(outputs)):
            if k != own:
                others += pull[k, i]
                pull[k, i] *= -weight[i] / total
        pull[own, i] = weight[i] * others / total


@compiled
def set_scaled_pull(
    loss: int, outputs: Floats, targets: Floats, weight: Floats, log_speed: float, pull: Floats
) -> None:
    """The same times e^log_speed, for losses that may have underflowed: every factor is taken together as a logarithm."""
    for i in range(len(targets)):
        scale = log(weight[i]) + log_speed
        if loss == CROSS_ENTROPY:
            _set_class_pull(outputs, targets, scale, i, pull)
        else:
            margin = targets[i] * outputs[0, i]
            log_size = -margin if loss == EXPONENTIAL else -log1p_exp(margin)
            pull[0, i] = targets[i] * exp(log_size + scale)


@compiled
def _set_class_pull(outputs: Floats, targets: Floats, scale: float, i: int, pull: Floats) -> None:
    own, top, rest, others = int(targets[i]), -inf, 0.0, 0.0
    for k in range(len(outputs)):
        top = max(top, outputs[k, i])
    for k in range(len(outputs)):
        rest += exp(outputs[k, i] - top)
    for k in range(len(outputs)):
        if k != own:
            pull[k, i] = -exp(outputs[k, i] - top - log(rest) + scale)
            others -= pull[k, i]
    pull[own, i] = others


@compiled
def all_right(loss: int, outputs: Floats, targets: Floats) -> bool:
    """Whether every sample is on its own side."""
    for i in range(len(targets)):
        margin = class_margin(outputs, targets, i) if loss == CROSS_ENTROPY else targets[i] * outputs[0, i]
        if not margin > 0.0:
            return False
    return True
