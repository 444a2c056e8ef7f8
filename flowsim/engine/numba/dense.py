"""States within and at the end of a step."""

from __future__ import annotations

import numpy as np

from ...problem.data.samples import Floats
from .compiled import compiled
from .control import add, combine
from .field import dot, evaluate, norm_of
from .layout import DENSE, LENGTH, Data, Network, State, Work
from .tableau import Tableau


@compiled
def densify(network: Network, data: Data, tableau: Tableau, state: State, work: Work) -> None:
    """The stages that only dense output needs."""
    if state.counts[DENSE] == 0:
        for stage in range(tableau.stages, len(tableau.a)):
            advanced(tableau.a[stage], state.clock[LENGTH], state.k, state.y_begin, work.stage)
            evaluate(work.stage, state.k[stage], stage, 0.0, network, data, state, work)
        state.counts[DENSE] = 1


@compiled
def advanced(coefficients: Floats, length: float, k: Floats, y_begin: Floats, y: Floats) -> None:
    """y_begin + length times the combination of the stages."""
    combine(coefficients, length, k, y)
    add(1.0, y_begin.reshape(y.size), y.reshape(y.size))


@compiled
def interpolate(part: float, tableau: Tableau, state: State, y: Floats) -> None:
    coefficients = np.zeros(len(tableau.dense))
    for stage in range(len(coefficients)):
        for p in range(tableau.dense.shape[1] - 1, -1, -1):
            coefficients[stage] = (coefficients[stage] + tableau.dense[stage, p]) * part
    advanced(coefficients, state.clock[LENGTH], state.k, state.y_begin, y)


@compiled
def settle(y: Floats, network: Network, state: State) -> None:
    """Give back what rounding has taken from sliding neurons and from unit rows."""
    r = y.shape[1] - 2
    for j in range(len(y)):
        for k in range(state.slide_count[j]):
            part = dot(state.basis[j, k], y[j, :r])
            for c in range(r):
                y[j, c] -= part * state.basis[j, k, c]
    normalise(y, network)


@compiled
def normalise(y: Floats, network: Network) -> None:
    if network.polar:
        r = y.shape[1] - 2
        for j in range(len(y)):
            size = norm_of(y[j, :r])
            for c in range(r):
                y[j, c] /= size
