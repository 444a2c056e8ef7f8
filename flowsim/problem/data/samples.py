"""What every kind of data produces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Samples:
    """inputs (n, d), targets (n,), sample_cluster (n,) with -1 where unknown, centers (K, d) with K = 0 where unknown,
    cluster_label (K,) +1/-1 (0 where a cluster has no majority)."""

    inputs: Floats
    targets: Floats
    sample_cluster: Integers
    centers: Floats
    cluster_label: Integers
