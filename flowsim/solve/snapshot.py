"""The state of the network at one instant or at many, the same for every engine and every coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..arrays import Booleans, Floats
from ..kinds.network import Network
from ..problem import Reduced
from ..problem.weights import Weights, polar_rows


@dataclass(frozen=True)
class Snapshot:
    """direction (m, r): unit rows in the reduced coordinates; log_norm (m,); v_j = output_sign e^output_log, both (m,);
    sliding (m, n'): pairs that slide along their boundary <w_j, x_i> = 0, None where the engine follows none. leaves: of
    an ordinary network, the trained arrays whose rows are no neurons; it has no v_j. log10_time: beside time where the
    loss clock runs, since time may then overflow to inf; else None.

    Many instants at once have a leading axis in every array, and time (T,).
    """

    time: Any  # a float, or (T,)
    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    sliding: Booleans | None = None
    log10_time: Any = None
    leaves: tuple[Floats, ...] = ()

    def __getitem__(self, index: Any) -> Snapshot:
        """Of many instants, those at an index of the leading axis."""
        rows: Any = [None if array is None else array[index] for array in self._rows()]
        return replace(Snapshot(*rows), leaves=tuple(leaf[index] for leaf in self.leaves))

    @classmethod
    def stack(cls, instants: Sequence[Snapshot]) -> Snapshot:
        """Single instants, at least one, along a leading axis."""
        return cls._made_of(instants, np.array)

    @classmethod
    def join(cls, parts: Sequence[Snapshot]) -> Snapshot:
        """Many instants after many others, at least one of them, along the leading axis."""
        return cls._made_of(parts, np.concatenate)

    @classmethod
    def _made_of(cls, parts: Sequence[Snapshot], make: Callable[[Any], Any]) -> Snapshot:
        """Of each field, what is made of those of all parts."""
        columns = zip(*(part._rows() for part in parts), strict=True)
        rows: Any = [None if column[0] is None else make(column) for column in columns]
        leaves = zip(*(part.leaves for part in parts), strict=True)
        return replace(cls(*rows), leaves=tuple(map(make, leaves)))

    @classmethod
    def first(cls, reduced: Reduced) -> Snapshot:
        """At time 0."""
        weights = reduced.problem.weights
        logs = weights.log_norm, weights.output_sign, weights.output_log
        return cls(0.0, reduced.direction, *logs, leaves=weights.leaves)

    @classmethod
    def of_arrays(cls, time: float, network: Network, arrays: Sequence[Floats]) -> Snapshot:
        """Of all trained arrays of an ordinary network, in the reduced coordinates."""
        rows, others = network.apart(arrays)
        direction, log_norm = np.zeros((0, math.prod(network.input_shape))), np.zeros(0)
        if rows is not None:
            direction, log_norm = polar_rows(rows)
        none = np.zeros(len(log_norm))
        return cls(time, direction, log_norm, none, none - np.inf, leaves=others)

    def arrays(self, network: Network) -> tuple[Floats, ...]:
        """The inverse of `of_arrays`, at many instants, too."""
        return network.together(np.exp(self.log_norm)[..., None] * self.direction, self.leaves)

    def _rows(self) -> tuple[Any, ...]:
        """All fields but `leaves`, which is the last."""
        return tuple(getattr(self, field.name) for field in fields(self)[:-1])


def going_on(reduced: Reduced, snapshot: Snapshot) -> Reduced:
    """The same initial value problem, but for where it starts: at a single instant of one of its flows."""
    weights = Weights.exactly(
        _features(reduced, snapshot.direction),
        snapshot.log_norm,
        snapshot.output_sign,
        snapshot.output_log,
        snapshot.leaves,
        bias=reduced.problem.bias,
    )
    return replace(reduced, problem=replace(reduced.problem, weights=weights), direction=snapshot.direction)


def _features(reduced: Reduced, direction: Floats) -> Floats:
    """Directions in the features, with the bias entry last where there is one."""
    hidden, bias = reduced.lift(direction)
    return np.concatenate([hidden, bias[:, None]], axis=1) if reduced.problem.bias else hidden
