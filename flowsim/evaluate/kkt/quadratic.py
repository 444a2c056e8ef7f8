"""A convex quadratic program on the simplex, by PIQP (Schwan et al. 2023)."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats

#: What the conditions of a program are met to, where its numbers are of order 1.
TOLERANCE = 1e-10
#: A matrix that is positive semidefinite but for rounding is made so by this part of its mean diagonal.
JITTER = 1e-14
ITERATIONS = 200


def on_simplex(matrix: Floats, linear: Floats) -> Floats | None:
    """The x >= 0 of sum 1 that minimises  x.P x/2 + c.x.  matrix (n, n): P, positive semidefinite; linear (n,): c.

    None where the solver did not end well.
    """
    import piqp  # what has no limit to find does without it

    size = len(linear)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = TOLERANCE
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0.0
    solver.settings.max_iter = ITERATIONS
    damped = np.asfortranarray(matrix + JITTER * np.trace(matrix) / size * np.eye(size))
    solver.setup(damped, linear, np.asfortranarray(np.ones((1, size))), np.ones(1), x_l=np.zeros(size))
    if solver.solve() != piqp.PIQP_SOLVED:
        return None
    found = np.maximum(solver.result.x, 0.0)
    return np.asarray(found / found.sum())
