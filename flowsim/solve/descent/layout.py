"""What descent works on, beside the arrays of the numba engine, whose field it takes its gradients from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ...scenario import Scenario
from ..numba.layout import Data, Network, State, Work

#: Samples whose pre-activations are in memory at a time: few enough for the processor's cache, enough for matrix products.
PIECE = 512


class Method(NamedTuple):
    """step: its size. batch: how many samples a step sees; 0 for all of them. epoch: iterations until all were seen.
    before: iterations that were made before time 0. square_decay, cubic_decay: of the regulariser, which is not summed over
    pieces of the data as the loss is."""

    step: float
    batch: int
    epoch: int
    before: int
    square_decay: float
    cubic_decay: float

    @classmethod
    def of(cls, scenario: Scenario, samples: int, before: int = 0) -> Method:
        step, batch = scenario.flow.step, scenario.flow.batch
        assert step is not None, "a scenario that descends has a step"
        epoch, regularizer = max(samples // batch, 1) if batch else 1, scenario.loss.regularizer
        return cls(step, batch or 0, epoch, before, regularizer.square, regularizer.cubic)


class Pieces(NamedTuple):
    """Room for samples that are taken a piece at a time: for a whole piece, and for what is left over at the end."""

    whole: Work
    rest: Work

    @classmethod
    def of(cls, network: Network, state: State, shape: tuple[int, int], number: DTypeLike) -> Pieces:
        """shape: (k, n), of the outputs of all samples; number: what matrix products are computed in."""
        outputs, samples = shape
        piece = min(PIECE, samples)
        whole, rest = ((outputs, count) for count in (piece, samples % piece))
        return cls(Work.empty(network, state, whole, number), Work.empty(network, state, rest, number))


def room_for(batch: int, data: Data) -> Data:
    """The data of a batch, to be filled."""
    inputs, (targets, weight, norm) = np.zeros((batch, data.inputs.shape[1]), data.inputs.dtype), np.zeros((3, batch))
    return data._replace(inputs=inputs, targets=targets, weight=weight, norm=norm)
