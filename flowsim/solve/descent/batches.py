"""What single iterations of descent see that no earlier one saw: batches drawn anew, and noise of the neurons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kinds.streams import stream
from ...problem import Reduced, fresh
from ...scenario import Scenario
from ..numba.layout import Data


@dataclass(frozen=True)
class Supply:
    """data: what an iteration sees, filled anew for each; everything: all samples, where batches are chosen among them.

    Every iteration has streams of its own, counted from the first stage's beginning, so that any can be filled first, and
    so that two stages in a row see what one of the same length sees.
    """

    scenario: Scenario
    reduced: Reduced
    everything: Data
    data: Data

    @classmethod
    def of(cls, scenario: Scenario, reduced: Reduced, everything: Data) -> Supply | None:
        """None where every iteration sees the same samples, or batches of them without noise."""
        threshold, flow = scenario.model.common_threshold, scenario.flow
        sampled = threshold is not None and threshold.sampled
        if not (sampled or flow.fresh):
            return None
        count = flow.batch or len(everything.targets)
        entries, neurons = everything.inputs.shape[1], len(everything.output_sign)
        data = everything._replace(
            inputs=np.zeros((count, entries), everything.inputs.dtype),
            targets=np.zeros(count),
            weight=np.full(count, everything.weight.sum() / count),
            norm=np.zeros(count),
            noise=np.zeros((count if sampled else 0, neurons)),
        )
        return cls(scenario, reduced, everything, data)

    def fill(self, iteration: int, time: float) -> None:
        """For the gradient at the end of so many iterations."""
        seed, flow, data = self.scenario.single_seed, self.scenario.flow, self.data
        if flow.fresh:
            count = len(data.targets)
            samples = fresh(self.scenario, self.reduced.problem.samples, count, f"flow.fresh.{iteration}")
            data.inputs[:, : samples.inputs.shape[1]] = samples.inputs
            data.inputs[:, samples.inputs.shape[1] :] = 1.0  # what a bias sees
            data.targets[:] = samples.targets
        else:
            rows = self._rows(iteration)
            data.inputs[:], data.targets[:] = self.everything.inputs[rows], self.everything.targets[rows]
            data.weight[:] = self.everything.weight[rows] * (len(self.everything.targets) / len(rows))
        if data.noise.size:
            assert self.scenario.model.common_threshold is not None
            spread = float(self.scenario.model.common_threshold.spread(time))
            stream(seed, f"flow.noise.{iteration}").standard_normal(out=data.noise)
            np.multiply(data.noise, spread, out=data.noise)

    def _rows(self, iteration: int) -> np.ndarray:
        """Which samples a batch has that is chosen among all, as :class:`.integrator.DescentIntegrator` chooses."""
        total, count = len(self.everything.targets), len(self.data.targets)
        if self.scenario.flow.batch is None:
            return np.arange(total)
        epoch, place = divmod(iteration, total // count)
        order = stream(self.scenario.single_seed, f"flow.batches.{epoch}").permutation(total)
        return order[place * count : (place + 1) * count]
