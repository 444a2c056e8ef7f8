"""The tangent kernel on some of the training samples: how far it has moved, how well it is aligned with the targets.

The samples, at most `observe.kernel_samples`, are chosen by chance, and the same ones for every run of the same data.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ..conditions import DIFFERENTIABLE, is_differentiable
from ..instant import Instant
from ..observable import observable


@observable(
    "tangent_kernel",
    ("kernel_row", "kernel_column"),
    "products of the outputs' gradients in all that is trained; of several outputs, all samples of the first come first",
    is_differentiable,
    on_request=True,
    needs=DIFFERENTIABLE,
    any_network=True,
)
def tangent_kernel(instant: Instant) -> Floats:
    return instant.tangent_kernel


@observable(
    "kernel_drift",
    (),
    "|K - K(0)| / |K(0)| of the tangent kernel, in the Frobenius norm",
    is_differentiable,
    on_request=True,
    needs=DIFFERENTIABLE,
    any_network=True,
)
def kernel_drift(instant: Instant) -> Floats:
    return drift(instant.tangent_kernel, instant.setting.first_kernel)


@observable(
    "kernel_alignment",
    (),
    "y^T K y / (|K| |y|^2) of the tangent kernel with the targets",
    is_differentiable,
    on_request=True,
    needs=DIFFERENTIABLE,
    any_network=True,
)
def kernel_alignment(instant: Instant) -> Floats:
    problem = instant.problem
    targets = problem.targets[instant.setting.kernel_samples]
    return alignment(instant.tangent_kernel, wanted_outputs(targets.T, problem.outputs, problem.loss.classes))


def drift(kernel: Floats, start: Floats) -> Floats:
    """(…): |K - K(0)| / |K(0)| in the Frobenius norm; NaN where K(0) is 0."""
    size = np.linalg.norm(start)
    return np.linalg.norm(kernel - start, axis=(-2, -1)) / (size if size > 0 else np.nan)


def alignment(kernel: Floats, wanted: Floats) -> Floats:
    """(…): y^T K y / (|K| |y|^2) for wanted (k n,) = y: 1 where the kernel is a multiple of y y^T; NaN where one of them
    is 0 (Cristianini, Shawe-Taylor, Elisseeff & Kandola 2001)."""
    size = np.linalg.norm(kernel, axis=(-2, -1)) * (wanted @ wanted)
    return np.einsum("...ij,i,j->...", kernel, wanted, wanted) / np.where(size > 0, size, np.nan)


def wanted_outputs(targets: Floats, outputs: int, classes: bool) -> Floats:
    """(k n,): what outputs are compared with, ordered as the kernel is. targets: (n,), or (k, n) of several outputs; of
    classes, y is 1 for a sample's own class and 0 for the others, less their mean 1/k."""
    if not classes:
        return targets.ravel()
    return ((targets == np.arange(outputs)[:, None]) - 1.0 / outputs).ravel()
