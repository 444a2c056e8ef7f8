"""Explicit Runge-Kutta pairs with dense output, from SciPy's coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from scipy.integrate import DOP853, RK45

from ...problem.data.samples import Floats


class Tableau(NamedTuple):
    """stages: evaluations of a step, the last one at its end, where the next step starts. Rows of a (all, all) give the
    states at which stages are evaluated, those beyond `stages` only where dense output is wanted. weights (all,): the step.
    error (2, all): error estimates of orders `order` and, where it has one, of order 3 (else zeros).
    dense (all, degree): y(theta) = y + h sum_l k_l sum_p dense[l, p] theta^(p + 1).
    """

    stages: int
    order: float
    a: Floats
    weights: Floats
    error: Floats
    dense: Floats


#: dop853's estimate of order 5, corrected by that of order 3, falls short of the error of these flows by about so much.
CAUTION = 10.0


def _dopri5() -> Tableau:
    a = np.zeros((7, 7))
    a[:6, :5] = RK45.A
    a[6, :6] = RK45.B
    return Tableau(
        stages=7,
        order=5.0,
        a=a,
        weights=a[6].copy(),
        error=np.stack([RK45.E, np.zeros(7)]),
        dense=np.ascontiguousarray(RK45.P),
    )


def _dop853() -> Tableau:
    stages = len(DOP853.B) + 1
    total = stages + len(DOP853.A_EXTRA)
    a, error, weights = np.zeros((total, total)), np.zeros((2, total)), np.zeros(total)
    a[: stages - 1, : stages - 1] = DOP853.A
    a[stages - 1, : stages - 1] = DOP853.B
    a[stages:] = DOP853.A_EXTRA
    weights[: stages - 1] = DOP853.B
    error[:, :stages] = DOP853.E5, DOP853.E3
    error *= CAUTION
    return Tableau(stages=stages, order=8.0, a=a, weights=weights, error=error, dense=_dop853_dense(weights, stages))


def _dop853_dense(weights: Floats, stages: int) -> Floats:
    """SciPy keeps the interpolant as y + x (f_0 + (1 - x)(f_1 + x (f_2 + …))); here it is written in powers of x."""
    first, last = np.eye(len(weights))[[0, stages - 1]]
    parts = np.stack([weights, first - weights, 2 * weights - (first + last), *DOP853.D])
    x = Polynomial([0, 1])
    factors, product = [], Polynomial([1])
    for index in range(len(parts)):
        product *= x if index % 2 == 0 else 1 - x
        factors.append(product)
    powers = np.zeros((len(parts), len(parts)))
    for index, factor in enumerate(factors):
        powers[index, : len(factor.coef) - 1] = factor.coef[1:]
    return np.ascontiguousarray(parts.T @ powers)


#: flow.solver -> its tableau
TABLEAUS = {"dopri5": _dopri5(), "dop853": _dop853()}
