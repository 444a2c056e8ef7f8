"""Everything that was kept of a run, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Integers


@dataclass(frozen=True)
class Trajectory:
    """What was kept. time, and where the loss clock ran log10_time (T,); variables: name -> (T, …); numerics: name -> (T,);
    kept_weights (S,): indices into time; direction (S, m, d) and bias (S, m): the weights at those instants, divided by
    exp(log_norm); leaves: of an ordinary network, the arrays whose rows are no neurons, (S, …)."""

    time: Floats
    variables: dict[str, Floats]
    numerics: dict[str, Floats]
    kept_weights: Integers
    direction: Floats
    bias: Floats
    leaves: tuple[Floats, ...] = ()
    log10_time: Floats | None = None

    def __add__(self, later: Trajectory) -> Trajectory:
        """With what followed, whose first instant is the last one of this."""
        after = later.kept_weights > 0
        return Trajectory(
            time=np.concatenate([self.time, later.time[1:]]),
            variables={
                name: np.concatenate([kept, later.variables[name][1:]]) for name, kept in self.variables.items()
            },
            numerics={name: np.concatenate([kept, later.numerics[name][1:]]) for name, kept in self.numerics.items()},
            kept_weights=np.concatenate([self.kept_weights, later.kept_weights[after] + len(self.time) - 1]),
            direction=np.concatenate([self.direction, later.direction[after]]),
            bias=np.concatenate([self.bias, later.bias[after]]),
            leaves=tuple(
                np.concatenate([kept, more[after]]) for kept, more in zip(self.leaves, later.leaves, strict=True)
            ),
            log10_time=_joined(self.log10_time, later.log10_time),
        )

    def parted(self, instants: int) -> tuple[Trajectory, Trajectory]:
        """The inverse of adding, where the first part has so many instants."""
        first, rest = slice(None, instants), slice(instants - 1, None)
        weights = self.kept_weights
        return self._part(first, weights < instants, 0), self._part(rest, weights >= instants - 1, instants - 1)

    def _part(self, instants: slice, weights: Any, begin: int) -> Trajectory:
        return Trajectory(
            time=self.time[instants],
            variables={name: values[instants] for name, values in self.variables.items()},
            numerics={name: values[instants] for name, values in self.numerics.items()},
            kept_weights=self.kept_weights[weights] - begin,
            direction=self.direction[weights],
            bias=self.bias[weights],
            leaves=tuple(layer[weights] for layer in self.leaves),
            log10_time=None if self.log10_time is None else self.log10_time[instants],
        )


def _joined(first: Floats | None, later: Floats | None) -> Floats | None:
    return None if first is None or later is None else np.concatenate([first, later[1:]])
