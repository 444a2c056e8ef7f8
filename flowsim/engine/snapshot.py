"""The state of the network at one instant, the same for every engine and every coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.data.samples import Floats


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,)."""

    time: float
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats

    def distance(self, other: Snapshot) -> float:
        """The largest difference of any neuron in direction, log norm or output weight, relative to that neuron."""
        turned = np.linalg.norm(self.direction - other.direction, axis=1)
        grown = np.abs(self.log_norm - other.log_norm)
        top = np.maximum(self.output_log, other.output_log)
        scale = np.where(np.isfinite(top), top, 0.0)  # -inf where an output weight is 0 in both
        first, second = (each.output_sign * np.exp(each.output_log - scale) for each in (self, other))
        return float(np.max([turned, grown, np.abs(first - second)]))
