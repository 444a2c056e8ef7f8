"""The two convex quadratic programs of a step of the asymptotic flow, by PIQP (Schwan et al. 2023)."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Integers

#: What the conditions of a program are met to, where its numbers are of order 1.
TOLERANCE = 1e-10
#: A matrix that is positive semidefinite but for rounding is made so by this part of its mean diagonal.
JITTER = 1e-14
ITERATIONS = 200


def on_simplex(matrix: Floats, linear: Floats, count: int, bound: Integers) -> Floats | None:
    """The x >= 0 that minimises  x.P x/2 + c.x,  where the first `count` sum to 1 and each x[count + k] <= x[bound[k]].

    matrix (N, N): P, positive semidefinite; linear (N,): c; bound (N - count,). None where the solver did not end well.
    """
    size = len(linear)
    ones = np.zeros((1, size))
    ones[0, :count] = 1.0
    below = None
    if size > count:
        below = np.zeros((size - count, size), order="F")
        rows = np.arange(size - count)
        below[rows, count + rows], below[rows, bound] = 1.0, -1.0
    upper = None if below is None else np.zeros(size - count)
    damped = matrix + JITTER * np.trace(matrix) / size * np.eye(size)
    found = _solved(damped, linear, ones, np.ones(1), below, upper, np.zeros(size), None)
    if found is None:
        return None
    found = np.maximum(found, 0.0)
    found[:count] /= found[:count].sum()
    found[count:] = np.minimum(found[count:], found[bound])
    return found


def in_box(matrix: Floats, linear: Floats) -> Floats | None:
    """The x between 0 and 1 that minimises  x.P x/2 + c.x;  as above."""
    size = len(linear)
    scale = max(float(np.abs(matrix).max()), float(np.abs(linear).max()))
    if scale == 0.0:
        return np.zeros(size)
    damped = matrix / scale + JITTER * np.eye(size)
    found = _solved(damped, linear / scale, None, None, None, None, np.zeros(size), np.ones(size))
    return None if found is None else np.clip(found, 0.0, 1.0)


def _solved(matrix: Floats, linear: Floats, *rest: Floats | None) -> Floats | None:
    import piqp  # what has no limit to find does without it

    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = TOLERANCE
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    solver.settings.max_iter = ITERATIONS
    solver.setup(
        np.asfortranarray(matrix),
        linear,
        *(None if part is None else np.asfortranarray(part) for part in (*rest[:3], None, *rest[3:])),
    )
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    return np.array(solver.result.x)
