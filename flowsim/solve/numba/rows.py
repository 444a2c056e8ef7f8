"""Between a network's weights and the rows of y that the compiled code moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats
from ...problem import Problem, Reduced
from ..snapshot import Snapshot
from .layout import Network


@dataclass(frozen=True)
class Rows:
    """y (m, r + 2) as :class:`flowsim.solve.numba.layout.State` describes it, for one network."""

    problem: Problem
    network: Network

    def first(self, reduced: Reduced) -> Floats:
        """Rows of y at time 0."""
        weights = self.problem.weights
        y = np.zeros((len(reduced.direction), reduced.direction.shape[1] + 2))
        if self.network.polar:
            y[:, :-2], y[:, -2] = reduced.direction, weights.log_norm
            if self.network.trained and not self.network.balanced:
                y[:, -1] = weights.output_sign * np.exp(weights.output_log - weights.log_norm)
        else:
            y[:, :-2] = np.exp(weights.log_norm)[:, None] * reduced.direction
            if self.network.trained:
                y[:, -1] = self.problem.output
        return y

    def set_time(self, y: Floats, time: float) -> None:
        """Of cartesian rows, which carry the time that a threshold depends on."""
        if not self.network.polar:
            y[:, -2] = time

    def snapshot(
        self, time: float | Floats, y: Floats, sliding: Booleans | None = None, log10_time: float | Floats | None = None
    ) -> Snapshot:
        """y: (…, m, r + 2)"""
        direction, log_norm, output = y[..., :-2], y[..., -2], y[..., -1]
        if not self.network.polar:
            largest = np.abs(direction).max(axis=-1)
            norm = largest * np.linalg.norm(direction / np.where(largest > 0, largest, 1.0)[..., None], axis=-1)
            norm = np.where(norm > 0, norm, 1.0)
            direction, log_norm = direction / norm[..., None], np.log(norm)
        sign, log_size = self._output(output, log_norm)
        return Snapshot(time, direction, log_norm, sign, log_size, sliding, log10_time)

    def _output(self, output: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
        """Sign and log of |v| from the last entries of y."""
        network, weights = self.network, self.problem.weights
        if not network.trained:
            return np.broadcast_to(weights.output_sign, output.shape), np.broadcast_to(weights.output_log, output.shape)
        if not network.polar:
            with np.errstate(divide="ignore"):
                return np.sign(output), np.log(np.abs(output))
        if network.balanced:
            return np.broadcast_to(weights.output_sign, output.shape), log_norm
        with np.errstate(divide="ignore"):
            return np.sign(output), np.log(np.abs(output)) + log_norm
