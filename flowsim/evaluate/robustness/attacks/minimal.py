"""The smallest move of each sample that changes its class, by walking along the boundary.

From a move that succeeds, cut short at the boundary, to the nearest point of the boundary's tangent plane, and again cut
short: a sequence of moves that all succeed and only ever get smaller.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Floats, Integers
from .options import Options
from .target import Found, Target, descend
from .targeted import GOALS

#: Beside the ways to goals, so many to and from directions of the classifier, and as many random ones, are tried.
RAYS = 24
#: Of all ways, those that cross the boundary first, from which a sample walks, and steps of a walk.
WALKS, STEPS = 4, 40
#: A walk's first step goes the whole way to the tangent plane; one that fails is halved, until it is this part of it.
SHORTEST = 1e-3
#: The gradient is taken a little before the boundary: behind it, a network may be 0 where none of its neurons is active.
BEFORE = 1 - 1e-4
#: Where the tangent plane is further away than this, a network is flat.
FLAT = 1e300


def attack(target: Target, radii: Floats, options: Options) -> Found:
    """Walks from the way to goals of the other class, and from where descents from the clean sample cross the boundary."""
    starts = _starts(target, options)
    found = refined(target, radii, starts)
    rows = np.flatnonzero(np.isfinite(found.size))
    part, size = target[rows], found.size[rows]
    moves = descend(part, np.zeros(part.x.shape), 1.1 * size, options.steps // 2, 0.5, 0.02)
    short, length = part.shortened(moves)
    near = np.flatnonzero(length < 1.1 * size)
    walk(target, found, rows[near], short[near], length[near])
    return _at(found, radii)


def refined(target: Target, radii: Floats, starts: list[tuple[Floats, Floats]]) -> Found:
    """starts: pairs of moves (n, d) and their sizes (n,), inf where a move does not succeed."""
    found = Found.nothing(target, radii)
    clean = np.flatnonzero(target.margin(np.zeros(target.x.shape)) <= 0)
    found.take(clean, np.zeros((len(clean), target.x.shape[1])), np.zeros(len(clean)))
    for move, size in starts:
        rows = np.flatnonzero(np.isfinite(size) & (found.size > 0))
        walk(target, found, rows, move[rows], size[rows])
    return _at(found, radii)


def _at(found: Found, radii: Floats) -> Found:
    found.withstands = found.size > radii[:, None]
    return found


def walk(target: Target, found: Found, rows: Integers, move: Floats, size: Floats) -> None:
    """Walk with these samples from moves that succeed, and put what is found into `found`."""
    found.take(rows, move, size)
    share, best, length = np.ones(len(rows)), move.copy(), size.copy()
    going = np.arange(len(rows))
    for _ in range(STEPS):
        going = going[share[going] >= SHORTEST]
        if not len(going):
            break
        part, here = target[rows[going]], BEFORE * best[going]
        margin, gradient = part.margin_and_gradient(here)
        dual, rise = part.norm.dual(gradient), np.einsum("nd,nd->n", gradient, here) - margin
        slanted = np.abs(rise) < dual * FLAT
        needed = np.divide(rise, dual, out=np.zeros_like(dual), where=slanted)
        # the smallest move whose linearised margin is 0; none where the network is flat
        tangent = np.where(slanted[:, None], needed[:, None] * part.norm.steepest(gradient), here)
        tried = here + share[going, None] * (tangent - here)
        # reach a little further, to be on the other side again, but stay smaller than what is known
        reach = 0.999 * length[going] / np.maximum(part.norm.size(tried), np.finfo(float).tiny)
        tried = tried * np.minimum(np.maximum(reach, 1.0), 1 + share[going])[:, None]
        short, new = part.shortened(tried)
        better = new < length[going] * (1 - 1e-9)
        gained = new < length[going] * (1 - 1e-6)
        chosen = going[better]
        best[chosen], length[chosen] = short[better], new[better]
        share[going[~gained]] /= 2
    found.take(rows, best, length)


def _starts(target: Target, options: Options) -> list[tuple[Floats, Floats]]:
    """The moves that cross the boundary first, WALKS for every sample: (n, d) each, and their sizes."""
    moves = np.zeros((WALKS, *target.x.shape))
    sizes = np.full((WALKS, len(target)), np.inf)
    far = np.zeros(len(target))

    def offer(rows: Integers, whole: Floats) -> None:
        move, size = target[rows].shortened(whole)
        for place in range(WALKS):  # a smaller move pushes larger ones down by a place
            better = size < sizes[place, rows]
            chosen = rows[better]
            size[better], sizes[place, chosen] = sizes[place, chosen], size[better].copy()
            move[better], moves[place, chosen] = moves[place, chosen], move[better].copy()

    for rows, whole in target.towards(GOALS):
        far[rows] = np.maximum(far[rows], target.norm.size(whole))
        offer(rows, whole)
    everyone = np.arange(len(target))
    for ray in _rays(target, options):
        # beyond what is known to succeed there is nothing to be found
        length = np.where(np.isfinite(sizes[-1]), sizes[-1], far)
        offer(everyone, length[:, None] * ray)
    return list(zip(moves, sizes, strict=True))


def _rays(target: Target, options: Options) -> Floats:
    """(., d): unit vectors along directions of the classifier, and random ones, and their opposites"""
    known = target.classifier.directions
    chosen = known[options.random.permutation(len(known))[:RAYS]]
    rays = np.concatenate([chosen, options.random.standard_normal((RAYS, target.x.shape[1]))])
    rays = rays / np.maximum(target.norm.size(rays), np.finfo(float).tiny)[:, None]
    return np.concatenate([rays, -rays])
