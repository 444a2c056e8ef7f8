"""The state of the network at one instant, the same for every engine and every coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from ..problem.data.samples import Booleans, Floats


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,).
    sliding (m, n'): pairs that slide along their boundary <w_j, x_i> = 0; None where the engine follows none."""

    time: float
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    sliding: Booleans | None = None
