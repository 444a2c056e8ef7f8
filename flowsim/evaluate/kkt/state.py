"""A state of the asymptotic flow, and the problem that it flows on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Floats
from ...problem import Reduced
from .sizes import Sizes, log_size


@dataclass(frozen=True)
class System:
    """inputs (n, r), the longest of length 1, label (n,). power: of |w_j|; degree: of the kink; slope: below it;
    trained: whether output weights are; homogeneity: L."""

    inputs: Floats
    label: Floats
    power: float
    degree: float
    slope: float
    trained: bool
    gram: Floats = field(repr=False)

    @classmethod
    def of(cls, reduced: Reduced) -> System:
        activation = reduced.problem.activation
        assert activation.degree is not None
        inputs = reduced.inputs / np.linalg.norm(reduced.inputs, axis=1).max()
        return cls(
            inputs,
            reduced.targets,
            activation.homogeneity,
            activation.degree,
            activation.inactive_slope,
            reduced.problem.trained_output,
            inputs @ inputs.T,
        )

    @property
    def homogeneity(self) -> float:
        return self.power + self.trained

    @property
    def kinked(self) -> bool:
        return self.degree == 1 and self.slope < 1

    def response(self, projection: Floats) -> tuple[Floats, Floats]:
        """k(s) and k'(s) of s = <u, x>"""
        if self.degree == 1:
            slope = np.where(projection > 0, 1.0, self.slope)
            return slope * projection, slope
        positive = np.maximum(projection, 0.0)
        return positive**self.degree, self.degree * positive ** (self.degree - 1)


@dataclass(frozen=True)
class State:
    """direction (m, r): unit rows; sizes: of any scale. moved (m,): how far each neuron turned in the last step, None
    before the first; advanced: how far log|theta| went in it; gate (m, n), weight (n,): the gates
    and the samples' weights that it ended with."""

    direction: Floats
    sizes: Sizes
    moved: Floats | None = None
    advanced: float = 0.0
    gate: Floats | None = None
    weight: Floats | None = None


@dataclass(frozen=True)
class View:
    """A state in numbers, at |theta| = 1. log_size: log|theta|; norm, output (m,): |w_j| and v_j; projection, response,
    slope (m, n); margin (n,)."""

    log_size: float
    norm: Floats
    output: Floats
    log_share: Floats
    projection: Floats
    response: Floats
    slope: Floats
    margin: Floats

    @classmethod
    def of(cls, system: System, state: State) -> View:
        sizes, whole = state.sizes, log_size(state.sizes, system.trained)
        norm = np.exp(sizes.log_norm - whole)
        output = sizes.output_sign * np.exp(sizes.output_log - (whole if system.trained else 0.0))
        both = np.logaddexp(2 * sizes.log_norm, 2 * sizes.output_log) if system.trained else 2 * sizes.log_norm
        projection = state.direction @ system.inputs.T
        response, slope = system.response(projection)
        margin = system.label * ((output * norm**system.power) @ response)
        return cls(whole, norm, output, both - 2 * whole, projection, response, slope, margin)
