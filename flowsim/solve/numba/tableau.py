"""Explicit Runge-Kutta pairs with dense output, from SciPy's coefficients, and what Chebyshev steps share with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from ...arrays import Floats
from ..dormand_prince import DOP853, RK45


class Tableau(NamedTuple):
    """stages: evaluations of a step, the last one at its end, where the next step starts. Rows of a (all, all) give the
    states at which stages are evaluated, those beyond `stages` only where dense output is wanted. weights (all,): the step.
    error (2, all): error estimates of orders `order` and, where it has one, of order 3 (else zeros).
    dense (all, degree): y(theta) = y + h sum_l k_l sum_p dense[l, p] theta^(p + 1).
    chebyshev: whether the step is made as in `chebyshev`, whose three stages are the velocity at the beginning, the mean
    one and that at the end.
    """

    stages: int
    order: float
    a: Floats
    weights: Floats
    error: Floats
    dense: Floats
    chebyshev: bool = False


class Solver(NamedTuple):
    """early: what steps are made with until they are stiff for it; late: from then on. The same for a solver that stays."""

    early: Tableau
    late: Tableau

    @property
    def stages(self) -> int:
        """How many velocities a step keeps, at most."""
        return max(len(self.early.a), len(self.late.a))


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


def _rkc2() -> Tableau:
    """Errors as Sommeijer, Shampine & Verwer 1998 estimate them; dense output is Hermite's cubic."""
    return Tableau(
        stages=3,
        order=3.0,
        a=np.zeros((3, 3)),
        weights=np.array([0.0, 1.0, 0.0]),
        error=np.array([[0.4, -0.8, 0.4], [0.0, 0.0, 0.0]]),
        dense=np.array([[1.0, -2.0, 1.0], [0.0, 3.0, -2.0], [0.0, -1.0, 1.0]]),
        chebyshev=True,
    )


#: The pairs.
TABLEAUS = {"dopri5": _dopri5(), "dop853": _dop853()}
_RKC2 = _rkc2()
#: Between the names of two solvers, of which the second takes over where the flow is stiff.
THEN = "+"
#: plan.solver -> what steps are made with
SOLVERS = {
    **{name: Solver(tableau, tableau) for name, tableau in {**TABLEAUS, "rkc2": _RKC2}.items()},
    **{f"{name}{THEN}rkc2": Solver(tableau, _RKC2) for name, tableau in TABLEAUS.items()},
}
