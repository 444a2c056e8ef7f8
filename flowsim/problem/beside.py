"""The same problem on another training set, and what has to be the same space for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..kinds.streams import stream
from ..scenario import Scenario
from .fresh import fresh
from .problem import Problem
from .weights import Weights

#: (n, d) of the first problem -> the same vectors as the other one has them
Wider = Callable[[Floats], Floats]


def beside(scenario: Scenario, problem: Problem, count: int, purpose: str) -> tuple[Problem, Wider]:
    """The problem with so many fresh samples in place of its own, and what makes its vectors those of the other.

    Where vectors have all features, that changes nothing. Coordinates in a span have no place for the products of fresh
    samples with each other; there the other problem is in the span of both training sets.
    Raises UsageError where the training data come from no distribution.
    """
    samples, span = problem.samples, problem.samples.span
    if span is None:
        return replace(problem, samples=fresh(scenario, samples, count, purpose)), lambda rows: rows
    wide = span.wider(count)

    def wider(rows: Floats) -> Floats:
        return span.widened(rows, wide, stream(scenario.single_seed, f"{purpose}.beyond"))

    drawn = fresh(scenario, replace(samples, centers=wider(samples.centers), span=wide), count, purpose)
    weights = problem.weights
    direction = wider(weights.direction[:, : problem.features])
    if problem.bias:
        direction = np.column_stack([direction, weights.direction[:, -1]])
    logs = weights.log_norm, weights.output_sign, weights.output_log
    moved = Weights.exactly(direction, *logs, weights.leaves, bias=weights.bias)
    return replace(problem, samples=drawn, weights=moved), wider
