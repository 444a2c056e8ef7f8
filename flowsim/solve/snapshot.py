"""The state of the network at one instant or at many, the same for every engine and every coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..arrays import Booleans, Floats
from ..problem import Reduced
from ..problem.weights import Weights


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,);
    sliding (m, n'): pairs that slide along their boundary <w_j, x_i> = 0, None where the engine follows none. upper: the
    matrices of the layers above the first, of a network of any depth. log10_time: beside time where the loss clock runs,
    since time may then overflow to inf; else None.

    Many instants at once have a leading axis in every array, and time (T,).
    """

    time: Any  # a float, or (T,)
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    sliding: Booleans | None = None
    log10_time: Any = None
    upper: tuple[Floats, ...] = ()

    def __getitem__(self, index: Any) -> Snapshot:
        """Of many instants, those at an index of the leading axis."""
        rows: Any = [None if array is None else array[index] for array in self._rows()]
        return replace(Snapshot(*rows), upper=tuple(matrix[index] for matrix in self.upper))

    @classmethod
    def stack(cls, instants: Sequence[Snapshot]) -> Snapshot:
        """Single instants, at least one, along a leading axis."""
        columns = zip(*(instant._rows() for instant in instants), strict=True)
        rows: Any = [None if column[0] is None else np.array(column) for column in columns]
        layers = zip(*(instant.upper for instant in instants), strict=True)
        return replace(cls(*rows), upper=tuple(np.array(layer) for layer in layers))

    def _rows(self) -> tuple[Any, ...]:
        """All fields but `upper`, which is the last."""
        return tuple(getattr(self, field.name) for field in fields(self)[:-1])


def going_on(reduced: Reduced, snapshot: Snapshot) -> Reduced:
    """The same initial value problem, but for where it starts: at a single instant of one of its flows."""
    weights = Weights.exactly(
        _features(reduced, snapshot.direction),
        snapshot.log_norm,
        snapshot.output_sign,
        snapshot.output_log,
        snapshot.upper,
        bias=reduced.problem.bias,
    )
    return replace(reduced, problem=replace(reduced.problem, weights=weights), direction=snapshot.direction)


def _features(reduced: Reduced, direction: Floats) -> Floats:
    """Directions in the features, with the bias entry last where there is one."""
    hidden, bias = reduced.lift(direction)
    return np.concatenate([hidden, bias[:, None]], axis=1) if reduced.problem.bias else hidden
