"""The shortest step into a polyhedron, and the way back from a point beyond a classifier's boundary to the boundary."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ...arrays import Floats
from .classifier import Classifier

#: What rounding may have added, relative to a distance and to the sum of all terms of a value.
SHAVED, ROUNDING = 1e-9, 1e-14
#: Rows contradict each other where weights prove that nothing is within so many times the furthest of them.
NOWHERE = 1e6
#: Tries per step towards a nearer point of the boundary; the way to it is divided so often into so many parts.
POLISHINGS, DIVISIONS, PARTS = 30, 9, 64
#: A step that ends at the boundary is followed a little further, and tangent planes are crossed by so much of the value.
STRETCHES, OVERSHOOT = (1.0, 1 + 1e-8, 1 + 1e-5, 1 + 1e-4), 1e-9


def shortest_step(rows: Floats, least: Floats) -> tuple[Floats, float]:
    """(delta of least norm with rows delta >= least, a lower bound of its norm).

    rows (k, d), least (k,). Least-distance programming by non-negative least squares (Lawson & Hanson, chapter 23); any
    weights u >= 0 of the rows prove |delta| >= <least, u>/|rows^T u|. Where nothing satisfies all of them the bound is inf
    and delta is not a number. Of many rows that are nearly the same, rounding may leave delta and the bound far from their
    best: the bound is proven all the same.
    """
    if not (least > 0).any():
        return np.zeros(rows.shape[1]), 0.0
    # in units in which the furthest single constraint is at distance 1
    length = np.linalg.norm(rows, axis=1)
    if (least[length == 0] > 0).any():
        return np.full(rows.shape[1], np.nan), np.inf
    rows, least = rows[length > 0] / length[length > 0, None], least[length > 0] / length[length > 0]
    scale = least.max()
    least = least / scale
    weights, _ = nnls(np.column_stack([rows, least]).T, np.append(np.zeros(rows.shape[1]), 1.0))
    combined, bound = weights @ rows, weights @ least
    size = float(np.linalg.norm(combined) + ROUNDING * weights.sum())
    proven = float(bound - ROUNDING * weights @ np.abs(least)) * (1 - SHAVED)
    remainder = 1 - bound
    if remainder <= NOWHERE**-2 and size * NOWHERE <= proven:
        return np.full(rows.shape[1], np.nan), np.inf
    return scale * combined / max(remainder, NOWHERE**-2), float(scale * proven / size) if size > 0 else 0.0


def on_the_way(classifier: Classifier, x: Floats, step: Floats) -> float:
    """The length of the part of the step (d,) from x (d,) after which the classifier has not its sign at x; inf where it
    has it at the end of the step."""
    ends = classifier.value(np.stack([x, x + step]))
    if not ends[0] * ends[1] <= 0:
        return np.inf
    low, high = 0.0, 1.0
    for _ in range(DIVISIONS):
        shares = low + (high - low) * np.arange(1, PARTS) / PARTS
        lost = classifier.value(x + shares[:, None] * step) * ends[0] <= 0
        first = int(lost.argmax()) if lost.any() else PARTS - 1
        low, high = shares[first - 1] if first else low, shares[first] if first < PARTS - 1 else high
    return float(high * np.linalg.norm(step))


def nearer(classifier: Classifier, x: Floats, step: Floats) -> tuple[float, Floats]:
    """(length, step) to a point of the boundary at a locally least distance: from the end of a step (d,) that reaches it,
    again and again to the nearest point of the boundary's tangent plane; (inf, step) where none of these reaches it."""
    best, found = np.inf, step
    start = float(classifier.value(x[None])[0])
    for _ in range(POLISHINGS):
        reached = (on_the_way(classifier, x, stretch * step) for stretch in STRETCHES)
        length = next(filter(np.isfinite, reached), np.inf)
        if length < best:
            improved = not best - length <= 1e-10 * best
            best, found = length, step * (length / max(float(np.linalg.norm(step)), np.finfo(float).tiny))
            step = found
            if not improved:
                break
        elif np.isfinite(best) and np.allclose(step, found, rtol=1e-9, atol=0):
            break
        value, gradient = classifier.value_and_gradient((x + step)[None])
        square = float(gradient[0] @ gradient[0])
        if square <= np.finfo(float).tiny:
            break
        # to where the tangent is a little beyond 0
        new = (gradient[0] @ step - value[0] - OVERSHOOT * start) / square * gradient[0]
        step = new if length <= best else (new + found) / 2
    return best, found
