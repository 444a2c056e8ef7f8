"""Norms and singular values of each trained array, a leaf of the tree of parameters."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ..instant import Instant, Setting
from ..observable import observable
from ..parameters import as_matrix, leaves, matrices

_MATRICES = "a trained array of two axes or more"


def has_matrices(setting: Setting) -> bool:
    return bool(matrices(setting.problem))


@observable("leaf_norm", ("leaf",), "Euclidean norm of the trained array", on_request=True, any_network=True)
def leaf_norm(instant: Instant) -> Floats:
    shapes = leaves(instant.problem).values()
    return np.stack([norm(array, len(shape)) for array, shape in zip(instant.arrays, shapes, strict=True)], axis=-1)


@observable(
    "singular_value",
    ("matrix", "rank"),
    "singular values of the trained array as a matrix, its first axis against all others, the largest first; NaN past them",
    has_matrices,
    on_request=True,
    needs=_MATRICES,
    any_network=True,
)
def singular_value(instant: Instant) -> Floats:
    found = _spectra(instant)
    widest = max(values.shape[-1] for values in found)
    missing = [[(0, 0)] * (values.ndim - 1) + [(0, widest - values.shape[-1])] for values in found]
    padded = [np.pad(values, rest, constant_values=np.nan) for values, rest in zip(found, missing, strict=True)]
    return np.stack(padded, axis=-2)


@observable(
    "effective_rank",
    ("matrix",),
    "exp of the entropy of the matrix's singular values, as shares of their sum",
    has_matrices,
    on_request=True,
    needs=_MATRICES,
    any_network=True,
)
def effective_ranks(instant: Instant) -> Floats:
    return np.stack([effective_rank(values) for values in _spectra(instant)], axis=-1)


def _spectra(instant: Instant) -> list[Floats]:
    """Singular values (…, r) of each matrix"""
    named = dict(zip(leaves(instant.problem), instant.arrays, strict=True))
    return [singular_values(named[name], len(shape)) for name, shape in matrices(instant.problem).items()]


def norm(leaf: Floats, axes: int) -> Floats:
    """(…): Euclidean norm over the last so many axes, also where squares of the entries leave the range of floats."""
    entries = leaf.reshape(*leaf.shape[: leaf.ndim - axes], -1)
    scale = _largest(entries)
    return scale * np.linalg.norm(entries / np.where(scale > 0, scale, 1.0)[..., None], axis=-1)


def singular_values(leaf: Floats, axes: int) -> Floats:
    """(…, min(rows, columns)): of the last so many axes as a matrix, the largest first."""
    lead = leaf.ndim - axes
    matrix = leaf.reshape(*leaf.shape[:lead], *as_matrix(leaf.shape[lead:]))
    return np.asarray(np.linalg.svd(matrix, compute_uv=False))


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
