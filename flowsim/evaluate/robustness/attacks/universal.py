"""One perturbation for all samples, up to their label: x - y v.

At each radius the better of two: v along the difference of the classes' centres, sum_k y_k mu_k (Min & Vidal 2025;
Remark 4.2 of Li et al. 2025), and the best v that gradient ascent on the number of lost samples finds.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Floats
from .options import Options
from .target import Found, Target

FIRST, LAST = 0.5, 0.01


def attack(target: Target, radii: Floats, options: Options) -> Found:
    found, zero = Found.nothing(target, radii), np.zeros((1, target.x.shape[1]))
    best, withstands = zero, target.margin(0 * target.x) > 0
    for index, radius in enumerate(radii):
        candidates = [] if target.universal is None else [radius * target.norm.steepest(target.universal[None])]
        candidates.append(_optimised(target, candidates[0] if candidates else best, float(radius), options.steps))
        for candidate in candidates:
            margin = target.margin(-target.label[:, None] * candidate)
            if (margin > 0).sum() < withstands.sum():
                best, withstands = candidate, margin > 0
        found.withstands[index] = withstands
        lost = np.flatnonzero(~withstands)
        found.take(lost, -target.label[lost, None] * best, np.repeat(target.norm.size(best), len(lost)))
    return found


def _optimised(target: Target, start: Floats, radius: float, steps: int) -> Floats:
    """(1, d): uphill along the mean of the unit gradients of samples that are not lost yet"""
    best = move = start
    fewest = np.inf
    if radius == 0:
        return 0 * start
    for step in np.geomspace(FIRST, LAST, steps):
        margin, gradient = target.margin_and_gradient(-target.label[:, None] * move)
        left = margin > 0
        if left.sum() < fewest:
            best, fewest = move, left.sum()
        if not left.any():
            break
        uphill = (target.label[left, None] * target.norm.steepest(gradient[left])).mean(axis=0, keepdims=True)
        move = target.norm.within(move + step * radius * target.norm.steepest(uphill), radius)
    return best
