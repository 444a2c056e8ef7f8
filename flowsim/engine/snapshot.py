"""The state of the network at one instant, the same for every engine and every coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from ..problem.data.samples import Floats


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,)."""

    time: float
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
