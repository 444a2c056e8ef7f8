"""The norms that a perturbation may be measured in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats

TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Norm:
    """size: rows (n, d) -> (n,). steepest: gradients (n, d) -> the rows of size 1 with the largest product, 0 for a 0.
    dual: what that product is. within: (rows, radius) -> the nearest rows of at most that size; radius is a number or (n,).
    """

    name: str
    size: Callable[[Floats], Floats]
    steepest: Callable[[Floats], Floats]
    dual: Callable[[Floats], Floats]
    within: Callable[[Floats, Floats | float], Floats]


def _euclidean(rows: Floats) -> Floats:
    return np.sqrt(np.einsum("nd,nd->n", rows, rows))


def _unit(rows: Floats) -> Floats:
    size = _euclidean(rows)
    return rows / np.where(size > 0, size, 1.0)[:, None]


def _shrunk(rows: Floats, radius: Floats | float) -> Floats:
    with np.errstate(over="ignore"):  # of rows that are 0
        factor = np.minimum(np.asarray(radius) / np.maximum(_euclidean(rows), TINY), 1.0)
    return rows * factor[:, None]


def _clipped(rows: Floats, radius: Floats | float) -> Floats:
    limit = np.asarray(radius)[..., None]
    return np.clip(rows, -limit, limit)


def _largest(rows: Floats) -> Floats:
    return np.abs(rows).max(axis=1)


NORMS = {
    "l2": Norm("l2", _euclidean, _unit, _euclidean, _shrunk),
    "linf": Norm("linf", _largest, np.sign, lambda rows: np.abs(rows).sum(axis=1), _clipped),
}
