"""The state of the network at one instant or at many, the same for every engine and every coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..problem.data.samples import Floats


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,).

    Many instants at once have a leading axis in every array, and time (T,).
    """

    time: Any  # a float, or (T,)
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats

    def __getitem__(self, index: Any) -> Snapshot:
        """Of many instants, those at an index of the leading axis."""
        return Snapshot(*(getattr(self, field.name)[index] for field in fields(self)))

    @classmethod
    def stack(cls, instants: Sequence[Snapshot]) -> Snapshot:
        """Single instants, at least one, along a leading axis."""
        return cls(*(np.array([getattr(instant, field.name) for instant in instants]) for field in fields(cls)))
