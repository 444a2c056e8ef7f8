"""The state of the network at one instant or at many, the same for every engine and every coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..problem.data.samples import Booleans, Floats


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,);
    sliding (m, n'): pairs that slide along their boundary <w_j, x_i> = 0, None where the engine follows none.
    log10_time: beside time where the loss clock runs, since time may then overflow to inf; else None.

    Many instants at once have a leading axis in every array, and time (T,).
    """

    time: Any  # a float, or (T,)
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    sliding: Booleans | None = None
    log10_time: Any = None

    def __getitem__(self, index: Any) -> Snapshot:
        """Of many instants, those at an index of the leading axis."""
        arrays: Any = (None if array is None else array[index] for array in self._arrays())
        return Snapshot(*arrays)

    @classmethod
    def stack(cls, instants: Sequence[Snapshot]) -> Snapshot:
        """Single instants, at least one, along a leading axis."""
        columns = zip(*(instant._arrays() for instant in instants), strict=True)
        arrays: Any = (None if column[0] is None else np.array(column) for column in columns)
        return cls(*arrays)

    def _arrays(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))
