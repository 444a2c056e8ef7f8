"""The tangent kernel on samples: how far it has moved, and how well it is aligned with the targets."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Integers
from ..kinds.streams import stream


def chosen(samples: int, wanted: int, seed: int) -> Integers:
    """Indices, in increasing order, of at most so many samples that a run's seed chooses."""
    if samples <= wanted:
        return np.arange(samples)
    return np.sort(stream(seed, "observe.tangent_kernel").choice(samples, wanted, replace=False))


def drift(kernel: Floats, start: Floats) -> float:
    """|K - K(0)| / |K(0)| in the Frobenius norm; NaN where K(0) is 0."""
    size = np.linalg.norm(start)
    return float(np.linalg.norm(kernel - start) / size) if size > 0 else np.nan


def alignment(kernel: Floats, wanted: Floats) -> float:
    """y^T K y / (|K| |y|^2) for wanted (k n,) = y: 1 where the kernel is a multiple of y y^T; NaN where one of them is 0
    (Cristianini, Shawe-Taylor, Elisseeff & Kandola 2001)."""
    size = np.linalg.norm(kernel) * (wanted @ wanted)
    return float(wanted @ kernel @ wanted / size) if size > 0 else np.nan


def wanted_outputs(targets: Floats, outputs: int, classes: bool) -> Floats:
    """(k n,): what outputs are compared with, ordered as the kernel is. targets: (n,), or (k, n) of several outputs; of
    classes, y is 1 for a sample's own class and 0 for the others, less their mean 1/k."""
    if not classes:
        return targets.ravel()
    return ((targets == np.arange(outputs)[:, None]) - 1.0 / outputs).ravel()
