"""The gradient of the training loss, and the largest eigenvalues of its Hessian, in all that is trained."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Floats
from ...kinds.streams import stream
from ..conditions import DIFFERENTIABLE, is_differentiable
from ..derivatives import Derivatives, Tree
from ..instant import Instant
from ..observable import observable
from ..parameters import leaves
from .leaves import norm

#: A Hessian with no more rows than this is formed; of larger ones only products with vectors are taken.
DENSE = 64
#: Lanczos stops where an eigenvalue's residual is this part of it.
TOLERANCE = 1e-9


@observable(
    "gradient_norm",
    (),
    "Euclidean norm of the training loss's gradient in all that is trained",
    is_differentiable,
    on_request=True,
    needs=DIFFERENTIABLE,
    any_network=True,
)
def gradient_norm(instant: Instant) -> Floats:
    derivatives = instant.setting.derivatives
    return instant.singly(lambda single: norm(derivatives.gradient(single.arrays), 1))


@observable(
    "sharpness",
    ("eigenvalue",),
    "largest eigenvalues of the training loss's Hessian in all that is trained, the largest first",
    is_differentiable,
    on_request=True,
    needs=DIFFERENTIABLE,
    any_network=True,
)
def sharpness(instant: Instant) -> Floats:
    setting = instant.setting
    size = sum(math.prod(shape) for shape in leaves(setting.problem).values())
    count = setting.observe.eigenvalues
    return instant.singly(lambda single: largest_eigenvalues(setting.derivatives, single.arrays, size, count))


def largest_eigenvalues(derivatives: Derivatives, params: Tree, size: int, count: int) -> Floats:
    """(count,): the algebraically largest eigenvalues, the largest first, of a Hessian of so many rows; NaN where there are
    fewer rows, or where Lanczos does not get to its tolerance."""
    found = np.full(count, np.nan)
    if size <= max(DENSE, count):
        values = np.linalg.eigvalsh(derivatives.hessian(params))[::-1][:count]
    else:
        values = _by_lanczos(derivatives, params, size, count)
    found[: len(values)] = values
    return found


def _by_lanczos(derivatives: Derivatives, params: Tree, size: int, count: int) -> Floats:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    # the same at every instant and in every run, so that runs can be compared
    start = stream(0, "observe.sharpness").standard_normal(size)
    start /= np.linalg.norm(start)
    # ARPACK's tolerance knows absolute numbers, too: it is handed a Hessian of order 1
    scale = float(np.linalg.norm(derivatives.hessian_product(params, start)))
    if scale == 0 or not np.isfinite(scale):
        return np.full(count, scale if scale == 0 else np.nan)
    operator = LinearOperator(
        (size, size), lambda vector: derivatives.hessian_product(params, vector.ravel()) / scale, dtype=float
    )
    try:
        values = eigsh(operator, count, which="LA", v0=start, tol=TOLERANCE, return_eigenvectors=False)
    except ArpackNoConvergence:
        return np.full(count, np.nan)
    return scale * np.sort(values)[::-1]
