"""What is kept of a variable that has too many samples: quantiles over those of each cluster."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from .instant import Setting

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def quantiles(values: Floats, setting: Setting) -> Floats:
    """Of (T, n): (T, K, quantile), or (T, quantile) where clusters are unknown"""
    count = len(setting.problem.centers)
    if not count:
        return quantiles_of_rows(values)
    cluster = setting.problem.sample_cluster
    return np.stack([quantiles_of_rows(values[:, cluster == k]) for k in range(count)], axis=1)


def quantiles_of_rows(values: Floats) -> Floats:
    """(T, quantile) of the rows (T, n), as np.quantile has them but without its overhead; NaN where there is nothing."""
    count = values.shape[1]
    if not count:
        return np.full((len(values), len(QUANTILES)), np.nan)
    values = np.sort(values, axis=1)
    place = np.array(QUANTILES) * (count - 1)
    below = np.floor(place).astype(int)
    low, high, share = values[:, below], values[:, np.minimum(below + 1, count - 1)], place - below
    return np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))
