"""The cells that the planes <u, x_i> = 0 of samples cut the space of directions into: which gates a neuron may have."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np

from ...arrays import Floats, Integers

#: No more cells than this are enumerated, from no more vectors where planes meet.
CELLS, RAYS = 20_000, 40_000
#: A direction is in a plane below this cosine; vectors are dependent below this part of the largest singular value.
IN_PLANE, DEPENDENT = 1e-9, 1e-10


def cell_count(samples: int, rank: int) -> int:
    """How many cells there are at most, and for vectors in general position (Cover 1965)."""
    return 2 * sum(math.comb(samples - 1, index) for index in range(min(rank, samples)))


def cells(inputs: Floats) -> Integers | None:
    """(c, n): the sides +1 and -1 of all cells of the rows of inputs (n, r), 0 for a row that is 0; None where there are
    too many.

    Of vectors that are dependent by rounding alone some rows may belong to cells that are empty.
    """
    there = np.linalg.norm(inputs, axis=1) > 0
    rows = _in_span(inputs[there])
    samples, rank = rows.shape
    if cell_count(samples, rank) > CELLS or math.comb(samples, rank - 1) > RAYS:
        return None
    found = _cells(rows)
    whole = np.zeros((len(found), len(inputs)), dtype=np.int64)
    whole[:, there] = found
    return whole


def _in_span(rows: Floats) -> Floats:
    """The rows at length 1, in coordinates of their span."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, size, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(rows @ basis[size > DEPENDENT * size.max()].T)


def _cells(rows: Floats) -> Integers:
    """Every cell is a cone with an edge, where rank - 1 planes meet: around each edge the planes that hold it make cells of
    their own, in one dimension less."""
    samples, rank = rows.shape
    if samples == rank:  # independent, so any sides go together
        return np.array(list(product((1, -1), repeat=samples)), dtype=np.int64).reshape(-1, samples)
    if rank == 1:
        side = np.sign(rows[:, 0]).astype(np.int64)
        return np.stack([side, -side])
    found: set[bytes] = set()
    around: dict[bytes, Integers] = {}
    for edge in _edges(rows):
        along = rows @ edge
        held = np.abs(along) <= IN_PLANE
        if held.tobytes() not in around:
            around[held.tobytes()] = _cells(_in_span(rows[held]))
        side = np.where(along > 0, 1, -1).astype(np.int64)
        for near in around[held.tobytes()]:
            side[held] = near
            found.update((side.tobytes(), (-side).tobytes()))
    return np.array([np.frombuffer(cell, dtype=np.int64) for cell in sorted(found)])


def _edges(rows: Floats) -> Floats:
    """(e, r): one of the two directions of each line where rank - 1 independent planes meet"""
    samples, rank = rows.shape
    chosen = np.array(list(combinations(range(samples), rank - 1)))
    _, size, basis = np.linalg.svd(rows[chosen], full_matrices=True)
    return np.asarray(basis[size[:, -1] > DEPENDENT * size[:, 0], -1])
