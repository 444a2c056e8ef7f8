"""Norms and singular values of the leaves of a network's parameters."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats


def norm(leaf: Floats, axes: int) -> Floats:
    """(…): Euclidean norm over the last so many axes, also where squares of the entries leave the range of floats."""
    entries = leaf.reshape(*leaf.shape[: leaf.ndim - axes], -1)
    scale = _largest(entries)
    return scale * np.linalg.norm(entries / np.where(scale > 0, scale, 1.0)[..., None], axis=-1)


def as_matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """Of a leaf of at least two axes, the matrix that singular values are of: the first axis against all others."""
    return shape[0], math.prod(shape[1:])


def singular_values(leaf: Floats, axes: int) -> Floats:
    """(…, min(rows, columns)): of the last so many axes as a matrix, the largest first."""
    lead = leaf.ndim - axes
    return np.linalg.svd(leaf.reshape(*leaf.shape[:lead], *as_matrix(leaf.shape[lead:])), compute_uv=False)


def effective_rank(values: Floats) -> Floats:
    """(…): exp of the entropy of the singular values (…, r) as shares of their sum (Roy & Vetterli 2007, eq. 4); 0 of a
    matrix of zeros."""
    largest = _largest(values)
    relative = values / np.where(largest > 0, largest, 1.0)[..., None]
    share = relative / np.where(largest > 0, relative.sum(axis=-1), 1.0)[..., None]
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=-1)
    return np.where(largest > 0, np.exp(entropy), 0.0)


def _largest(entries: Floats) -> Floats:
    return np.abs(entries).max(axis=-1, initial=0.0)
