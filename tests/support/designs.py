"""Samples over which means of polynomials are those of a Gaussian law: for statements about the population, without
sampling error."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

Floats = NDArray[np.float64]


def fifth_degree() -> Floats:
    """(6,): equally likely numbers with the moments of N(0, 1) up to degree 5."""
    return np.sqrt(3.0) * np.array([-1, 0, 0, 0, 0, 1])


def seventh_degree() -> Floats:
    """(22,): equally likely numbers with the moments of N(0, 1) up to degree 7."""
    often = np.array([5, 5, 1])

    def missing(size: Floats) -> Floats:
        return np.array([often @ size**k / 11 - moment for k, moment in ((2, 1), (4, 3), (6, 15))])

    size = root(missing, [0.8, 0.7, 2.3], tol=1e-15).x
    assert np.abs(missing(size)).max() < 1e-13
    half = np.repeat(size, often)
    return np.concatenate([-half, half])


def signs() -> Floats:
    """(2,): equally likely numbers with the moments of N(0, 1) up to degree 3."""
    return np.array([-1.0, 1.0])


def grid(*axes: Floats) -> Floats:
    """(samples, axes): independent coordinates, each equally likely any number of its axis."""
    return np.array(list(product(*axes)))
